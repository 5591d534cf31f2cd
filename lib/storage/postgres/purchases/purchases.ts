import type { PurchaseFilter } from '../../../domain/query.ts'
import { numberOf } from '../../sql/columns.ts'
import { conditionsAfter } from '../../sql/filter.ts'
import { find, type Query } from '../../sql/program.ts'
import type { PurchaseDialect, Span } from '../../sql/purchases/purchases.ts'
import { type Database, LONG_MS } from '../connection.ts'
import { eraseRows } from './erasure.ts'
import { CURRENT, DIALECT as SUMMARIES } from './summaries.ts'

/**
 * The numbers of the last purchases are never too low. Counts only if they may be too high: for ten
 * million purchases, that takes a second.
 */
const COUNT = `
  SELECT CASE WHEN l.last <= ?::bigint / 2 THEN l.last ELSE (
    SELECT count(*) FROM (
      SELECT FROM stores s JOIN purchases p ON p.store = s.seq AND p.seq <= s.last_purchase
      WHERE s.account_id = ? LIMIT ?) c) END AS n
  FROM (SELECT coalesce(sum(last_purchase), 0) AS last FROM stores WHERE account_id = ?) l`

export const purchaseDialect = (db: Database): PurchaseDialect => ({
  ...SUMMARIES,
  eraseRows,
  readOfUser: (_store, _user_id, { sql, values }) => db.all(sql, ...values),
  async countPurchases(account_id, most) {
    const values = [most, account_id, most, account_id]
    return numberOf((await db.transaction((tx) => tx.find(COUNT, ...values), LONG_MS))?.n)
  },
  details: `JOIN imports i ON i.seq = p.import JOIN items t ON t.seq = p.item
    WHERE i.undone_at IS NULL AND p.seq <= s.last_purchase`,
  *lastExamined({ account_id, store_id }, filter, { first, last, order }, examine) {
    const within = withinImport(filter)
    const owner = [account_id, store_id, account_id, store_id]
    const values = [...owner, first, last, ...within.values, examine - 1]
    return (yield* find(lastExamined(within.sql, order), ...values))?.seq as string | undefined
  },
  listed(columns, { account_id, store_id }, filter, { first, last, order }) {
    const within = withinImport(filter)
    const conditions = conditionsAfter(filter, CURRENT)
    const isWaiting = filter.undelivered && filter.user_id === undefined
    return {
      sql: `SELECT ${columns}
        FROM ${isWaiting ? WAITING : ''} purchases p JOIN imports i ON i.seq = p.import JOIN items t ON t.seq = p.item
        WHERE ${isWaiting ? IS_WAITING : ''} ${OF_STORE} AND i.undone_at IS NULL AND ${IN_SPAN} ${within.sql} ${conditions.sql}`,
      order: `ORDER BY p.seq ${order}`,
      values: [
        ...(isWaiting ? [account_id, store_id, first, last] : []),
        account_id,
        store_id,
        account_id,
        store_id,
        first,
        last,
        ...within.values,
        ...conditions.values,
      ],
    }
  },
})

/**
 * An SQL condition that limits the purchases `p` to the range of an import's rows. If an import has
 * no range, because an earlier version wrote it, the condition allows all rows.
 */
const WITHIN_IMPORT = `
  AND p.seq >= (SELECT coalesce(max(first_purchase), 0) FROM imports WHERE import_id = ?)
  AND p.seq <= (SELECT coalesce(max(last_purchase), ${Number.MAX_SAFE_INTEGER}) FROM imports
    WHERE import_id = ?)`

/**
 * An SQL condition that selects the committed purchases `p` of a store. They include rows of undone
 * imports that are not deleted yet.
 */
const OF_STORE = `
  p.store = (SELECT seq FROM stores WHERE account_id = ? AND store_id = ?)
    AND p.seq <= (SELECT last_purchase FROM stores WHERE account_id = ? AND store_id = ?)`

// Names the columns of the partial index, which the planner would not use otherwise.
const WAITING = 'deliveries d CROSS JOIN'
const IS_WAITING = `
  d.store = (SELECT seq FROM stores WHERE account_id = ? AND store_id = ?)
    AND d.purchase >= CAST(? AS bigint) AND d.purchase <= CAST(? AS bigint)
    AND p.store = d.store AND p.seq = d.purchase AND`

const IN_SPAN = 'p.seq >= CAST(? AS bigint) AND p.seq <= CAST(? AS bigint)'

const lastExamined = (within: string, order: Span['order']) => `
  SELECT p.seq::text AS seq FROM purchases p
  WHERE ${OF_STORE} AND ${IN_SPAN} ${within} ORDER BY p.seq ${order} LIMIT 1 OFFSET ?`

function withinImport({ import_id }: PurchaseFilter): Query {
  if (import_id === undefined) return { sql: '', values: [] }
  return { sql: WITHIN_IMPORT, values: [import_id, import_id] }
}
