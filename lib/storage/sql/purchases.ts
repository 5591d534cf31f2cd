import type { PurchaseFilter } from '../../domain/query.ts'
import { conditionsAfter, isScan } from '../filter.ts'
import { EXAMINED, recordPage } from '../pages.ts'
import { IS_LISTED } from '../recorded.ts'
import type {
  FilteredPage,
  Page,
  PurchaseMethods,
  StoredPurchasePage,
  StoreKey,
  StoresOfAccount,
} from '../records.ts'
import { IMPORT_DETAILS, importRecord, OWNED, PURCHASES, purchaseColumns } from '../tables.ts'
import type { Query, Sql } from './dialect.ts'
import { findRecord } from './pages.ts'
import { all, find, type Program } from './program.ts'
import {
  buyerCounts,
  buyersStatement,
  type SummaryDialect,
  storesWhere,
  summaryOf,
  summaryStatement,
} from './summaries.ts'

/** The statements for purchases that differ between the databases. */
export interface PurchaseDialect extends SummaryDialect {
  /** The SQL for the time at which an import `i` started. */
  readonly startedAt: string
  /**
   * Joins purchases `p` with their imports `i` and items `t`, and leaves out the purchases that
   * reads do not return. Ends with a condition.
   */
  readonly details: string
  /** The `seq` of the last purchase that a page of a scan may examine, if more follow. */
  lastExamined(
    store: StoreKey,
    filter: PurchaseFilter,
    after: string,
    examine: number,
  ): Program<string | undefined>
  /** The query of `listPurchases`, without its LIMIT. `last` is the `seq` to stop at. */
  listed(
    columns: string,
    store: StoreKey,
    filter: PurchaseFilter,
    after: string,
    last: string | undefined,
  ): Query
  /** The query of `listOwned`, without its LIMIT. */
  owned(store: StoreKey, user_id: string, after: string, now: number): Query
  /** Finds the columns `version` and `last`, of which one changes with each change of purchases. */
  version(store: StoreKey): Query
}

type OwnMethods =
  | 'countPurchases'
  | 'openImport'
  | 'undoImport'
  | 'recordPurchase'
  | 'readTotals'
  | 'completeTotals'
  | 'indexUsers'

/** The reads of purchases and imports. */
export function purchaseReads(
  sql: Sql,
  dialect: PurchaseDialect,
): Omit<PurchaseMethods, OwnMethods> {
  const { read } = sql
  const { status, startedAt, details } = dialect
  const columns = purchaseColumns(status)
  const countBuyers = buyersStatement(dialect)
  const finished = finishedImports(startedAt)
  const findImport = `${finished} AND s.account_id = ? AND i.import_id = ?`
  const pageOfImports = `${finished} AND s.account_id = ? AND s.store_id = ? AND ${IS_LISTED}
    AND i.seq > CAST(? AS bigint) ORDER BY i.seq LIMIT ?`

  function* listImports({ account_id, store_id }: StoreKey, page: Page) {
    const { after = '0', limit } = page
    const rows = yield* all(pageOfImports, account_id, store_id, after, limit + 1)
    return recordPage(rows, page, importRecord, ({ seq }) => seq)
  }

  function* listPurchases(
    store: StoreKey,
    filter: PurchaseFilter,
    page: FilteredPage,
  ): Program<StoredPurchasePage> {
    const { after = '0', limit, examine = EXAMINED } = page
    const last = isScan(filter)
      ? yield* dialect.lastExamined(store, filter, after, examine)
      : undefined
    const listed = dialect.listed(columns, store, filter, after, last)
    const rows = yield* all(`${listed.sql} LIMIT ?`, ...listed.values, limit + 1)
    const { store_id } = store
    const { records, ...further } = recordPage(
      rows,
      page,
      (row) => PURCHASES.readInto({ store_id }, row),
      ({ seq }) => seq,
    )
    return { purchases: [...records], ...(last !== undefined && { next: last }), ...further }
  }

  function* findTransactions(
    stores: StoresOfAccount,
    transaction_id: string,
    filter: PurchaseFilter,
    limit: number,
  ) {
    const selected = storesWhere(stores)
    const conditions = conditionsAfter(filter, status)
    const rows = yield* all(
      `SELECT ${columns}, s.store_id FROM stores s ${sql.joinTransaction} ${details}
         AND ${selected.sql} ${conditions.sql} ORDER BY s.seq LIMIT ?`,
      ...[transaction_id, ...selected.values, ...conditions.values, limit],
    )
    return rows.map((row) => PURCHASES.readInto({ store_id: row.store_id as string }, row))
  }

  function* listOwned(store: StoreKey, user_id: string, page: Page, now: number) {
    const owned = dialect.owned(store, user_id, page.after ?? '', now)
    const rows = yield* all(`${owned.sql} LIMIT ?`, ...owned.values, page.limit + 1)
    return recordPage(rows, page, OWNED.read, ({ sku }) => sku)
  }

  return {
    findImport: (account_id, import_id) =>
      read(findRecord(importRecord, findImport, account_id, import_id)),
    listImports: (store, page) => read(listImports(store, page)),
    listPurchases: (store, filter, page) => read(listPurchases(store, filter, page)),
    findTransactions: (...request) => read(findTransactions(...request)),
    listOwned: (...request) => read(listOwned(...request)),
    async summarizePurchases(stores, filter, by, most) {
      const rows = await sql.readLong(stores, (wanted) =>
        summaryStatement(dialect, wanted, filter, by, most),
      )
      return rows.map((row) => summaryOf(row, by))
    },
    async countBuyers({ account_id, store_id }, from) {
      const values = [from, from, from, account_id, store_id]
      const query = { sql: countBuyers, values }
      return buyerCounts(await sql.readLong({ account_id, store_id }, () => query))
    },
    async findPurchaseVersion(store) {
      const { sql, values } = dialect.version(store)
      const row = await read(find(sql, ...values))
      return `${row?.version}.${row?.last}`
    },
  }
}

/** The SQL for finished imports `i`, with a condition at its end. */
function finishedImports(startedAt: string): string {
  const details = IMPORT_DETAILS.names.map((name) => `i.${name}`).join(', ')
  return `
    SELECT i.seq, i.import_id, s.account_id, s.store_id, ${startedAt} AS created_at, i.undone_at,
      ${details}
    FROM imports i JOIN stores s ON s.seq = i.store
    WHERE (i.owner IS NULL OR i.undone_at IS NOT NULL) AND i.undoes IS NULL`
}
