import { run } from '../sql/program.ts'
import type { PurchaseDialect } from '../sql/purchases.ts'
import type { Connection } from './connection.ts'

export const eraseRows: PurchaseDialect['eraseRows'] = function* (store, _user, rows, deletes) {
  const seqs = rows.map(({ seq }) => seq)
  yield* run(deletes ? DELETE_PURCHASES : REMOVE_USER, store, seqs)
  if (deletes) yield* run(DELETE_CHANGES, store, seqs)
}

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
