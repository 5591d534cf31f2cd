import type { Erasure } from '../port.ts'
import type { Connection } from './connection.ts'
import { deleteUserEntry } from './users.ts'

/** Erases purchases of a user in a store. Returns their number. */
export function erasePurchases(
  db: Connection,
  store: number,
  { user_id, transaction_ids, deletes }: Erasure,
): number {
  const rows = db.all(FIND_PURCHASES, JSON.stringify(transaction_ids), store, user_id)
  const ids = JSON.stringify(rows.map(({ transaction_id }) => transaction_id))
  const seqs = JSON.stringify(rows.map(({ seq }) => seq))
  db.run(MARK, store, Number(deletes), ids)
  for (const { seq } of rows) deleteUserEntry(db, store, user_id, seq as number)
  db.run(`UPDATE purchases SET user_id = NULL, metadata = NULL WHERE seq IN ${LIST}`, seqs)
  if (deletes) {
    db.run(KEEP_ID, store, ids)
    db.run(`DELETE FROM purchase_changes WHERE purchase IN ${LIST}`, seqs)
    db.run(`DELETE FROM status_changes WHERE purchase IN ${LIST}`, seqs)
    db.run(`DELETE FROM purchases WHERE seq IN ${LIST}`, seqs)
  }
  return rows.length
}

const LIST = '(SELECT value FROM json_each(?))'

const FIND_PURCHASES = `
  SELECT p.seq, p.transaction_id FROM json_each(?) e
  CROSS JOIN transactions t ON t.store = ? AND t.transaction_id = e.value
  CROSS JOIN purchases p ON p.seq = t.purchase AND p.user_id = ?`

const MARK = `
  INSERT INTO erased_purchases (store, is_deleted, transaction_id)
  SELECT ?, ?, value FROM json_each(?) WHERE true
  ON CONFLICT (store, transaction_id) DO UPDATE SET is_deleted = excluded.is_deleted`

/**
 * Keeps the transaction id of a deleted purchase in the index. An import of the same file finds it
 * there and skips the row.
 */
const KEEP_ID = `
  INSERT INTO transactions (store, transaction_id, purchase)
  SELECT ?, value, 0 FROM json_each(?) WHERE true
  ON CONFLICT (store, transaction_id) DO UPDATE SET purchase = 0`
