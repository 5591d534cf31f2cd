import type { BuyerCount } from '../../../domain/overview.ts'
import {
  type NewPurchase,
  PURCHASE_STATUSES,
  type Purchase,
  type PurchaseStatus,
  type StatusChange,
} from '../../../domain/purchase.ts'
import type { PurchaseFilter } from '../../../domain/query.ts'
import type { PurchaseSummary, SummaryKey } from '../../../domain/summary.ts'
import { numberOf, type Row } from '../columns.ts'
import type { Sql } from '../dialect.ts'
import { conditionsAfter, isScan } from '../filter.ts'
import { EXAMINED, findRecord, lengthOf, recordPage } from '../pages.ts'
import { all, find, type Program, type Query, some, someWide } from '../program.ts'
import type { FilteredPage, Page, RecordPage, StoreKey, StoresOfAccount } from '../records.ts'
import { IMPORT_DETAILS, importRecord, OWNED, PURCHASES, purchaseColumns } from '../tables.ts'
import { MOST_OF_ORDER, orderValues } from './dialect.ts'
import type { CurrentColumns } from './fills.ts'
import { matchProgram } from './matches.ts'
import { IS_LISTED } from './recorded.ts'
import type { MostGroups } from './records.ts'
import {
  buyersStatement,
  type SummaryDialect,
  storesWhere,
  storeTotals,
  summaryStatement,
  totalsOfRows,
  totalsStatement,
  type WantedPeriods,
} from './summaries.ts'

/** The statements for purchases that differ between the databases. */
export interface PurchaseDialect extends SummaryDialect {
  /**
   * Joins purchases `p` with their imports `i` and items `t`, and leaves out the purchases that
   * reads do not return. Ends with a condition.
   */
  readonly details: string
  /** The `seq` of the last purchase that a page of a scan may examine, if more follow. */
  lastExamined(
    store: StoreKey,
    filter: PurchaseFilter,
    span: Span,
    examine: number,
  ): Program<string | undefined>
  /** The query of `listPurchases`, without its LIMIT. */
  listed(columns: string, store: StoreKey, filter: PurchaseFilter, span: Span): Listing
  /**
   * Counts the purchases of an account, up to `most` of them. May return more, but then at most
   * half of `most`.
   */
  countPurchases(account_id: string, most: number): Promise<number>
  /** Runs a query of all purchases of a user. SQLite runs it in another thread if there are many. */
  readOfUser(store: StoreKey, user_id: string, query: Query): Promise<readonly Row[]>
  /** Removes the user and the metadata of purchases, or deletes the purchases. */
  eraseRows(store: number, user_id: string, rows: readonly Row[], deletes: boolean): Program<void>
}

/** A query of purchases, and the SQL of its ORDER BY. */
export interface Listing extends Query {
  readonly order: string
}

/** The purchases to list: with a `seq` from `first` to `last`, in the order `ASC` or `DESC`. */
export interface Span {
  readonly first: string
  readonly last: string
  readonly order: 'ASC' | 'DESC'
}

/** The largest `seq`. SQLite and PostgreSQL have integers of 64 bits. */
const LAST = '9223372036854775807'

export const ALL: Span = { first: '1', last: LAST, order: 'ASC' }

function spanAfter(after: string | undefined, newestFirst = false): Span {
  if (newestFirst) {
    const last = after === undefined ? LAST : String(BigInt(after) - 1n)
    return { first: '1', last, order: 'DESC' }
  }
  return { first: String(BigInt(after ?? 0) + 1n), last: LAST, order: 'ASC' }
}

const PENDING = PURCHASE_STATUSES.indexOf('pending')

/** The reads of purchases and imports. */
export function purchaseReads(sql: Sql, dialect: PurchaseDialect) {
  const { read } = sql
  const { current, details } = dialect
  const startedAt = sql.time('i.created_at')
  const columns = purchaseColumns(current)
  const countBuyers = buyersStatement(dialect)
  const finished = finishedImports(startedAt)
  const match = matchProgram(sql, current, details)
  const findImport = `${finished} AND s.account_id = ? AND i.import_id = ?`
  const pageOfImports = (order: Span['order']) =>
    sql.pageOfText(
      `${finished} AND s.account_id = ? AND s.store_id = ? AND ${IS_LISTED}
      AND i.seq ${order === 'ASC' ? '>' : '<'} CAST(? AS bigint) ORDER BY i.seq ${order} LIMIT ?`,
      order,
    )
  const [oldImports, newImports] = [pageOfImports('ASC'), pageOfImports('DESC')]

  function* listImports({ account_id, store_id }: StoreKey, { newestFirst, ...page }: ImportPage) {
    const [query, first] = newestFirst ? [newImports, LAST] : [oldImports, '0']
    const take = (rows: Iterable<Row>) => recordPage(rows, page, importRecord, ({ place }) => place)
    const { after = first, limit } = page
    return yield* someWide(take, query, account_id, store_id, after, limit + 1)
  }

  const statusChanges = `
    SELECT i.import_id, ${startedAt} AS created_at, i.file_name, c.before, c.after
    FROM stores s ${sql.statusChanges.joinTransaction} JOIN status_changes c ON ${sql.statusChanges.isPurchaseOfChange}
    JOIN imports i ON i.seq = c.import
    WHERE s.account_id = ? AND s.store_id = ? AND i.owner IS NULL AND i.undone_at IS NULL
      AND c.before <> c.after
    -- A purchase is pending only before its other statuses. The order of "seq" is that of starts.
    ORDER BY CASE c.before WHEN ${PENDING} THEN 0 ELSE 1 END`

  function* listPurchases(
    store: StoreKey,
    filter: PurchaseFilter,
    page: FilteredPage,
  ): Program<RecordPage<Purchase>> {
    const { after, limit, examine = EXAMINED, newestFirst } = page
    const span = spanAfter(after, newestFirst)
    const last = yield* lastExamined(store, filter, span, examine)
    const end = last !== undefined && { [newestFirst ? 'first' : 'last']: last }
    const selected = `p.seq AS place, ${columns}, ${lengthOf('p.metadata')}`
    const listed = dialect.listed(selected, store, filter, { ...span, ...end })
    const { store_id } = store
    const take = (rows: Iterable<Row>) =>
      recordPage(
        rows,
        page,
        (row) => PURCHASES.readInto({ store_id }, row),
        ({ seq }) => seq,
      )
    const query = sql.pageOfText(`${listed.sql} ${listed.order} LIMIT ?`, span.order)
    const found = yield* some(take, query, ...listed.values, limit + 1)
    return { ...(last !== undefined && { next: last }), ...found }
  }

  function* lastExamined(store: StoreKey, filter: PurchaseFilter, span: Span, examine: number) {
    if (!isScan(filter)) return undefined
    if (!filter.undelivered) return yield* dialect.lastExamined(store, filter, span, examine)
    const { account_id, store_id } = store
    const values = [account_id, store_id, span.first, span.last, examine - 1]
    return (yield* find(lastWaiting(span.order), ...values))?.seq as string | undefined
  }

  function* findTransactions(
    stores: StoresOfAccount,
    transaction_id: string,
    filter: PurchaseFilter,
    { after = '0', limit }: Page,
  ) {
    const selected = storesWhere(stores)
    const conditions = conditionsAfter(filter, current)
    const query = sql.pageOfText(
      `SELECT * FROM (
         SELECT ${PLACE_OF_ORDER} AS place, ${columns}, s.store_id, ${lengthOf('p.metadata')}
         FROM stores s ${sql.statusChanges.joinOrder} ${details}
           AND ${selected.sql} ${conditions.sql}) f
       WHERE place > CAST(? AS bigint) ORDER BY place LIMIT ?`,
      'ASC',
    )
    const read = (row: Row) => PURCHASES.readInto({ store_id: row.store_id as string }, row)
    const take = (rows: Iterable<Row>) => recordPage(rows, { limit }, read, ({ place }) => place)
    const values = [...selected.values, ...conditions.values, after, limit + 1]
    return yield* some(take, query, ...orderValues(transaction_id), ...values)
  }

  function* listStatusChanges({ account_id, store_id }: StoreKey, transaction_id: string) {
    const rows = yield* all(statusChanges, transaction_id, account_id, store_id)
    const statusOf = (status: unknown) => PURCHASE_STATUSES[status as number] as PurchaseStatus
    return rows.map(({ import_id, created_at, file_name, before, after }) => ({
      import_id: import_id as string,
      created_at: created_at as string,
      ...(typeof file_name === 'string' && { file_name }),
      before: statusOf(before),
      after: statusOf(after),
    }))
  }

  const listOwned = async (store: StoreKey, user_id: string, page: Page, now: number) => {
    const filter = { user_id, status: 'purchased' } as const
    const found = dialect.listed(ownedColumns(current), store, filter, ALL)
    const rows = await dialect.readOfUser(store, user_id, {
      sql: `
        SELECT name AS sku, sum(quantity) AS quantity, min(purchased_at) AS first_purchased_at,
          max(purchased_at) AS last_purchased_at, min(type) AS type,
          min(display_name) AS display_name,
          nullif(max(ends), ${NEVER}) AS expires_at
        FROM (${found.sql}) o WHERE name > ? AND ends > ?
        GROUP BY name ORDER BY name LIMIT ?`,
      values: [...found.values, page.after ?? '', now, page.limit + 1],
    })
    return recordPage(rows, page, OWNED.read, ({ sku }) => sku)
  }

  return {
    countPurchases: dialect.countPurchases,
    /** Finds a finished import into a store of the account. */
    findImport: (account_id: string, import_id: string) =>
      read(findRecord(importRecord, findImport, account_id, import_id)),
    /**
     * Lists the finished imports into a store in order of their start, or newest first. Leaves out the imports that
     * `recordPurchase` creates.
     */
    listImports: (store: StoreKey, page: ImportPage) => read(listImports(store, page)),
    /**
     * Lists the purchases of a store that match the filter, in the order of import, or newest first.
     * If no index fits the filter, a page examines at most `examine` purchases. Such a page may have
     * fewer than `limit` purchases, even none, although `next` is set.
     */
    listPurchases: (store: StoreKey, filter: PurchaseFilter, page: FilteredPage) =>
      read(listPurchases(store, filter, page)),
    /**
     * Lists the purchases that match the filter and that a transaction id stands for. In each
     * store, it is the purchase with this id, or else the first 1,000 of the order, whose ids begin
     * with the id and a slash. They are in the order of the stores, then of the ids.
     */
    findTransactions: (...request: Parameters<typeof findTransactions>) =>
      read(findTransactions(...request)),
    /** Compares rows of a file with the committed purchases that have their ids. */
    matchRows: (store: StoreKey, rows: readonly NewPurchase[]) => read(match(store, rows)),
    /** Finds the changes of a purchase's status by finished imports, oldest first. */
    listStatusChanges: (store: StoreKey, transaction_id: string): Promise<StatusChange[]> =>
      read(listStatusChanges(store, transaction_id)),
    /**
     * Lists the purchases of a user with the status `purchased` that have not expired at `now`: one
     * row for each SKU, sorted by SKU. The cursor is the last SKU.
     */
    listOwned,
    /**
     * Summarizes the purchases that match the filter, sorted by the groups' fields. All sums are
     * exact and from the same moment. Does not block the event loop for long.
     */
    async summarizePurchases(
      stores: StoresOfAccount,
      filter: PurchaseFilter,
      by: readonly SummaryKey[],
      most?: MostGroups,
      signal?: AbortSignal,
    ) {
      const queryOf = (wanted: StoresOfAccount) =>
        summaryStatement(dialect, wanted, filter, by, most)
      const rows = await sql.readLong(stores, queryOf, { user_id: filter.user_id, signal })
      return totalsOfRows<PurchaseSummary>(rows)
    },
    /** Reads the totals of stores, all from the same moment. Does not block the event loop. */
    async readTotals(
      stores: StoresOfAccount,
      times: Times,
      periods: WantedPeriods,
      signal?: AbortSignal,
    ) {
      const queryOf = (wanted: StoresOfAccount) => totalsStatement(dialect, wanted, times, periods)
      const rows = await sql.readLong(stores, queryOf, { signal })
      return storeTotals(rows)
    },
    /** For each currency, counts new and returning buyers since a time. Sorted by currency. */
    async countBuyers({ account_id, store_id }: StoreKey, from: number, signal?: AbortSignal) {
      const query = { sql: countBuyers, values: [account_id, store_id, from, from, from] }
      const rows = await sql.readLong({ account_id, store_id }, () => query, { signal })
      return rows.map((row): BuyerCount => {
        const { currency, new: first, former } = row
        return { currency: currency as string, new: numberOf(first), returning: numberOf(former) }
      })
    },
  }
}

/** Finds the last purchase that a page of purchases to deliver may examine. */
const lastWaiting = (order: Span['order']) => `
  SELECT CAST(purchase AS text) AS seq FROM deliveries
  WHERE store = (SELECT seq FROM stores WHERE account_id = ? AND store_id = ?)
    AND purchase >= CAST(? AS bigint) AND purchase <= CAST(? AS bigint)
  ORDER BY purchase ${order} LIMIT 1 OFFSET ?`

/** A number for each purchase that `joinOrder` finds, in the order of the stores, then of the ids. */
const PLACE_OF_ORDER = `CAST(s.seq AS bigint) * ${MOST_OF_ORDER}
  + row_number() OVER (PARTITION BY s.seq ORDER BY p.transaction_id)`

/** The end of a purchase without one. */
const NEVER = LAST

const ownedColumns = ({ expires_at }: CurrentColumns) =>
  `p.seq AS seq, t.name, t.type, t.display_name, p.quantity, p.purchased_at,
    coalesce(${expires_at}, ${NEVER}) AS ends`

type ImportPage = Page & Pick<FilteredPage, 'newestFirst'>

type Times = Pick<PurchaseFilter, 'from' | 'to'>

/** The SQL for finished imports `i`, with a condition at its end. */
function finishedImports(startedAt: string): string {
  const details = IMPORT_DETAILS.names.map((name) => `i.${name}`).join(', ')
  return `
    SELECT i.seq AS place, ${lengthOf('i.totals')}, i.import_id, s.store_id,
      ${startedAt} AS created_at, i.undone_at,
      ${details}
    FROM imports i JOIN stores s ON s.seq = i.store
    WHERE (i.owner IS NULL OR i.undone_at IS NOT NULL) AND i.undoes IS NULL`
}
