import type { BuyerCount } from '../../domain/overview.ts'
import type { PurchaseFilter } from '../../domain/query.ts'
import type { PurchaseSummary, SummaryKey } from '../../domain/summary.ts'
import type { MostGroups, StoreKey, StoresOfAccount } from '../port.ts'
import {
  buyerCounts,
  buyersStatement,
  type SummaryDialect,
  summaryOf,
  summaryStatement,
} from '../summaries.ts'
import type { Database } from './connection.ts'

const FROM = `
  FROM stores s JOIN purchases p ON p.store = s.seq AND p.seq <= s.last_purchase
  JOIN imports i ON i.seq = p.import AND i.undone_at IS NULL`

export const DIALECT: SummaryDialect = {
  from: FROM,
  status: 'p.status',
  sums: 'sum(p.price) AS price',
  total: (status) => `coalesce(sum(price) FILTER (WHERE status = ${status}), 0)::text`,
  periodOf(period, seconds) {
    const time = `to_timestamp(${seconds}) AT TIME ZONE 'UTC'`
    if (period === 'month') return `to_char(${time}, 'YYYY-MM')`
    return `to_char(date_trunc('${period}', ${time}), 'YYYY-MM-DD')`
  },
}

export const TIMEOUT_MS = 10 * 60_000

export async function summarizePurchases(
  db: Database,
  stores: StoresOfAccount,
  filter: PurchaseFilter,
  by: readonly SummaryKey[],
  most?: MostGroups,
): Promise<PurchaseSummary[]> {
  const { sql, values } = summaryStatement(DIALECT, stores, filter, by, most)
  const rows = await db.transaction((tx) => tx.all(sql, ...values), { timeout: TIMEOUT_MS })
  return rows.map((row) => summaryOf(row, by))
}

export async function countBuyers(
  db: Database,
  { account_id, store_id }: StoreKey,
  from: number,
): Promise<BuyerCount[]> {
  const values = [from, from, from, account_id, store_id]
  const limits = { timeout: TIMEOUT_MS }
  return buyerCounts(await db.transaction((tx) => tx.all(COUNT_BUYERS, ...values), limits))
}

const COUNT_BUYERS = buyersStatement(DIALECT)
