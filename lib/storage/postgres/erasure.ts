import type { Erasure } from '../port.ts'
import type { Connection, Transaction } from './connection.ts'

/** Erases purchases of a user in a store. Resolves to their number. */
export async function erasePurchases(
  tx: Transaction,
  store: number,
  { user_id, transaction_ids, deletes }: Erasure,
): Promise<number> {
  const rows = await tx.all(FIND_PURCHASES, [...transaction_ids], store, user_id)
  if (rows.length === 0) return 0
  const marks = rows.map(({ transaction_id }) => ({ transaction_id, is_deleted: deletes }))
  await tx.run(MARK, store, marks)
  const seqs = rows.map(({ seq }) => seq)
  await tx.run(deletes ? DELETE_PURCHASES : REMOVE_USER, store, seqs)
  if (deletes) await tx.run(DELETE_CHANGES, store, seqs)
  return rows.length
}

/** The LATERAL join keeps the planner from scanning all purchases. */
const FIND_PURCHASES = `
  SELECT p.seq, p.transaction_id FROM json_array_elements_text(?) AS sent (id)
  CROSS JOIN LATERAL (
    SELECT seq, transaction_id, user_id FROM purchases
    WHERE store = ? AND transaction_id = sent.id LIMIT 1) p
  WHERE p.user_id = ?`

const MARK = `
  INSERT INTO erased_purchases (store, transaction_id, is_deleted)
  SELECT ?, transaction_id, is_deleted
  FROM json_to_recordset(?) AS sent (transaction_id text, is_deleted boolean)
  ON CONFLICT (store, transaction_id) DO UPDATE SET is_deleted = excluded.is_deleted`

const LIST = '(SELECT value::bigint FROM json_array_elements_text(?) AS value)'
const DELETE_PURCHASES = `DELETE FROM purchases WHERE store = ? AND seq IN ${LIST}`
const REMOVE_USER = `
  UPDATE purchases SET user_id = NULL, metadata = NULL WHERE store = ? AND seq IN ${LIST}`
const DELETE_CHANGES = `DELETE FROM status_changes WHERE store = ? AND purchase IN ${LIST}`

export async function hasErased(on: Connection, store: number): Promise<boolean> {
  return (
    (await on.find('SELECT 1 FROM erased_purchases WHERE store = ? LIMIT 1', store)) !== undefined
  )
}

/** Finds which of the given transaction ids belong to deleted purchases. */
export async function findDeleted(
  on: Connection,
  store: number,
  transaction_ids: readonly string[],
): Promise<ReadonlySet<string>> {
  const rows = await on.all(FIND_DELETED, [...transaction_ids], store)
  return new Set(rows.map(({ transaction_id }) => transaction_id as string))
}

const FIND_DELETED = `
  SELECT e.transaction_id FROM json_array_elements_text(?) AS sent (id)
  CROSS JOIN LATERAL (
    SELECT transaction_id FROM erased_purchases
    WHERE store = ? AND transaction_id = sent.id AND is_deleted LIMIT 1) e`
