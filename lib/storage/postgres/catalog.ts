import type { AuditEntry } from '../../domain/audit.ts'
import {
  batchesOf,
  catalogChanged,
  catalogPage,
  catalogReads,
  entryMaker,
  PAGE_OF_CATALOG_ITEMS,
  SHARED,
  STATE_QUERY,
  stateOfRows,
  VARYING,
} from '../catalog.ts'
import type { CatalogMethods } from '../port.ts'
import { UPDATE_PROJECT } from '../sql/projects.ts'
import { assertQuota } from '../sql/quota.ts'
import { UPDATE_STORE } from '../sql/stores.ts'
import { AUDIT, ITEM_FIELDS, ITEM_ROWS, PROJECT_CHANGES, STORE_CHANGES, STORES } from '../tables.ts'
import { recordWrite } from './audit.ts'
import { lockAuthority, lockOf, verifyAuthority } from './authority.ts'
import type { Database } from './connection.ts'
import { execute } from './sql.ts'
import { insertionOfMany, JSON_TEXT } from './statements.ts'

export function catalogMethods(db: Database): CatalogMethods {
  return {
    ...catalogReads(db),
    async listCatalogItems({ account_id, store_id }, page) {
      const values = [account_id, store_id, page.after ?? '0', page.limit + 1]
      return catalogPage(await db.all(PAGE_OF_CATALOG_ITEMS, ...values), page)
    },
    async applyCatalog({ project_id, state, change_id, project, ...changes }, write = {}) {
      const entries = entryMaker(write)
      const shared = write.audit && SHARED.values(write.audit)
      const newItems = batchesOf(changes.newItems, {
        rowOf: (item) => item,
        entriesOf: (item) => entries.newItem(item).map(rowOfEntry),
      })
      const itemChanges = batchesOf(changes.items, {
        rowOf: ({ audit: _, ...change }) => ({
          ...change,
          is_kept: change.archived_at === undefined,
        }),
        entriesOf: (change) => entries.item(change).map(rowOfEntry),
      })
      return db.transaction(async (tx) => {
        const locks = [
          ...(project ? [lockOf.project(project_id)] : []),
          ...changes.stores.map(lockOf.store),
        ]
        await lockAuthority(tx, write.authority, ...locks)
        const current = await tx.find(`${STATE_QUERY.project} FOR NO KEY UPDATE`, project_id)
        await tx.all(LOCK_STORES, project_id)
        await verifyAuthority(tx, write.authority)
        const stores = await tx.all(STATE_QUERY.stores, project_id, project_id)
        if (!current || stateOfRows(current, stores) !== state) throw catalogChanged()
        const note = (all: readonly AuditEntry[]) =>
          recordWrite(tx, ...all.map((audit) => ({ audit })))
        if (project) {
          await note(entries.project(project))
          await tx.run(UPDATE_PROJECT, ...PROJECT_CHANGES.values(project), project_id)
        }
        for (const store of changes.newStores) {
          if ((await tx.insert(STORES, store)) === 0) throw catalogChanged()
          await note(entries.store('store.create', store))
        }
        for (const store of changes.stores) {
          const { account_id, store_id } = store
          await tx.run(UPDATE_STORE, ...STORE_CHANGES.values(store), account_id, store_id)
          await note(entries.store('store.update', store))
        }
        for (const { count, rows, entries } of newItems) {
          if ((await tx.run(INSERT_ITEMS, rows)) < count) throw catalogChanged()
          if (shared) await tx.run(INSERT_ENTRIES, ...shared, entries)
        }
        for (const { count, rows, entries } of itemChanges) {
          if ((await tx.run(UPDATE_ITEMS, change_id, rows)) < count) throw catalogChanged()
          if (shared) await tx.run(INSERT_ENTRIES, ...shared, entries)
        }
        await execute(tx, assertQuota(write.quota))
        await recordWrite(tx, write)
      })
    },
  }
}

// A concurrent `updateStore` waits for this lock until the commit. A concurrent change of an item
// does not wait. The statements for items detect it, because they compare versions and names.
const LOCK_STORES = 'SELECT 1 FROM stores WHERE project_id = ? ORDER BY seq FOR NO KEY UPDATE'

const INSERT_ITEMS = insertionOfMany(ITEM_ROWS, { array: JSON_TEXT })
const INSERT_ENTRIES = AUDIT.insertionFrom(
  `ROWS FROM (json_to_recordset(${JSON_TEXT})
    AS (${VARYING.typedFields})) WITH ORDINALITY AS r
    ORDER BY ordinality`,
  (field) => (VARYING.names.includes(field) ? `r.${field}` : 'CAST(? AS text)'),
)

function rowOfEntry(entry: AuditEntry): object {
  return Object.fromEntries(VARYING.names.map((name) => [name, entry[name as keyof AuditEntry]]))
}

const UPDATE_ITEMS = `
  UPDATE items i SET ${ITEM_FIELDS.assignments((name) => `coalesce(c.${name}, i.${name})`)},
    archived_at = CASE WHEN c.is_kept THEN i.archived_at ELSE c.archived_at END,
    version = i.version + 1, changed = ?
  FROM json_to_recordset(${JSON_TEXT}) AS c (id text, version bigint, is_kept boolean,
    archived_at text, ${ITEM_FIELDS.typedFields})
  WHERE i.id = c.id AND i.version = c.version`
