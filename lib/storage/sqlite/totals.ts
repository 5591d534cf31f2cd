import { DAY_MS, type Period } from '../../domain/overview.ts'
import { IS_LISTED, IS_RECORDING } from '../recorded.ts'
import type { StoreTotals, TotalsQuery } from '../records.ts'
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
import { readInThread, type ThreadQueue } from './background.ts'
import type { Connection } from './connection.ts'
import type { SqliteValue } from './drivers.ts'
import { DIALECT } from './summaries.ts'

const TOTALS: TotalsDialect = {
  ...DIALECT,
  sums: 'sum(high) AS high, sum(low) AS low',
  monthOf: (day) => `unixepoch(${day} * 86400, 'unixepoch', 'start of month') / 86400`,
  store: '?',
  columns: ['high', 'low'],
  values: ['p.price / 1000000000', 'p.price % 1000000000'],
}

/** A separate queue: reads of totals do not wait for queries that scan all purchases. */
const reads: ThreadQueue = new WeakMap()

/** Reads the totals of a store, or resolves to the number of purchases that they still lack. */
export async function readTotals(
  db: Connection,
  store: number,
  { from, to, month, by }: TotalsQuery,
  totalize: (store: number) => void,
): Promise<StoreTotals | number> {
  const remaining = db.find(COUNT_REMAINING, store)?.remaining as number
  if (remaining > FEW_READ) totalize(store)
  if (remaining > MOST_READ) return remaining
  const valuesFrom = (first: number, end: number) => {
    const days = [first / DAY_MS, end / DAY_MS]
    return [store, store, ...days, ...PARTS.flatMap(() => [store, first, end])]
  }
  const values = [...valuesFrom(from, to), ...valuesFrom(month, endOfMonth(to))]
  const isSmall = remaining <= FEW_READ && !db.find(FIND_MANY_TOTALS, store)
  const rows = isSmall
    ? db.all(statementBy(by), ...values)
    : await readInThread(db, statementBy(by), values, reads)
  return storeTotals(rows, by)
}

/** Reads at most `MOST_READ` + 1 imports. So many imports have more than `MOST_READ` purchases. */
const COUNT_REMAINING = `
  SELECT coalesce(sum(last_purchase - max(first_purchase, totalled + 1) + 1), 0) AS remaining FROM (
    SELECT last_purchase, first_purchase, totalled FROM imports
    WHERE store = ? AND owner IS NULL AND last_purchase > totalled LIMIT ${MOST_READ + 1})`

const FIND_MANY_TOTALS = 'SELECT 1 FROM purchase_totals WHERE store = ? LIMIT 1 OFFSET 5000'

const storedTotals = (kind: Kind) => `(
    SELECT 0 AS seq UNION ALL
    SELECT i.seq FROM imports i
    WHERE i.store = ? AND ${IS_LISTED} AND i.owner IS NULL
      AND i.undone_at IS NULL) i
  CROSS JOIN purchase_totals t
    ON t.import = i.seq AND t.store = ? AND t.kind = ${kind} AND t.start >= ? AND t.start < ?`

/** The status changes of committed imports that are not applied to `purchases` yet. */
const changed = (status: string) => `(
  SELECT q.purchased_at, q.item, q.currency, q.price, ${status} AS status FROM purchase_changes c
  CROSS JOIN imports ci ON ci.seq = c.import AND ci.owner IS NULL AND ci.store = ?
  CROSS JOIN purchases q ON q.seq = c.purchase AND q.purchased_at >= ? AND q.purchased_at < ?
  CROSS JOIN imports i ON i.seq = q.import AND i.owner IS NULL) p`

const PARTS: readonly Part[] = [
  {
    from: `imports i CROSS JOIN purchases p ON +p.import = i.seq
      AND p.seq BETWEEN max(i.first_purchase, i.totalled + 1) AND i.last_purchase
      WHERE i.store = ? AND i.owner IS NULL AND i.last_purchase > i.totalled
        AND p.purchased_at >= ? AND p.purchased_at < ?`,
  },
  { from: changed('q.status'), sign: '-1' },
  { from: changed('c.status') },
]

const statementBy = (by: Period) => totalsStatement(TOTALS, by, storedTotals, PARTS)

/**
 * Adds at most `most` further purchases of a store to the totals. Call it in a transaction. Returns
 * false when none are left.
 */
export function addToTotals(db: Connection, store: number, most: number): boolean {
  const next = db.find(FIND_NEXT, store) as unknown as Next | undefined
  if (!next) return false
  const { seq, first, last, is_recording } = next
  if (is_recording === 1) {
    const chosen: SqliteValue[] = [store, most]
    for (const kind of KINDS) db.run(ADD_RECORDED[kind], store, ...chosen)
    db.run(SET_RECORDED, ...chosen)
    return true
  }
  const end = Math.min(last, first + most - 1)
  for (const kind of KINDS) db.run(ADD_ROWS[kind], store, seq, first, end, seq)
  db.run('UPDATE imports SET totalled = ? WHERE seq = ?', end, seq)
  return true
}

interface Next {
  readonly seq: number
  readonly first: number
  readonly last: number
  readonly is_recording: number
}

const KINDS = [DAYS, MONTHS] as const
const UNTOTALLED = 'i.store = ? AND i.owner IS NULL AND i.last_purchase > i.totalled'

const FIND_NEXT = `
  SELECT i.seq, max(i.first_purchase, i.totalled + 1) AS first, i.last_purchase AS last,
    ${IS_RECORDING} AS is_recording
  FROM imports i WHERE ${UNTOTALLED} LIMIT 1`

const ADD_ROWS = KINDS.map((kind) =>
  addition(TOTALS, kind, '?', 'purchases p WHERE p.seq BETWEEN ? AND ? AND p.import = ?'),
) as [string, string]

/** Selects the recorded purchases among the next imports to add. */
const RECORDED = `(
  SELECT i.seq FROM (SELECT i.seq, i.import_id FROM imports i WHERE ${UNTOTALLED} LIMIT ?) i
  WHERE ${IS_RECORDING})`

const ADD_RECORDED = KINDS.map((kind) =>
  addition(
    TOTALS,
    kind,
    '0',
    `imports i CROSS JOIN purchases p ON +p.import = i.seq
      AND p.seq BETWEEN i.first_purchase AND i.last_purchase
    WHERE i.seq IN ${RECORDED}`,
  ),
) as [string, string]

const SET_RECORDED = `UPDATE imports SET totalled = last_purchase WHERE seq IN ${RECORDED}`

/** Deletes some totals of an undone import. Returns 0 when none are left. */
export function deleteTotals(db: Connection, store: number, seq: number): number {
  return db.run(DELETE_SOME, store, seq, store, seq)
}

const DELETE_SOME = `
  DELETE FROM purchase_totals WHERE store = ? AND import = ?
    AND (kind, start, item, currency, status) IN (
      SELECT kind, start, item, currency, status FROM purchase_totals
      WHERE store = ? AND import = ? LIMIT 2000)`
