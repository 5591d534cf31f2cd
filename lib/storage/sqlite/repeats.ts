import {
  type Comparison,
  compareRepeat,
  countUnequal,
  isLater,
  PURCHASE_STATUSES,
  type PurchaseField,
  type PurchaseStatus,
  type StoredIdentity,
  type UnequalField,
} from '../../domain/purchase.ts'
import type { AdvancedRows, RowOutcomes, StatusRow } from '../records.ts'
import { NO_ROWS } from '../row-outcomes.ts'
import { PURCHASE_IDENTITIES } from '../tables.ts'
import type { Connection, Row } from './connection.ts'

export interface RunningImport {
  readonly store: number
  /** The `seq` of the import. */
  readonly seq: number
  readonly comparison: Comparison
  /** The line of an appended row. */
  lineOf(purchase: number): number
}

/**
 * Compares appended rows with the stored purchases that have the same transaction ids. `added` is
 * the number of rows whose ids are new.
 */
export function compareRows(
  db: Connection,
  { store, seq, comparison, lineOf }: RunningImport,
  purchases: readonly number[],
  added: number,
): RowOutcomes {
  const identical = deleteIdentical(db, store, seq, purchases)
  const counts = { skipped: identical, updated: 0 }
  const conflicts: { line: number; field: PurchaseField }[] = []
  const unequal: UnequalField[] = []
  if (added + identical === purchases.length) return { ...NO_ROWS, ...counts, added }
  // Queries one row at a time: if two rows have the same transaction id, the first may change the
  // stored purchase with which the second is compared.
  for (const purchase of purchases) {
    const stored = db.find(FIND_STORED, store, purchase)
    if (!stored) continue
    const sent = identityOf(db.find(FIND_SENT, purchase) as Row)
    const isDeleted = stored.import === null // with its user
    const result = isDeleted ? SKIPPED : compareRepeat(identityOf(stored), sent, comparison)
    if (result.outcome === 'conflict') {
      conflicts.push({ line: lineOf(purchase), field: result.field })
    } else {
      counts[result.outcome]++
      unequal.push(...result.unequal)
    }
    if (result.outcome === 'updated') addChange(db, seq, stored, sent.status)
    if (result.outcome === 'skipped' && !isDeleted) {
      addOverlap(db, seq, stored.import as number, 1)
    }
    db.run('DELETE FROM purchases WHERE seq = ?', purchase)
  }
  return { ...counts, added, conflicts, unknown: [], unequal: countUnequal(unequal) }
}

/** Adds the later statuses of rows for the commit. Compares only the transaction ids. */
export function advanceStatuses(
  db: Connection,
  store: number,
  seq: number,
  rows: readonly StatusRow[],
): AdvancedRows {
  const counts = { updated: 0, unknown: 0, notLater: 0 }
  for (const { transaction_id, status } of rows) {
    const found = db.find(FIND_STATUS, store, transaction_id)
    if (!found) counts.unknown++
    else if (!isLater(PURCHASE_STATUSES[found.status as number] as PurchaseStatus, status))
      counts.notLater++
    else {
      counts.updated++
      addChange(db, seq, found, status)
    }
  }
  return counts
}

const FIND_STATUS = `
  SELECT s.seq, s.import, coalesce(c.status, s.status) AS status FROM transactions t
  JOIN purchases s ON s.seq = t.purchase LEFT JOIN purchase_changes c ON c.purchase = s.seq
  WHERE t.store = ? AND t.transaction_id = ?`

/**
 * Deletes the appended rows that are equal to stored purchases. Uses few statements: if a file is
 * imported again, all its rows are equal. `compareRepeat` decides about the other rows.
 */
function deleteIdentical(
  db: Connection,
  store: number,
  seq: number,
  purchases: readonly number[],
): number {
  const sent = JSON.stringify(purchases)
  let deleted = 0
  for (const { earlier, purchases } of db.all(FIND_IDENTICAL, sent, store)) {
    const rows = db.run(DELETE_PURCHASES, purchases as string)
    addOverlap(db, seq, earlier as number, rows)
    deleted += rows
  }
  return deleted
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

/** Counts rows that this import skips because import `earlier` had added them. */
function addOverlap(db: Connection, seq: number, earlier: number, rows: number): void {
  if (earlier !== seq) db.run(ADD_OVERLAP, seq, earlier, rows)
}

const ADD_OVERLAP = `
  INSERT INTO import_overlaps (import, earlier, rows) VALUES (?, ?, ?)
  ON CONFLICT (import, earlier) DO UPDATE SET rows = rows + excluded.rows`

const SKIPPED = { outcome: 'skipped', unequal: [] } as const

const IDENTITY = ['item', ...PURCHASE_IDENTITIES.names.filter((name) => name !== 'status')]
const identityColumns = (table: string) => IDENTITY.map((name) => `${table}.${name}`).join(', ')

/** Finds the stored purchase, also a deleted one, with the transaction id of an appended row. */
const FIND_STORED = `
  SELECT t.purchase AS seq, s.import, ${identityColumns('s')},
    coalesce(c.status, s.status) AS status, e.is_deleted IS NOT NULL AS is_erased
  FROM purchases m
  CROSS JOIN transactions t ON t.store = ? AND t.transaction_id = m.transaction_id
  LEFT JOIN purchases s ON s.seq = t.purchase
  LEFT JOIN purchase_changes c ON c.purchase = s.seq
  LEFT JOIN erased_purchases e ON e.store = t.store AND e.transaction_id = t.transaction_id
  WHERE m.seq = ? AND t.purchase <> m.seq`
const FIND_SENT = `
  SELECT ${identityColumns('m')}, m.status, 0 AS is_erased FROM purchases m WHERE m.seq = ?`

// Uses the item's `seq` in place of its SKU, because it also identifies the item in its store.
function identityOf(row: Row): StoredIdentity {
  const known = { sku: String(row.item), is_erased: Boolean(row.is_erased) }
  return PURCHASE_IDENTITIES.readInto(known, row)
}

// Adds a new status for the commit. Changes a row of this import directly: no read returns it.
function addChange(db: Connection, seq: number, stored: Row, status: PurchaseStatus): void {
  const [code, purchase] = [PURCHASE_STATUSES.indexOf(status), stored.seq as number]
  if (stored.import === seq) {
    db.run('UPDATE purchases SET status = ? WHERE seq = ?', code, purchase)
  } else db.run(ADD_CHANGE, purchase, seq, code)
}

const ADD_CHANGE = `
  INSERT INTO purchase_changes (purchase, import, status) VALUES (?, ?, ?)
  ON CONFLICT (purchase) DO UPDATE SET status = excluded.status`
