import { type Comparison, PURCHASE_STATUSES } from '../../../domain/purchase.ts'
import { TillError } from '../../../errors.ts'
import { run } from '../../sql/program.ts'
import type { Lease } from '../../sql/purchases/imports.ts'
import { addOverlaps, compareRows, type RepeatDialect } from '../../sql/purchases/repeats.ts'
import { NO_ROWS } from '../../sql/purchases/row-outcomes.ts'
import type { RowOutcomes } from '../../sql/records.ts'
import { PURCHASE_IDENTITIES } from '../../sql/tables.ts'
import type { Connection } from '../connection.ts'
import { DIALECT, execute } from '../sql.ts'

const IDENTITY = ['item', ...PURCHASE_IDENTITIES.names.filter((name) => name !== 'status')]
const identityColumns = (table: string) => IDENTITY.map((name) => `${table}.${name}`).join(', ')

export const REPEATS: RepeatDialect = {
  findKnown: `
    SELECT t.transaction_id, t.purchase AS seq, s.import, ${identityColumns('s')},
      coalesce(c.status, s.status) AS status, e.is_deleted IS NOT NULL AS is_erased
    FROM json_each(?) sent
    CROSS JOIN transactions t ON t.store = ? AND t.transaction_id = sent.value
    LEFT JOIN purchases s ON s.seq = t.purchase
    LEFT JOIN purchase_changes c ON c.purchase = s.seq
    LEFT JOIN erased_purchases e ON e.store = t.store AND e.transaction_id = t.transaction_id`,
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

/**
 * Compares appended rows with the stored purchases that have the same transaction ids, and deletes
 * these rows. `added` is the number of rows whose ids are new. `lineOf` returns the line of a row.
 */
export function compareAppended(
  db: Connection,
  lease: Lease,
  comparison: Comparison,
  purchases: readonly number[],
  added: number,
  lineOf: (purchase: number) => number,
): RowOutcomes {
  const appended = JSON.stringify(purchases)
  const identical = deleteIdentical(db, lease, appended)
  if (added + identical === purchases.length) return { ...NO_ROWS, added, skipped: identical }
  const rows = db.all(FIND_REPEATED, appended, lease.store).map((row) => {
    const { seq, transaction_id, item: sku } = row as unknown as AppendedRow
    return PURCHASE_IDENTITIES.readInto({ seq, transaction_id, sku, line: lineOf(seq) }, row)
  })
  const { result } = execute(db, compareRows(DIALECT, REPEATS, lease, rows, comparison))
  db.run(DELETE_PURCHASES, JSON.stringify(rows.map(({ seq }) => seq)))
  return { ...result, added, skipped: identical + result.skipped }
}

/**
 * Deletes the appended rows that are equal to stored purchases. Uses few statements: if a file is
 * imported again, all its rows are equal. `compareRepeat` decides about the other rows.
 */
function deleteIdentical(db: Connection, lease: Lease, appended: string): number {
  const overlaps = new Map<number, number>()
  for (const { earlier, purchases } of db.all(FIND_IDENTICAL, appended, lease.store)) {
    overlaps.set(earlier as number, db.run(DELETE_PURCHASES, purchases as string))
  }
  execute(db, addOverlaps(DIALECT, lease, overlaps))
  return [...overlaps.values()].reduce((sum, rows) => sum + rows, 0)
}

/**
 * Finds the appended rows that are equal to stored purchases. Groups them by the import of the
 * stored purchase.
 */
const FIND_IDENTICAL = `
  SELECT s.import AS earlier, json_group_array(m.seq) AS purchases FROM json_each(?) e
  JOIN purchases m ON m.seq = e.value
  JOIN transactions t ON t.store = ? AND t.transaction_id = m.transaction_id
  JOIN purchases s ON s.seq = t.purchase AND s.seq <> m.seq
  LEFT JOIN purchase_changes c ON c.purchase = s.seq
  WHERE m.item = s.item AND m.quantity = s.quantity AND m.user_id IS s.user_id
    AND m.price IS s.price AND m.currency IS s.currency AND m.expires_at IS s.expires_at
    AND m.status = coalesce(c.status, s.status)
  GROUP BY s.import`
const DELETE_PURCHASES = 'DELETE FROM purchases WHERE seq IN (SELECT value FROM json_each(?))'

interface AppendedRow {
  readonly seq: number
  readonly transaction_id: string
  readonly item: number
}

const FIND_REPEATED = `
  SELECT m.seq, m.transaction_id, ${identityColumns('m')}, m.status FROM json_each(?) e
  CROSS JOIN purchases m ON m.seq = e.value
  CROSS JOIN transactions t ON t.store = ? AND t.transaction_id = m.transaction_id
  WHERE t.purchase <> m.seq ORDER BY m.seq`
