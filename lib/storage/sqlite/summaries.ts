import type { PurchaseFilter } from '../../domain/query.ts'
import type { PurchaseSummary, SummaryKey } from '../../domain/summary.ts'
import type { StoresOfAccount } from '../port.ts'
import { type SummaryDialect, summaryOf, summaryStatement } from '../summaries.ts'
import { readInThread } from './background.ts'
import type { Connection } from './connection.ts'

// The `+` prevents SQLite from building an index over all purchases for this one statement.
const FROM = `
  FROM stores s
  CROSS JOIN imports i ON i.store = s.seq AND i.owner IS NULL
  CROSS JOIN purchases p ON +p.import = i.seq
    AND p.seq BETWEEN i.first_purchase AND i.last_purchase
  LEFT JOIN items t ON t.seq = p.item
  LEFT JOIN purchase_changes c ON c.purchase = p.seq
    AND c.import IN (SELECT seq FROM imports WHERE owner IS NULL)`

const STATUS = 'coalesce(c.status, p.status)'
const TIME = "p.purchased_at / 1000.0, 'unixepoch'"

const DIALECT: SummaryDialect = {
  from: FROM,
  status: STATUS,
  // `sum` fails beyond 2^63. Sums the digits above and below 10^9 separately.
  total(status) {
    const sum = (part: string) => `coalesce(sum(${part}) FILTER (WHERE ${STATUS} = ${status}), 0)`
    const [high, low] = [sum('p.price / 1000000000'), sum('p.price % 1000000000')]
    return `(${high} + ${low} / 1000000000) || printf('%09d', ${low} % 1000000000)`
  },
  periods: {
    day: `strftime('%Y-%m-%d', ${TIME})`,
    week: `strftime('%Y-%m-%d', ${TIME}, '-6 days', 'weekday 1')`,
    month: `strftime('%Y-%m', ${TIME})`,
  },
}

const ROWS = `
  SELECT coalesce(sum(i.last_purchase - i.first_purchase + 1), 0) AS count
  FROM stores s CROSS JOIN imports i ON i.store = s.seq AND i.owner IS NULL
  WHERE s.account_id = ? AND (? IS NULL OR s.store_id = ?)`

/** So few rows take 20 ms, less than the start of a thread. */
const FEW_ROWS = 5_000

export async function summarizePurchases(
  db: Connection,
  stores: StoresOfAccount,
  filter: PurchaseFilter,
  by: readonly SummaryKey[],
): Promise<PurchaseSummary[]> {
  const { account_id, store_id = null } = stores
  const { sql, values } = summaryStatement(DIALECT, stores, filter, by)
  const rows = db.find(ROWS, account_id, store_id, store_id)?.count as number
  const read = (row: object) => summaryOf(row as Record<string, unknown>, by)
  if (rows <= FEW_ROWS) return db.all(sql, ...values).map(read)
  return readInThread(db, read, sql, ...values)
}
