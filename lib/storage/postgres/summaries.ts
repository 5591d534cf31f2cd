import type { PurchaseFilter } from '../../domain/query.ts'
import type { PurchaseSummary, SummaryKey } from '../../domain/summary.ts'
import type { MostGroups, StoresOfAccount } from '../port.ts'
import { type SummaryDialect, summaryOf, summaryStatement } from '../summaries.ts'
import type { Database } from './connection.ts'

const FROM = `
  FROM stores s JOIN purchases p ON p.store = s.seq AND p.seq <= s.last_purchase
  JOIN imports i ON i.seq = p.import AND i.undone_at IS NULL`

const TIME = "to_timestamp(p.purchased_at / 1000.0) AT TIME ZONE 'UTC'"

const DIALECT: SummaryDialect = {
  from: FROM,
  status: 'p.status',
  sums: 'sum(p.price) AS price',
  total: (status) => `coalesce(sum(price) FILTER (WHERE status = ${status}), 0)::text`,
  periods: {
    day: `to_char(${TIME}, 'YYYY-MM-DD')`,
    week: `to_char(date_trunc('week', ${TIME}), 'YYYY-MM-DD')`,
    month: `to_char(${TIME}, 'YYYY-MM')`,
  },
}

const TIMEOUT_MS = 10 * 60_000

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
