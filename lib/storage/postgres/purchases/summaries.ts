import type { CurrentColumns } from '../../sql/purchases/fills.ts'
import type { SummaryDialect } from '../../sql/purchases/summaries.ts'

const FROM = `
  FROM stores s JOIN purchases p ON p.store = s.seq AND p.seq <= s.last_purchase
  JOIN imports i ON i.seq = p.import AND i.undone_at IS NULL`

/** A commit applies all changes. */
export const CURRENT: CurrentColumns = {
  status: 'p.status',
  user_id: 'p.user_id',
  price: 'p.price',
  currency: 'p.currency',
  expires_at: 'p.expires_at',
}

export const DIALECT: SummaryDialect = {
  from: FROM,
  current: CURRENT,
  sums: 'sum(p.price) AS price',
  total: (status) => `coalesce(sum(price) FILTER (WHERE status = ${status}), 0)::text`,
  periodOf: (period, seconds) =>
    `date_trunc('${period}', to_timestamp(${seconds}) AT TIME ZONE 'UTC')`,
  textOf: (period, start) =>
    `to_char(${start}, '${period === 'month' ? 'YYYY-MM' : 'YYYY-MM-DD'}')`,
}
