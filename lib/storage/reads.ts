import type { StoredPurchase } from '../domain/purchase.ts'
import { maybe, type Row, type Table } from './columns.ts'
import { recordPage } from './pages.ts'
import type { CopyMethods, Page, PurchaseMethods, StoredPurchasePage } from './port.ts'
import { IS_RECORDING } from './recorded.ts'
import {
  ERASED_PURCHASES,
  IMPORT_DETAILS,
  IMPORT_OVERLAPS,
  importRecord,
  PURCHASES,
  STATUS_CHANGES,
  storedImport,
} from './tables.ts'

// The reads that both SQL adapters do with the same statement.

type Value = string | number

/** The methods of a connection that read. SQLite returns rows directly, PostgreSQL in a promise. */
export interface Reader {
  find(sql: string, ...values: Value[]): Row | undefined | Promise<Row | undefined>
  all(sql: string, ...values: Value[]): Row[] | Promise<Row[]>
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
