import { DAY_MS, type Period } from '../../domain/overview.ts'
import { numberOf } from '../columns.ts'
import { IS_RECORDING } from '../recorded.ts'
import type { StoreKey, StoreTotals, TotalsQuery } from '../records.ts'
import type { TotalsWriter } from '../totalizer.ts'
import {
  addition,
  DAYS,
  endOfMonth,
  FEW_READ,
  type Kind,
  MONTHS,
  MOST_READ,
  type Part,
  storeTotals,
  type TotalsDialect,
  totalsStatement,
} from '../totals.ts'
import type { Database } from './connection.ts'
import { TOTALS_LOCK } from './schema.ts'
import { DIALECT, TIMEOUT_MS } from './summaries.ts'

const TOTALS: TotalsDialect = {
  ...DIALECT,
  sums: 'sum(price) AS price',
  monthOf: (day) =>
    `(date_trunc('month', to_timestamp(${day} * 86400) AT TIME ZONE 'UTC')::date - DATE '1970-01-01')`,
  store: 'CAST(? AS integer)',
  columns: ['price'],
  values: ['p.price'],
}

/** Reads the totals of a store, or resolves to the number of purchases that they still lack. */
export async function readTotals(
  db: Database,
  { account_id, store_id }: StoreKey,
  { from, to, month, by }: TotalsQuery,
  totalize: (store: number) => void,
): Promise<StoreTotals | number> {
  const found = await db.find(COUNT_REMAINING, MOST_READ + 1, account_id, store_id)
  const { seq: store, few, many } = found as { seq: number; few: string; many: string }
  if (Number(few) > FEW_READ) totalize(store)
  if (Number(few) > MOST_READ) return numberOf(many)
  const valuesFrom = (first: number, end: number) => {
    return [store, first / DAY_MS, end / DAY_MS, store, first, end]
  }
  const values = [...valuesFrom(from, to), ...valuesFrom(month, endOfMonth(to))]
  const limits = { timeout: TIMEOUT_MS }
  const rows = await db.transaction((tx) => tx.all(statementBy(by), ...values), limits)
  return storeTotals(rows, by)
}

/** The column `many` is slightly too high: it counts each `seq`, even one without a purchase. */
const COUNT_REMAINING = `
  SELECT s.seq, (SELECT count(*) FROM (
      SELECT FROM purchases p WHERE p.store = s.seq AND p.seq > coalesce(l.last, 0)
        AND p.seq <= s.last_purchase LIMIT ?) p) AS few,
    s.last_purchase - coalesce(l.last, 0) AS many
  FROM stores s LEFT JOIN totalled_purchases l ON l.store = s.seq
  WHERE s.account_id = ? AND s.store_id = ?`

const storedTotals = (kind: Kind) => `
  purchase_totals t LEFT JOIN imports i ON i.seq = t.import
  WHERE t.store = ? AND t.kind = ${kind} AND t.start >= ? AND t.start < ? AND i.undone_at IS NULL`

const PARTS: readonly Part[] = [
  {
    from: `stores s LEFT JOIN totalled_purchases l ON l.store = s.seq
      JOIN purchases p ON p.store = s.seq AND p.seq > coalesce(l.last, 0)
        AND p.seq <= s.last_purchase
      JOIN imports i ON i.seq = p.import AND i.undone_at IS NULL
      WHERE s.seq = ? AND p.purchased_at >= ? AND p.purchased_at < ?`,
  },
]

const statementBy = (by: Period) => totalsStatement(TOTALS, by, storedTotals, PARTS)

/** Adding this many purchases to the totals takes 0.2 s. Status changes wait until then. */
const SLICE_ROWS = 20_000

export function totalsWriter(db: Database): TotalsWriter {
  return {
    /**
     * Adds nothing while another transaction changes purchases of the store. Until its commit, that
     * transaction holds the lock of the totals, which the triggers of `purchases` take.
     */
    add: (store) =>
      db.transaction(
        async (tx) => {
          const lock = await tx.find(TRY_LOCK, TOTALS_LOCK, store)
          if (!lock?.is_locked) return false
          const slice = await tx.find(FIND_SLICE, SLICE_ROWS, store)
          const { first, last, end } = slice as { first: string; last: string | null; end: string }
          for (const statement of last === null ? [] : ADD) {
            await tx.run(statement, store, store, first, last as string)
          }
          await tx.run(SET_TOTALLED, store, last ?? end)
          return last !== null
        },
        { timeout: TIMEOUT_MS },
      ),
    end: async () => {},
  }
}

const TRY_LOCK = 'SELECT pg_try_advisory_xact_lock(?, ?) AS is_locked'

const FIND_SLICE = `
  SELECT coalesce(l.last, 0)::text AS first, s.last_purchase::text AS end, (
    SELECT max(seq) FROM (
      SELECT p.seq FROM purchases p WHERE p.store = s.seq AND p.seq > coalesce(l.last, 0)
        AND p.seq <= s.last_purchase ORDER BY p.seq LIMIT ?) p)::text AS last
  FROM stores s LEFT JOIN totalled_purchases l ON l.store = s.seq WHERE s.seq = ?`

const ADD = ([DAYS, MONTHS] as const).map((kind) =>
  addition(
    TOTALS,
    kind,
    `CASE WHEN ${IS_RECORDING} THEN 0 ELSE i.seq END`,
    `purchases p JOIN imports i ON i.seq = p.import AND i.undone_at IS NULL
    WHERE p.store = ? AND p.seq > ? AND p.seq <= ?`,
  ),
)

const SET_TOTALLED = `
  INSERT INTO totalled_purchases (store, last) VALUES (?, ?)
  ON CONFLICT (store) DO UPDATE SET last = excluded.last`
