import type { StoredPurchase } from '../domain/purchase.ts'
import { maybe, numberOf, type Row, type Table } from './columns.ts'
import { recordPage } from './pages.ts'
import type {
  CopyMethods,
  ItemMethods,
  Page,
  ProjectMethods,
  PurchaseMethods,
  StoredPurchasePage,
  StoreMethods,
  TokenMethods,
} from './port.ts'
import { pseudonymOf } from './pseudonym.ts'
import { IS_RECORDING } from './recorded.ts'
import {
  FIND_ITEM,
  FIND_PROJECT,
  FIND_STORE,
  FIND_WATERMARK,
  ITEMS_WITH_STORES,
  pageOf,
} from './statements.ts'
import {
  ERASED_PURCHASES,
  FORMER_PUBLIC_KEYS,
  IMPORT_DETAILS,
  IMPORT_OVERLAPS,
  importRecord,
  itemRecord,
  PROJECTS,
  PURCHASES,
  STATUS_CHANGES,
  STORE_SUMMARIES,
  STORES,
  storedImport,
  WATERMARKS,
} from './tables.ts'

// The reads that both SQL adapters do with the same statement.

type Value = string | number

/** The methods of a connection that read. SQLite returns rows directly, PostgreSQL in a promise. */
export interface Reader {
  find(sql: string, ...values: Value[]): Row | undefined | Promise<Row | undefined>
  all(sql: string, ...values: Value[]): Row[] | Promise<Row[]>
}

async function listBySeq<R>(
  db: Reader,
  { read }: Table<R>,
  sql: string,
  page: Page,
  ...owner: readonly string[]
) {
  const rows = await db.all(sql, ...owner, page.after ?? '0', page.limit + 1)
  return recordPage(rows, page, read, ({ seq }) => seq)
}

const FIND_PROJECT_BY_PUBLIC_KEY = `SELECT ${PROJECTS.list} FROM projects WHERE public_key = ?`
const FIND_FORMER_PUBLIC_KEY = `
  SELECT ${FORMER_PUBLIC_KEYS.list} FROM former_public_keys WHERE public_key = ?`

type ProjectReads =
  | 'findProject'
  | 'findProjectByPublicKey'
  | 'findFormerPublicKey'
  | 'listFormerPublicKeys'

export function projectReads(
  db: Reader,
  seqOfKeys: 'seq' | 'rowid',
): Pick<ProjectMethods, ProjectReads> {
  const pageOfKeys = pageOf(FORMER_PUBLIC_KEYS, 'project_id', seqOfKeys)
  return {
    async findProject(id) {
      return maybe(PROJECTS.read, await db.find(FIND_PROJECT, id))
    },
    async findProjectByPublicKey(public_key) {
      return maybe(PROJECTS.read, await db.find(FIND_PROJECT_BY_PUBLIC_KEY, public_key))
    },
    async findFormerPublicKey(public_key) {
      return maybe(FORMER_PUBLIC_KEYS.read, await db.find(FIND_FORMER_PUBLIC_KEY, public_key))
    },
    listFormerPublicKeys: (project_id, page) =>
      listBySeq(db, FORMER_PUBLIC_KEYS, pageOfKeys, page, project_id),
  }
}

const FIND_STORE_OF_PROJECT = `${FIND_STORE} AND project_id = ?`
const PAGE_OF_SUMMARIES = pageOf(STORE_SUMMARIES, 'project_id')

export function storeReads(db: Reader): Pick<StoreMethods, 'findStore' | 'listStoreSummaries'> {
  return {
    async findStore(account_id, store_id, project_id) {
      const row =
        project_id === undefined
          ? await db.find(FIND_STORE, account_id, store_id)
          : await db.find(FIND_STORE_OF_PROJECT, account_id, store_id, project_id)
      return maybe(STORES.read, row)
    },
    listStoreSummaries: (project_id, page) =>
      listBySeq(db, STORE_SUMMARIES, PAGE_OF_SUMMARIES, page, project_id),
  }
}

const FIND_ITEM_BY_NAME = `
  ${ITEMS_WITH_STORES} WHERE s.account_id = ? AND s.store_id = ? AND i.name = ?`

export function itemReads(db: Reader): Pick<ItemMethods, 'findItem' | 'findItemByName'> {
  return {
    async findItem(id) {
      return maybe(itemRecord, await db.find(FIND_ITEM, id))
    },
    async findItemByName({ account_id, store_id }, name) {
      return maybe(itemRecord, await db.find(FIND_ITEM_BY_NAME, account_id, store_id, name))
    },
  }
}

type ImportReads = 'findImport' | 'listImports'

/** Reads finished imports. `created_at` is the SQL for the time at which import `i` started. */
export function importReads(db: Reader, created_at: string): Pick<PurchaseMethods, ImportReads> {
  const finished = finishedImports(created_at)
  const find = `${finished} AND s.account_id = ? AND i.import_id = ?`
  const list = `${finished} AND s.account_id = ? AND s.store_id = ? AND NOT ${IS_RECORDING}
    AND i.seq > CAST(? AS bigint) ORDER BY i.seq LIMIT ?`
  return {
    async findImport(account_id, import_id) {
      return maybe(importRecord, await db.find(find, account_id, import_id))
    },
    async listImports({ account_id, store_id }, page) {
      const rows = await db.all(list, account_id, store_id, page.after ?? '0', page.limit + 1)
      return recordPage(rows, page, importRecord, ({ seq }) => seq)
    },
  }
}

function finishedImports(created_at: string): string {
  const details = IMPORT_DETAILS.names.map((name) => `i.${name}`).join(', ')
  return `
    SELECT i.seq, i.import_id, s.account_id, s.store_id, ${created_at} AS created_at, i.undone_at,
      ${details}
    FROM imports i JOIN stores s ON s.seq = i.store
    WHERE (i.owner IS NULL OR i.undone_at IS NOT NULL) AND i.undoes IS NULL`
}

type CopyReads = 'listAllImports' | 'listStatusChanges' | 'listOverlaps'

/**
 * The reads of imports that only a copy needs. `created_at` is the SQL for the time at which import
 * `i` started. `of` is the SQL that joins a status change `c` with its purchase `p`.
 */
export function copyReads(
  db: Reader,
  created_at: string,
  of: string,
): Pick<CopyMethods, CopyReads> {
  const imports = `
    ${finishedImports(created_at)} AND i.seq > CAST(? AS bigint) ORDER BY i.seq LIMIT ?`
  const changes = `
    SELECT c.import, c.purchase AS other, i.import_id, p.transaction_id, c.before, c.after
    FROM status_changes c JOIN imports i ON i.seq = c.import JOIN purchases p ON ${of}
    WHERE i.undone_at IS NULL ${pageOfPairs('c.import, c.purchase')}`
  const overlaps = `
    SELECT o.import, o.earlier AS other, i.import_id, e.import_id AS earlier_id, o.rows
    FROM import_overlaps o JOIN imports i ON i.seq = o.import JOIN imports e ON e.seq = o.earlier
    WHERE i.owner IS NULL AND i.undone_at IS NULL AND e.undone_at IS NULL
      ${pageOfPairs('o.import, o.earlier')}`
  const listPairs = async <R>(sql: string, { read }: Table<R>, page: Page) => {
    const [first = 0, second = 0] = page.after?.split('.').map(Number) ?? []
    const rows = await db.all(sql, first, second, page.limit + 1)
    return recordPage(rows, page, read, (row) => `${row.import}.${row.other}`)
  }
  return {
    async listAllImports(page) {
      const rows = await db.all(imports, page.after ?? '0', page.limit + 1)
      return recordPage(rows, page, storedImport, ({ seq }) => seq)
    },
    listStatusChanges: (page) => listPairs(changes, STATUS_CHANGES, page),
    listOverlaps: (page) => listPairs(overlaps, IMPORT_OVERLAPS, page),
  }
}

// The `?` have no casts: with casts, SQLite would use only the first column of the index.
function pageOfPairs(columns: string): string {
  return `AND (${columns}) > (?, ?) ORDER BY ${columns} LIMIT ?`
}

/**
 * Makes a page of the rows that `purchaseColumns` selects. `lastExamined` is the `seq` of the last
 * purchase that the query examined, if there are further purchases.
 */
export function purchasePage(
  rows: readonly Row[],
  page: Page,
  store_id: string,
  lastExamined?: number | string,
): StoredPurchasePage {
  const read = (row: Row) => PURCHASES.readInto({ store_id }, row)
  const { records, ...further } = recordPage(rows, page, read, ({ seq }) => seq)
  const next = lastExamined === undefined ? {} : { next: String(lastExamined) }
  return { purchases: [...records], ...next, ...further }
}

/** Reads a purchase from a row that also has the id of its store. */
export function storedPurchaseOf(row: Row): StoredPurchase {
  return PURCHASES.readInto({ store_id: row.store_id as string }, row)
}

const PAGE_OF_ERASED_PURCHASES = `
  SELECT ${ERASED_PURCHASES.list} FROM erased_purchases WHERE store =
    (SELECT seq FROM stores WHERE account_id = ? AND store_id = ?) AND transaction_id > ?
  ORDER BY transaction_id LIMIT ?`

export function erasedPurchaseReads(db: Reader): Pick<PurchaseMethods, 'listErasedPurchases'> {
  return {
    async listErasedPurchases({ account_id, store_id }, page) {
      const { after = '', limit } = page
      const rows = await db.all(PAGE_OF_ERASED_PURCHASES, account_id, store_id, after, limit + 1)
      return recordPage(rows, page, ERASED_PURCHASES.read, (row) => row.transaction_id)
    },
  }
}

const watermarksFrom = (operator: '>' | '>=') => `
  SELECT ${WATERMARKS.list} FROM ${WATERMARKS.name} WHERE project_id = ? AND user_id ${operator} ?
  ORDER BY user_id LIMIT ?`
// The first page uses `>=`, because '' is the user id of the watermark for all users.
const FIRST_WATERMARKS = watermarksFrom('>=')
const NEXT_WATERMARKS = watermarksFrom('>')

export function tokenReads(db: Reader): Pick<TokenMethods, 'findWatermark' | 'listWatermarks'> {
  return {
    async findWatermark(project_id, user_id) {
      const pseudonym = pseudonymOf({ project_id, user_id })
      return numberOf((await db.find(FIND_WATERMARK, project_id, user_id, pseudonym))?.watermark)
    },
    async listWatermarks(project_id, page) {
      const sql = page.after === undefined ? FIRST_WATERMARKS : NEXT_WATERMARKS
      const rows = await db.all(sql, project_id, page.after ?? '', page.limit + 1)
      return recordPage(rows, page, WATERMARKS.read, ({ user_id }) => user_id)
    },
  }
}
