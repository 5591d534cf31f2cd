import { run } from '../../sql/program.ts'
import type { PurchaseDialect } from '../../sql/purchases/purchases.ts'
import type { Connection } from '../connection.ts'

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

/** Whether a user of the store was erased. */
export async function hasErased(on: Connection, store: number): Promise<boolean> {
  return (
    (await on.find('SELECT 1 FROM erased_purchases WHERE store = ? LIMIT 1', store)) !== undefined
  )
}
