import type { LongRead } from '../../sql/dialect.ts'
import type { Query } from '../../sql/program.ts'
import { type CurrentColumns, columnAfter } from '../../sql/purchases/fills.ts'
import { type SummaryDialect, storesWhere } from '../../sql/purchases/summaries.ts'
import type { StoresOfAccount } from '../../sql/records.ts'
import { readInThread, type ThreadQueue } from '../background.ts'
import type { Connection, Row } from '../connection.ts'
import type { SqliteValue } from '../drivers.ts'

const CHANGES = `
  LEFT JOIN purchase_changes c ON c.purchase = p.seq
    AND c.import IN (SELECT seq FROM imports WHERE owner IS NULL)`

// A thread ends only where it runs JavaScript: each 4096th row calls a function.
const MAY_END = 'AND (p.seq & 4095 OR is_wanted())'

// The `+` keeps SQLite from building an index of all purchases only for this statement.
const FROM = `
  FROM stores s
  CROSS JOIN imports i ON i.store = s.seq AND i.owner IS NULL
  CROSS JOIN purchases p ON +p.import = i.seq
    AND p.seq BETWEEN i.first_purchase AND i.last_purchase ${MAY_END} ${CHANGES}`

const INDEXED = 'FROM stores s CROSS JOIN purchase_users u ON u.user_key = user_key(s.seq, ?)'
const FROM_USER = `
  ${INDEXED}
  CROSS JOIN purchases p ON p.seq = u.purchase ${MAY_END}
  CROSS JOIN imports i ON i.seq = p.import AND i.store = s.seq AND i.owner IS NULL ${CHANGES}`

/** The changes of a committed import may still be in `purchase_changes`. */
export const CURRENT: CurrentColumns = {
  status: 'coalesce(c.status, p.status)',
  user_id: columnAfter('user_id'),
  price: columnAfter('price'),
  currency: columnAfter('currency'),
  expires_at: columnAfter('expires_at'),
}
const STARTS = {
  day: "'start of day'",
  week: "'start of day', '-6 days', 'weekday 1'",
  month: "'start of month'",
} as const

export const DIALECT: SummaryDialect = {
  from: FROM,
  fromUser: FROM_USER,
  current: CURRENT,
  // `sum` fails beyond 2^63, so it adds the digits above and below 10^9 separately.
  sums: `sum((${CURRENT.price}) / 1000000000) AS high, sum((${CURRENT.price}) % 1000000000) AS low`,
  total(status) {
    const sum = (part: string) => `coalesce(sum(${part}) FILTER (WHERE status = ${status}), 0)`
    const [high, low] = [sum('high'), sum('low')]
    return `(${high} + ${low} / 1000000000) || printf('%09d', ${low} % 1000000000)`
  },
  periodOf: (period, seconds) => `unixepoch(${seconds}, 'unixepoch', ${STARTS[period]})`,
  textOf: (period, start) =>
    `strftime('${period === 'month' ? '%Y-%m' : '%Y-%m-%d'}', ${start}, 'unixepoch')`,
}

/** The rows of each import. A recorded purchase is an import of its own. */
const ROWS_OF_IMPORTS = `
  SELECT max(i.last_purchase - i.first_purchase + 1, 0) + 1 AS rows
  FROM stores s CROSS JOIN imports i ON i.store = s.seq AND i.owner IS NULL`

/**
 * Counts the stores with imports, and the rows and imports, or the purchases of a user, up to a
 * limit: a store may have a million imports.
 */
function sizeOf(db: Connection, stores: StoresOfAccount, user_id: string | undefined) {
  const { sql, values } = storesWhere(stores)
  const rows = user_id === undefined ? ROWS_OF_IMPORTS : `SELECT 1 AS rows ${INDEXED}`
  return db.find(
    `SELECT count(*) AS stores, min(s.store_id) AS store_id, (
      SELECT coalesce(sum(rows), 0) FROM (${rows} WHERE ${sql} LIMIT ${FEW_ROWS + 1})) AS rows
    FROM stores s WHERE ${sql}
      AND EXISTS (SELECT 1 FROM imports i WHERE i.store = s.seq AND i.owner IS NULL)`,
    ...(user_id === undefined ? [] : [user_id]),
    ...values,
    ...values,
  )
}

/** A summary of up to this many rows takes 20 ms, less than the start of a thread. */
export const FEW_ROWS = 5_000

/** Runs a query of purchases, in another thread if there are many. */
export async function readLong(
  db: Connection,
  stores: StoresOfAccount,
  queryOf: (stores: StoresOfAccount) => Query,
  { user_id, signal }: LongRead = {},
): Promise<readonly Row[]> {
  const size = sizeOf(db, stores, user_id)
  // If the account has only one store, uses the statement for one store, which is faster.
  const { account_id } = stores
  const wanted = size?.stores === 1 ? { account_id, store_id: size.store_id as string } : stores
  const { sql, values } = queryOf(wanted)
  if ((size?.rows as number) <= FEW_ROWS) return db.all(sql, ...(values as SqliteValue[]))
  return readInThread(scans, db, sql, values as SqliteValue[], signal)
}

const scans: ThreadQueue = new WeakMap()
