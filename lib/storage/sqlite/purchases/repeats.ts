import {
  type Comparison,
  MAX_ORDER_PURCHASES,
  PURCHASE_STATUSES,
  type PurchaseStatus,
} from '../../../domain/purchase.ts'
import { TillError } from '../../../errors.ts'
import { run } from '../../sql/program.ts'
import type { Lease } from '../../sql/purchases/imports.ts'
import { addOverlaps, compareRows, type RepeatDialect } from '../../sql/purchases/repeats.ts'
import { NO_ROWS, sumOutcomes } from '../../sql/purchases/row-outcomes.ts'
import { type SeenRows, seenKey } from '../../sql/purchases/seen-rows.ts'
import type { RowOutcomes } from '../../sql/records.ts'
import { PURCHASE_IDENTITIES } from '../../sql/tables.ts'
import type { Connection } from '../connection.ts'
import { DIALECT, execute } from '../sql.ts'

const IDENTITY = ['item', ...PURCHASE_IDENTITIES.names.filter((name) => name !== 'status')]
const identityColumns = (table: string) => IDENTITY.map((name) => `${table}.${name}`).join(', ')

export const REPEATS: RepeatDialect = {
  findKnown: `
    SELECT t.transaction_id, t.purchase AS seq, s.import, s.purchased_at,
      ${identityColumns('s')}, coalesce(c.status, s.status) AS status, e.is_deleted IS NOT NULL AS is_erased
    FROM json_each(?) sent
    CROSS JOIN transactions t ON t.store = ? AND t.transaction_id = sent.value
    LEFT JOIN purchases s ON s.seq = t.purchase
    LEFT JOIN purchase_changes c ON c.purchase = s.seq
    LEFT JOIN erased_purchases e ON e.store = t.store AND e.transaction_id = t.transaction_id`,
  findOrders: `
    SELECT id, purchases FROM (
      SELECT sent.value AS id, (SELECT json_group_array(transaction_id) FROM (
        SELECT transaction_id FROM transactions
        WHERE store = ? AND transaction_id > sent.value || '/' AND transaction_id < sent.value || '0'
        LIMIT ${MAX_ORDER_PURCHASES + 1})) AS purchases
      FROM json_each(?) sent)
    WHERE purchases <> '[]'`,
  *addChanges({ import: seq }, changes) {
    for (const [{ seq: purchase, import: other }, status] of changes) {
      const code = PURCHASE_STATUSES.indexOf(status)
      // Changes a row of this import directly: no read returns it.
      if (other === seq) yield* run(SET_STATUS, code, purchase)
      else if ((yield* run(ADD_CHANGE, purchase, seq, code)) === 0) throw changedByAnother()
    }
  },
}

const SET_STATUS = 'UPDATE purchases SET status = ? WHERE seq = ?'
const ADD_CHANGE = `
  INSERT INTO purchase_changes (purchase, import, status) VALUES (?, ?, ?)
  ON CONFLICT (purchase) DO UPDATE SET status = excluded.status WHERE import = excluded.import`

/** Does not happen while each import has the lease of its store. */
function changedByAnother() {
  return new TillError('storage_unavailable', 'Another import changes this purchase; repeat it')
}

interface Comparing {
  readonly comparison: Comparison
  /** The rows that earlier calls compared. Adds those of this call. */
  readonly seenRows: SeenRows
  /** Returns the line of an appended row. */
  readonly lineOf: (purchase: number) => number
}

/**
 * Compares appended rows with the stored purchases that have the same transaction ids, and deletes
 * these rows. `added` is the number of rows whose ids are new.
 */
export function compareAppended(
  db: Connection,
  lease: Lease,
  purchases: readonly number[],
  added: number,
  { comparison, seenRows, lineOf }: Comparing,
): RowOutcomes {
  const appended = JSON.stringify(purchases)
  const { count, ...outcomes } = deleteIdentical(db, lease, appended, seenRows, lineOf)
  const identical = { ...NO_ROWS, ...outcomes, added }
  if (added + count === purchases.length) return identical
  const rows = db.all(FIND_REPEATED, appended, lease.store).map((row) => {
    const { seq, transaction_id, item: sku, purchased_at } = row as unknown as AppendedRow
    const line = lineOf(seq)
    return PURCHASE_IDENTITIES.readInto({ seq, transaction_id, sku, line, purchased_at }, row)
  })
  const comparing = { comparison, first: 0, seenRows } // all rows are stored, none is added
  const compared = compareRows(DIALECT, REPEATS, lease, rows, comparing)
  const { result, seen } = execute(db, compared)
  seenRows.addAll(seen)
  db.run(DELETE_PURCHASES, JSON.stringify(rows.map(({ seq }) => seq)))
  return sumOutcomes([identical, result])
}

/**
 * Deletes the appended rows that are equal to stored purchases. Uses few statements: if a file is
 * imported again, all its rows are equal. `compareRepeat` decides about the other rows.
 */
function deleteIdentical(
  db: Connection,
  lease: Lease,
  appended: string,
  seenRows: SeenRows,
  lineOf: (purchase: number) => number,
) {
  const overlaps = new Map<number, number>()
  const repeats: number[] = []
  const conflicts: RowOutcomes['conflicts'][number][] = []
  const identical: string[] = []
  let count = 0
  for (const group of db.all(FIND_IDENTICAL, appended, lease.store)) {
    const earlier = group.earlier as number
    const status = PURCHASE_STATUSES[group.status as number] as PurchaseStatus
    const purchases = JSON.parse(group.purchases as string) as number[]
    const stored = JSON.parse(group.stored as string) as number[]
    const isOwn = earlier === lease.import
    let first = 0
    for (const [i, purchase] of purchases.entries()) {
      const key = seenKey(stored[i] as number, status)
      const before = seenRows.find(key) ?? (isOwn ? 'stored' : undefined)
      if (before === undefined) {
        seenRows.add(key, 'stored')
        first++
      } else if (before === 'stored') repeats.push(purchase)
      else conflicts.push({ line: lineOf(purchase), field: 'purchased_at' })
    }
    if (first > 0) overlaps.set(earlier, (overlaps.get(earlier) ?? 0) + first)
    count += purchases.length
    identical.push(group.purchases as string)
  }
  const repeated = repeats.length > 0 ? findRepeats(db, repeats, lineOf) : []
  for (const each of identical) db.run(DELETE_PURCHASES, each)
  execute(db, addOverlaps(DIALECT, lease, overlaps))
  const skipped = count - repeats.length - conflicts.length
  return { count, skipped, repeated, conflicts }
}

function findRepeats(
  db: Connection,
  purchases: readonly number[],
  lineOf: (purchase: number) => number,
): RowOutcomes['repeated'] {
  return db.all(FIND_ROWS, JSON.stringify(purchases)).map((row) => ({
    line: lineOf(row.seq as number),
    status: PURCHASE_STATUSES[row.status as number] as PurchaseStatus,
    currency: (row.currency as string | null) ?? undefined,
    price: (row.price as number | null) ?? undefined,
  }))
}

const FIND_ROWS = `
  SELECT seq, status, currency, price FROM purchases
  WHERE seq IN (SELECT value FROM json_each(?)) ORDER BY seq`

/**
 * Finds the appended rows that are equal to stored purchases. Groups them by status and by the
 * import of the stored purchase. The two arrays have the same order.
 */
const FIND_IDENTICAL = `
  SELECT s.import AS earlier, m.status, json_group_array(m.seq) AS purchases,
    json_group_array(s.seq) AS stored FROM json_each(?) e
  JOIN purchases m ON m.seq = e.value
  JOIN transactions t ON t.store = ? AND t.transaction_id = m.transaction_id
  JOIN purchases s ON s.seq = t.purchase AND s.seq <> m.seq
  LEFT JOIN purchase_changes c ON c.purchase = s.seq
  WHERE m.item = s.item AND m.quantity = s.quantity AND m.purchased_at = s.purchased_at
    AND m.user_id IS s.user_id AND m.price IS s.price AND m.currency IS s.currency
    AND m.expires_at IS s.expires_at AND m.status = coalesce(c.status, s.status)
  GROUP BY s.import, m.status`
const DELETE_PURCHASES = 'DELETE FROM purchases WHERE seq IN (SELECT value FROM json_each(?))'

interface AppendedRow {
  readonly seq: number
  readonly transaction_id: string
  readonly item: number
  readonly purchased_at: number
}

const FIND_REPEATED = `
  SELECT m.seq, m.transaction_id, m.purchased_at, ${identityColumns('m')}, m.status
  FROM json_each(?) e
  CROSS JOIN purchases m ON m.seq = e.value
  CROSS JOIN transactions t ON t.store = ? AND t.transaction_id = m.transaction_id
  WHERE t.purchase <> m.seq ORDER BY m.seq`
