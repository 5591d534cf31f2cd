import { createHash } from 'node:crypto'
import { deflateRawSync, inflateRawSync } from 'node:zlib'
import type { AuditEntry } from '../domain/audit.ts'
import type { Item } from '../domain/item.ts'
import type { Project } from '../domain/project.ts'
import type { Store } from '../domain/store.ts'
import { TillError } from '../errors.ts'
import { maybe, numberOf, omit, pick, type Row } from './columns.ts'
import { recordPage } from './pages.ts'
import type { CatalogItemChange, CatalogMethods, Page, RecordPage, WriteOptions } from './port.ts'
import type { Reader } from './reads.ts'
import { FIND_PROJECT } from './sql/projects.ts'
import { AUDIT, ITEMS, itemRecord, PROJECTS, STORES } from './tables.ts'

// Helpers for the catalog methods of both SQL adapters.

export const PAGE_OF_CATALOG_ITEMS = `
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

export const STATE_QUERY = { project: FIND_PROJECT, stores: STATE_OF_STORES } as const

/** Four values of a store, of which at least one differs after each change of its items. */
interface ItemsState {
  readonly items: number
  readonly newest: string | null
  readonly versions: number
  readonly latest: string | null
}

/** A digest of a project with its stores and items. */
function stateOf(project: Project, stores: readonly (readonly [Store, ItemsState])[]): string {
  return createHash('sha256')
    .update(JSON.stringify([project, stores]))
    .digest('hex')
}

/** Returns the same digest as `stateOf`, from the rows of `STATE_QUERY`. */
export function stateOfRows(project: Row, stores: readonly Row[]): string {
  const states = stores.map((row) => {
    const { newest = null, latest = null } = row as unknown as ItemsState
    const counts = { items: numberOf(row.items ?? 0), versions: numberOf(row.versions ?? 0) }
    return [STORES.read(row), { ...counts, newest, latest }] as const
  })
  return stateOf(PROJECTS.read(project), states)
}

export function catalogReads(db: Reader): Pick<CatalogMethods, 'findCatalogState'> {
  return {
    async findCatalogState(project_id) {
      const project = await db.find(STATE_QUERY.project, project_id)
      const stores = project ? await db.all(STATE_QUERY.stores, project_id, project_id) : []
      return maybe((row) => stateOfRows(row, stores), project)
    },
  }
}

/** A catalog page ends at this many characters. Reading it blocks other requests for 1 to 6 ms. */
const CATALOG_PAGE_TEXT = 64 * 1024

/** Makes a page of items from rows of `PAGE_OF_CATALOG_ITEMS`. */
export function catalogPage(rows: Iterable<Row>, page: Page): RecordPage<Item> {
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

/**
 * A batch of records and their audit entries, as JSON arrays. Keeps the JSON compressed: for
 * 100,000 items, it takes 3 MiB instead of 30 (bench/catalog.mjs).
 */
export class Batch<T> {
  readonly first: T
  readonly count: number
  readonly #rows: Buffer
  readonly #entries: Buffer

  constructor(first: T, count: number, rows: readonly unknown[], entries: readonly unknown[]) {
    this.first = first
    this.count = count
    this.#rows = compress(rows)
    this.#entries = compress(entries)
  }

  get rows(): string {
    return inflateRawSync(this.#rows).toString()
  }

  get entries(): string {
    return inflateRawSync(this.#entries).toString()
  }
}

const compress = (values: readonly unknown[]) =>
  deflateRawSync(JSON.stringify(values), { level: 1 })

// The number of records in a batch. Batches of 1,000 would need more memory: 162 instead of 138 MiB
// to apply a catalog with 100,000 new items (bench/catalog.mjs).
const BATCH = 200

/** How to write a record. All records of a batch have the same owner, such as their store. */
export interface BatchOptions<T> {
  readonly rowOf: (record: T) => unknown
  readonly entriesOf: (record: T) => readonly unknown[]
  readonly ownerOf?: (record: T) => unknown
}

/**
 * Cuts the records of a catalog into batches. Call this before the transaction that writes them,
 * because the cutting takes long.
 */
export function batchesOf<T>(
  records: Iterable<T>,
  { rowOf, entriesOf, ownerOf = () => undefined }: BatchOptions<T>,
): Batch<T>[] {
  const batches: Batch<T>[] = []
  let taken: T[] = []
  const flush = () => {
    const [first] = taken
    if (first === undefined) return
    batches.push(new Batch(first, taken.length, taken.map(rowOf), taken.flatMap(entriesOf)))
    taken = []
  }
  for (const record of records) {
    const [first] = taken
    const isFull = taken.length === BATCH
    if (first !== undefined && (isFull || ownerOf(first) !== ownerOf(record))) flush()
    taken.push(record)
  }
  flush()
  return batches
}

/** The error for applying a plan to a catalog that has changed since the plan was made. */
export function catalogChanged(): TillError {
  return new TillError('catalog_changed', 'The catalog changed meanwhile: make a new plan')
}

/** The columns in which the audit entries of one `applyCatalog` call differ from each other. */
export const VARYING = pick(AUDIT, 'action', 'subject', 'store_id', 'data')

/** The columns that all of them share. */
export const SHARED = omit(AUDIT, 'action', 'subject', 'store_id', 'data')

/**
 * Makes the audit entries of the records that a catalog changes, from the entry of the whole
 * catalog.
 */
export function entryMaker({ audit }: WriteOptions) {
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
