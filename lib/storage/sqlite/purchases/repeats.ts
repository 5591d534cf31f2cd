import { MAX_ORDER_PURCHASES } from '../../../domain/order.ts'
import { PURCHASE_STATUSES, type PurchaseStatus } from '../../../domain/purchase.ts'
import type { RepeatRules } from '../../../domain/repeat.ts'
import { TillError } from '../../../errors.ts'
import type { Lease } from '../../sql/purchases/imports.ts'
import type { RowOutcomes } from '../../sql/purchases/records.ts'
import { addOverlaps, compareRows, type RepeatDialect } from '../../sql/purchases/repeats.ts'
import { NO_ROWS, sumOutcomes } from '../../sql/purchases/row-outcomes.ts'
import { type SeenRows, seenKey } from '../../sql/purchases/seen-rows.ts'
import { PURCHASE_IDENTITIES } from '../../sql/tables.ts'
import type { Connection } from '../connection.ts'
import { DIALECT, execute } from '../sql.ts'
import { addChange, applyChange } from './changes.ts'
import { CURRENT } from './summaries.ts'

const CURRENT_IDENTITY = Object.entries(CURRENT).map(([name, sql]) => `${sql} AS ${name}`)

export const REPEATS: RepeatDialect = {
  findKnown: `
    SELECT t.transaction_id, t.purchase AS seq, p.import, p.purchased_at, p.item, p.quantity,
      ${CURRENT_IDENTITY.join(', ')}, c.filled, e.is_deleted IS NOT NULL AS is_erased
    FROM json_each(?) sent
    CROSS JOIN transactions t ON t.store = ? AND t.transaction_id = sent.value
    LEFT JOIN purchases p ON p.seq = t.purchase
    LEFT JOIN purchase_changes c ON c.purchase = p.seq
    LEFT JOIN erased_purchases e ON e.store = t.store AND e.transaction_id = t.transaction_id`,
  findOrders: `
    SELECT id, purchases FROM (
      SELECT sent.value AS id, (SELECT json_group_array(transaction_id) FROM (
        SELECT transaction_id FROM transactions
        WHERE store = ? AND transaction_id > sent.value || '/' AND transaction_id < sent.value || '0'
        LIMIT ${MAX_ORDER_PURCHASES + 1})) AS purchases
      FROM json_each(?) sent)
    WHERE purchases <> '[]'`,
  *addChanges({ import: seq, store }, changes) {
    for (const change of changes) {
      if (!(yield* addChange(store, seq, change.seq, change))) throw changedByAnother()
      // Applies the change of a row of this import now: no read returns it.
      if (change.import === seq) yield* applyChange(change.seq)
    }
  },
}

/** Does not happen while each import has the lease of its store. */
function changedByAnother() {
  return new TillError('storage_unavailable', 'Another import changes this purchase; repeat it')
}

interface Comparing {
  readonly rules: RepeatRules
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
  { rules, seenRows, lineOf }: Comparing,
): RowOutcomes {
  const appended = JSON.stringify(purchases)
  const { count, ...outcomes } = deleteIdentical(db, lease, purchases, added, seenRows, lineOf)
  const identical = { ...NO_ROWS, ...outcomes, added }
  if (added + count === purchases.length) return identical
  const rows = db.all(FIND_REPEATED, appended, lease.store).map((row) => {
    const { seq, transaction_id, item: sku, purchased_at } = row as unknown as AppendedRow
    const line = lineOf(seq)
    return PURCHASE_IDENTITIES.readInto({ seq, transaction_id, sku, line, purchased_at }, row)
  })
  const comparing = { rules, first: 0, seenRows } // all rows are stored, none is added
  const compared = compareRows(DIALECT, REPEATS, lease, rows, comparing)
  const { result, seen } = execute(db, compared)
  seenRows.addAll(seen)
  db.run(DELETE_PURCHASES, JSON.stringify(rows.map(({ seq }) => seq)))
  return sumOutcomes([identical, result])
}

/**
 * Deletes the appended rows that are equal to stored purchases. Uses few statements: if a file is
 * imported again, all its rows are equal. `compareRepeat` decides about the other rows, and about
 * equal rows whose purchase has another row here: it compares them in the order of the file.
 */
function deleteIdentical(
  db: Connection,
  lease: Lease,
  appended: readonly number[],
  added: number,
  seenRows: SeenRows,
  lineOf: (purchase: number) => number,
) {
  const overlaps = new Map<number, number>()
  const repeats: number[] = []
  const conflicts: RowOutcomes['conflicts'][number][] = []
  const deleted: number[] = []
  const groups = db.all(FIND_IDENTICAL, JSON.stringify(appended), lease.store).map((group) => ({
    earlier: group.earlier as number,
    status: PURCHASE_STATUSES[group.status as number] as PurchaseStatus,
    purchases: JSON.parse(group.purchases as string) as number[],
    stored: JSON.parse(group.stored as string) as number[],
  }))
  const equal = new Set(groups.flatMap(({ purchases }) => purchases))
  const isMixed = equal.size > 0 && added + equal.size < appended.length
  const others = isMixed ? appended.filter((purchase) => !equal.has(purchase)) : []
  const unequal = new Set(findStored(db, lease, others))
  for (const { earlier, status, purchases, stored } of groups) {
    const isOwn = earlier === lease.import
    let first = 0
    for (const [i, purchase] of purchases.entries()) {
      const found = stored[i] as number
      if (unequal.has(found)) continue
      deleted.push(purchase)
      const key = seenKey(found, status)
      const before = seenRows.find(key) ?? (isOwn ? 'stored' : undefined)
      if (before === undefined) {
        seenRows.add(key, 'stored')
        first++
      } else if (before === 'stored') repeats.push(purchase)
      else conflicts.push({ line: lineOf(purchase), field: 'purchased_at' })
    }
    if (first > 0) overlaps.set(earlier, (overlaps.get(earlier) ?? 0) + first)
  }
  const repeated = repeats.length > 0 ? findRepeats(db, repeats, lineOf) : []
  db.run(DELETE_PURCHASES, JSON.stringify(deleted))
  execute(db, addOverlaps(DIALECT, lease, overlaps))
  const count = deleted.length
  const skipped = count - repeats.length - conflicts.length
  return { count, skipped, repeated, conflicts }
}

/** Returns the stored purchases that have the transaction ids of appended rows. */
function findStored(db: Connection, lease: Lease, appended: readonly number[]): number[] {
  if (appended.length === 0) return []
  const found = db.all(FIND_STORED, JSON.stringify(appended), lease.store)
  return found.map(({ purchase }) => purchase as number)
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
  SELECT p.import AS earlier, m.status, json_group_array(m.seq) AS purchases,
    json_group_array(p.seq) AS stored FROM json_each(?) e
  JOIN purchases m ON m.seq = e.value
  JOIN transactions t ON t.store = ? AND t.transaction_id = m.transaction_id
  JOIN purchases p ON p.seq = t.purchase AND p.seq <> m.seq
  LEFT JOIN purchase_changes c ON c.purchase = p.seq
  WHERE m.item = p.item AND m.quantity = p.quantity AND m.purchased_at = p.purchased_at
    AND ${Object.entries(CURRENT)
      .map(([name, sql]) => `m.${name} IS ${sql}`)
      .join(' AND ')}
  GROUP BY p.import, m.status`

const FIND_STORED = `
  SELECT t.purchase FROM json_each(?) e
  CROSS JOIN purchases m ON m.seq = e.value
  CROSS JOIN transactions t ON t.store = ? AND t.transaction_id = m.transaction_id
  WHERE t.purchase <> m.seq`
const DELETE_PURCHASES = 'DELETE FROM purchases WHERE seq IN (SELECT value FROM json_each(?))'

interface AppendedRow {
  readonly seq: number
  readonly transaction_id: string
  readonly item: number
  readonly purchased_at: number
}

const FIND_REPEATED = `
  SELECT m.seq, m.transaction_id, m.purchased_at, m.item,
    ${PURCHASE_IDENTITIES.names.map((name) => `m.${name}`).join(', ')}
  FROM json_each(?) e
  CROSS JOIN purchases m ON m.seq = e.value
  CROSS JOIN transactions t ON t.store = ? AND t.transaction_id = m.transaction_id
  WHERE t.purchase <> m.seq ORDER BY m.seq`
