import type { AuditEntry } from '../../domain/audit.ts'
import {
  catalogChanged,
  catalogPage,
  catalogReads,
  entryMaker,
  PAGE_OF_CATALOG_ITEMS,
  STATE_QUERY,
  stateOfRows,
} from '../catalog.ts'
import type { CatalogMethods } from '../port.ts'
import { UPDATE_PROJECT, UPDATE_STORE } from '../statements.ts'
import { ITEM_ROWS, PROJECT_CHANGES, STORE_CHANGES, STORES } from '../tables.ts'
import { recordWrite } from './audit.ts'
import { lockAuthority, lockOf, verifyAuthority } from './authority.ts'
import type { Database } from './connection.ts'
import { assertQuota } from './quota.ts'
import { insertionOfMany } from './statements.ts'

export function catalogMethods(db: Database): CatalogMethods {
  return {
    ...catalogReads(db),
    async listCatalogItems({ account_id, store_id }, page) {
      const values = [account_id, store_id, page.after ?? '0', page.limit + 1]
      return catalogPage(await db.all(PAGE_OF_CATALOG_ITEMS, ...values), page)
    },
    applyCatalog({ project_id, state, change_id, project, ...changes }, write = {}) {
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
        const entries = entryMaker(write)
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
        await writeAll(changes.newItems, async (items) => {
          await note(items.flatMap(entries.newItem))
          return tx.run(INSERT_ITEMS, items)
        })
        await writeAll(changes.items, async (items) => {
          await note(items.flatMap(entries.item))
          const sent = items.map(({ audit: _, ...each }) => ({
            ...each,
            is_kept: each.archived_at === undefined,
          }))
          return tx.run(UPDATE_ITEMS, change_id, sent)
        })
        await assertQuota(tx, write.quota)
        await recordWrite(tx, write)
      })
    },
  }
}

// A concurrent `insertStore` or `updateStore` waits, so the state holds until the commit. A
// concurrent change of an item does not wait: the statements compare versions and names.
const LOCK_STORES = 'SELECT 1 FROM stores WHERE project_id = ? ORDER BY seq FOR NO KEY UPDATE'

const INSERT_ITEMS = insertionOfMany(ITEM_ROWS)

const UPDATE_ITEMS = `
  UPDATE items i SET display_name = coalesce(c.display_name, i.display_name),
    description = coalesce(c.description, i.description), price = coalesce(c.price, i.price),
    metadata = coalesce(c.metadata, i.metadata),
    archived_at = CASE WHEN c.is_kept THEN i.archived_at ELSE c.archived_at END,
    version = i.version + 1, changed = ?
  FROM json_to_recordset(?) AS c (id text, version bigint, display_name text, description text,
    price bigint, metadata json, is_kept boolean, archived_at text)
  WHERE i.id = c.id AND i.version = c.version`

const BATCH = 1_000

/** Throws `catalog_changed` if a statement wrote only some of the records, as others had changed. */
async function writeAll<T extends object>(
  records: Iterable<T>,
  run: (batch: T[]) => Promise<number>,
): Promise<void> {
  let batch: T[] = []
  const flush = async () => {
    if (batch.length > 0 && (await run(batch)) < batch.length) throw catalogChanged()
    batch = []
  }
  for (const record of records) {
    batch.push(record)
    if (batch.length === BATCH) await flush()
  }
  await flush()
}
