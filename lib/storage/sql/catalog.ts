import { createHash } from 'node:crypto'
import type { AuditEntry } from '../../domain/audit.ts'
import type { Item } from '../../domain/item.ts'
import type { Project } from '../../domain/project.ts'
import type { Store } from '../../domain/store.ts'
import { TillError } from '../../errors.ts'
import {
  bool,
  type Column,
  maybe,
  numberOf,
  omit,
  pick,
  type Row,
  table,
  text,
} from '../columns.ts'
import { recordPage } from '../pages.ts'
import type {
  CatalogChanges,
  CatalogItemChange,
  Page,
  RecordPage,
  StoreKey,
  WriteOptions,
} from '../records.ts'
import {
  AUDIT,
  ITEM_FIELDS,
  ITEM_ROWS,
  ITEMS,
  itemRecord,
  PROJECT_CHANGES,
  PROJECTS,
  STORE_CHANGES,
  STORES,
} from '../tables.ts'
import { lockAuthority, lockOf, lockRows, verifyAuthority } from './authority.ts'
import { batchesOf } from './batches.ts'
import type { Sql } from './dialect.ts'
import { all, find, insert, type Program, run, some } from './program.ts'
import { FIND_PROJECT, UPDATE_PROJECT } from './projects.ts'
import { assertQuota } from './quota.ts'
import { UPDATE_STORE } from './stores.ts'
import { recordWrite } from './write.ts'

export function catalogMethods(sql: Sql) {
  const { read, write } = sql
  const insertItems = ITEM_ROWS.insertionFrom(sql.rowsInOrder(ITEM_ROWS), (field) => `r.${field}`)
  const insertEntries = AUDIT.insertionFrom(sql.rowsInOrder(VARYING), (field) =>
    VARYING.names.includes(field) ? `r.${field}` : 'CAST(? AS text)',
  )
  const updateItems = `
    UPDATE items AS i SET ${ITEM_FIELDS.assignments((name) => `coalesce(c.${name}, i.${name})`)},
      archived_at = CASE WHEN c.is_kept THEN i.archived_at ELSE c.archived_at END,
      version = i.version + 1, changed = ?
    FROM ${sql.rowsOfText(CHANGES)} c WHERE i.id = c.id AND i.version = c.version`

  return {
    /**
     * A digest of a project with its stores and all items, even archived ones. Every change of one of
     * these records changes the digest. Resolves to undefined when there is no such project.
     */
    findCatalogState: (project_id: string) => read(findCatalogState(project_id)),
    /**
     * Lists the items of a store in order of creation, including archived ones. A page of large texts
     * ends early.
     */
    listCatalogItems: ({ account_id, store_id }: StoreKey, page: Page) => {
      const take = (rows: Iterable<Row>) => catalogPage(rows, page)
      const values = [account_id, store_id, page.after ?? '0', page.limit + 1]
      return read(some(take, PAGE_OF_ITEMS, ...values))
    },
    /**
     * Writes all changes in one transaction. Writes an audit entry for each changed record, and the
     * audit entry that `write` contains. Throws `catalog_changed`, and writes nothing, if the digest
     * of the catalog is no longer `state`, or if a new name is taken.
     */
    async applyCatalog(
      { project_id, state, change_id, project, ...changes }: CatalogChanges,
      options: WriteOptions = {},
    ) {
      // Formats the JSON before the transaction, to hold the lock for less time.
      const entries = entryMaker(options)
      const rowOfEntry = (entry: AuditEntry) => sql.rowOf(VARYING, entry)
      const shared = options.audit && SHARED.values(options.audit)
      const newItems = batchesOf(changes.newItems, {
        rowOf: (item) => sql.rowOf(ITEM_ROWS, item),
        entriesOf: (item) => entries.newItem(item).map(rowOfEntry),
      })
      const itemChanges = batchesOf(changes.items, {
        rowOf: (change) =>
          sql.rowOf(CHANGES, { ...change, is_kept: change.archived_at === undefined }),
        entriesOf: (change) => entries.item(change).map(rowOfEntry),
      })
      const note = (all: readonly AuditEntry[]) =>
        recordWrite(sql, ...all.map((audit) => ({ audit })))

      function* apply(): Program<void> {
        const locks = [
          ...(project ? [lockOf.project(project_id)] : []),
          ...changes.stores.map(lockOf.store),
        ]
        yield* lockAuthority(sql, options.authority, ...locks)
        const current = yield* find(FIND_PROJECT + sql.forUpdate, project_id)
        yield* lockRows(sql, STORES_OF_PROJECT, project_id)
        yield* verifyAuthority(sql, options.authority)
        const stores = yield* all(STATE_OF_STORES, project_id, project_id)
        if (!current || stateOf(current, stores) !== state) throw catalogChanged()
        if (project) {
          yield* run(UPDATE_PROJECT, ...PROJECT_CHANGES.values(project), project_id)
          yield* note(entries.project(project))
        }
        for (const store of changes.newStores) {
          if ((yield* insert(STORES, store)) === 0) throw catalogChanged()
          yield* note(entries.store('store.create', store))
        }
        for (const store of changes.stores) {
          const { account_id, store_id } = store
          yield* run(UPDATE_STORE, ...STORE_CHANGES.values(store), account_id, store_id)
          yield* note(entries.store('store.update', store))
        }
        for (const { count, rows, entries } of newItems) {
          if ((yield* run(insertItems, rows)) < count) throw catalogChanged()
          if (shared) yield* run(insertEntries, ...shared, entries)
        }
        for (const { count, rows, entries } of itemChanges) {
          if ((yield* run(updateItems, change_id, rows)) < count) throw catalogChanged()
          if (shared) yield* run(insertEntries, ...shared, entries)
        }
        yield* assertQuota(options.quota)
        yield* recordWrite(sql, options)
      }

      return write(apply, { isAlone: true })
    },
  }
}

const PAGE_OF_ITEMS = `
  SELECT i.seq AS seq, ${ITEMS.names.map((each) => `i.${each}`).join(', ')},
    s.account_id, s.project_id, s.store_id
  FROM stores s JOIN items i ON i.store = s.seq
  WHERE s.account_id = ? AND s.store_id = ? AND i.seq > CAST(? AS bigint) ORDER BY i.seq LIMIT ?`

// The query summarizes the items of a store by four values. Each change of an item alters one of
// them: items are never deleted, and each update increases `version`.
const STATE_OF_STORES = `
  SELECT ${STORES.names.map((each) => `s.${each}`).join(', ')}, i.items, i.newest, i.versions, i.latest
  FROM stores s LEFT JOIN (
    SELECT store, count(*) AS items, max(id) AS newest, sum(version) AS versions,
      max(changed) AS latest
    FROM items WHERE store IN (SELECT seq FROM stores WHERE project_id = ?) GROUP BY store
  ) i ON i.store = s.seq
  WHERE s.project_id = ? ORDER BY s.seq`

// A concurrent `updateStore` waits for this lock until the commit. A concurrent change of an item
// does not wait. The statements for items detect it, because they compare versions and names.
const STORES_OF_PROJECT = 'SELECT 1 FROM stores WHERE project_id = ? ORDER BY seq'

/** Four values of a store, of which at least one differs after each change of its items. */
interface ItemsState {
  readonly items: number
  readonly newest: string | null
  readonly versions: number
  readonly latest: string | null
}

/** A digest of a project with its stores and items, from their rows. */
function stateOf(project: Row, stores: readonly Row[]): string {
  const states = stores.map((row) => {
    const { newest = null, latest = null } = row as unknown as ItemsState
    const counts = { items: numberOf(row.items ?? 0), versions: numberOf(row.versions ?? 0) }
    return [STORES.read(row), { ...counts, newest, latest }] as const
  })
  return createHash('sha256')
    .update(JSON.stringify([PROJECTS.read(project), states]))
    .digest('hex')
}

function* findCatalogState(project_id: string): Program<string | undefined> {
  const project = yield* find(FIND_PROJECT, project_id)
  const stores = project ? yield* all(STATE_OF_STORES, project_id, project_id) : []
  return maybe((row) => stateOf(row, stores), project)
}

/** A catalog page ends at this many characters. Reading it blocks other requests for 1 to 6 ms. */
const CATALOG_PAGE_TEXT = 64 * 1024

function catalogPage(rows: Iterable<Row>, page: Page): RecordPage<Item> {
  return recordPage(
    rows,
    page,
    (row) => itemRecord(row),
    ({ seq }) => seq,
    textOf,
    CATALOG_PAGE_TEXT,
  )
}

function textOf({ description, metadata }: Row): number {
  const size = typeof metadata === 'string' ? metadata.length : JSON.stringify(metadata).length
  return (description as string).length + size
}

/** The error for applying a plan to a catalog that has changed since the plan was made. */
function catalogChanged(): TillError {
  return new TillError('catalog_changed', 'The catalog changed meanwhile: make a new plan')
}

const CHANGES = table<Omit<CatalogItemChange, 'audit'> & { readonly is_kept: boolean }>('items', {
  ...pick(ITEM_ROWS, 'id', 'version').columns,
  ...{ archived_at: text() as Column<string | null>, is_kept: bool },
  ...ITEM_FIELDS.columns,
})

/** The columns in which the audit entries of one `applyCatalog` call differ from each other. */
const VARYING = pick(AUDIT, 'action', 'subject', 'store_id', 'data')

/** The columns that all of them share. */
const SHARED = omit(AUDIT, 'action', 'subject', 'store_id', 'data')

/**
 * Makes the audit entries of the records that a catalog changes, from the entry of the whole
 * catalog.
 */
function entryMaker({ audit }: WriteOptions) {
  const entries = (change: Partial<AuditEntry>): AuditEntry[] => {
    if (!audit) return []
    const { data: _, ...entry } = audit
    return [{ ...entry, ...change }]
  }
  return {
    project: ({ id: subject }: Project) => entries({ action: 'project.update', subject }),
    store: (action: 'store.create' | 'store.update', { store_id }: Store) =>
      entries({ action, subject: store_id, store_id }),
    newItem: ({ id: subject, store_id }: Item) =>
      entries({ action: 'item.create', subject, store_id }),
    item: ({ audit: change }: CatalogItemChange) => (change ? entries(change) : []),
  }
}
