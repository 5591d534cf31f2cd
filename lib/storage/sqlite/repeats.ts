import {
  type Comparison,
  compareRepeat,
  countUnequal,
  isLater,
  PURCHASE_STATUSES,
  type PurchaseField,
  type PurchaseIdentity,
  type PurchaseStatus,
  type StoredIdentity,
  type UnequalField,
} from '../../domain/purchase.ts'
import type { AdvancedRows, StagedRows, StatusRow } from '../records.ts'
import { NOTHING_STAGED } from '../staged.ts'
import type { Connection, Row } from './connection.ts'

/** An appended row. It is not known yet whether its transaction id is already stored. */
export interface Entry {
  readonly line: number
  readonly purchase: number
}

/**
 * Compares entries with the stored purchases that have the same transaction ids. `added` is the
 * number of entries whose ids are new.
 */
export function compareEntries(
  db: Connection,
  store: number,
  seq: number,
  entries: readonly Entry[],
  added: number,
  comparison: Comparison,
): StagedRows {
  if (added === entries.length) return { ...NOTHING_STAGED, added }
  const identical = deleteIdentical(db, store, seq, entries)
  const counts = { skipped: identical, updated: 0 }
  const conflicts: { line: number; field: PurchaseField }[] = []
  const unequal: UnequalField[] = []
  if (added + identical === entries.length) return { ...NOTHING_STAGED, ...counts, added }
  for (const repeat of findRepeats(db, store, entries)) {
    const { stored, sent } = repeat
    const result = stored ? compareRepeat(stored, sent, comparison) : SKIPPED
    if (result.outcome === 'conflict') {
      conflicts.push({ line: repeat.line, field: result.field })
    } else {
      counts[result.outcome]++
      unequal.push(...result.unequal)
    }
    if (result.outcome === 'updated') stageChange(db, seq, repeat, sent.status)
    if (result.outcome === 'skipped' && repeat.stored) {
      addOverlap(db, seq, repeat.storedImport, 1)
    }
    db.run('DELETE FROM purchases WHERE seq = ?', repeat.sentSeq)
  }
  return { ...counts, added, conflicts, unknown: [], unequal: countUnequal(unequal) }
}

/** Stages the later statuses of rows for the commit. Compares only the transaction ids. */
export function stageStatuses(
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
      const purchase = { storedSeq: found.seq as number, storedImport: found.import as number }
      stageChange(db, seq, purchase, status)
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
  entries: readonly Entry[],
): number {
  const sent = JSON.stringify(entries.map(({ purchase }) => purchase))
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

interface Repeat {
  readonly line: number
  /** The stored purchase. Missing if it was deleted with its user. */
  readonly stored: StoredIdentity | undefined
  readonly storedSeq: number
  readonly storedImport: number
  readonly sent: PurchaseIdentity
  readonly sentSeq: number
}

const SKIPPED = { outcome: 'skipped', unequal: [] } as const

/** Finds the entries whose transaction ids are stored, together with the stored purchases. */
function* findRepeats(db: Connection, store: number, entries: readonly Entry[]): Generator<Repeat> {
  for (const { line, purchase } of entries) {
    // Queries one entry at a time: if two entries have the same transaction id, the first may
    // change the stored purchase with which the second is compared.
    const row = db.find(
      `SELECT t.purchase, s.import, coalesce(c.status, s.status) AS status, ${identity('s', 'stored')},
         m.status AS sent_status, ${identity('m', 'sent')}, e.is_deleted AS erased
       FROM purchases m
       CROSS JOIN transactions t ON t.store = ? AND t.transaction_id = m.transaction_id
       LEFT JOIN purchases s ON s.seq = t.purchase
       LEFT JOIN purchase_changes c ON c.purchase = s.seq
       LEFT JOIN erased_purchases e ON e.store = t.store AND e.transaction_id = t.transaction_id
       WHERE m.seq = ? AND t.purchase <> m.seq`,
      store,
      purchase,
    )
    if (!row) continue
    const stored = identityOf(row, 'stored', row.status as number)
    yield {
      line,
      stored: row.import === null ? undefined : { ...stored, is_erased: row.erased !== null },
      storedSeq: row.purchase as number,
      storedImport: row.import as number,
      sent: identityOf(row, 'sent', row.sent_status as number),
      sentSeq: purchase,
    }
  }
}

function identity(table: string, prefix: string): string {
  const columns = ['item', 'user_id', 'price', 'currency', 'quantity', 'expires_at']
  return columns.map((column) => `${table}.${column} AS ${prefix}_${column}`).join(', ')
}

// Uses the item's `seq` in place of its SKU, because it also identifies the item in its store.
function identityOf(row: Row, prefix: string, status: number): PurchaseIdentity {
  const value = (column: string) => row[`${prefix}_${column}`] ?? undefined
  return {
    sku: String(value('item')),
    user_id: value('user_id') as string | undefined,
    price: value('price') as number | undefined,
    currency: value('currency') as string | undefined,
    quantity: value('quantity') as number,
    expires_at: value('expires_at') as number | undefined,
    status: PURCHASE_STATUSES[status] as PurchaseStatus,
  } satisfies Record<keyof PurchaseIdentity, unknown>
}

// Stages a new status for the commit. Changes a row of this import directly: no read returns it.
function stageChange(
  db: Connection,
  seq: number,
  { storedSeq, storedImport }: Pick<Repeat, 'storedSeq' | 'storedImport'>,
  status: PurchaseStatus,
): void {
  const code = statusCode(status)
  if (storedImport === seq) {
    db.run('UPDATE purchases SET status = ? WHERE seq = ?', code, storedSeq)
  } else {
    db.run(
      `INSERT INTO purchase_changes (purchase, import, status) VALUES (?, ?, ?)
       ON CONFLICT (purchase) DO UPDATE SET status = excluded.status`,
      storedSeq,
      seq,
      code,
    )
  }
}

export function statusCode(status: PurchaseStatus): number {
  return PURCHASE_STATUSES.indexOf(status)
}
