import { run } from '../../sql/program.ts'
import type { PurchaseDialect } from '../../sql/purchases/purchases.ts'
import { userKey } from '../user-key.ts'
import { DELETE_USER_ENTRY } from './user-index.ts'

export const eraseRows: PurchaseDialect['eraseRows'] = function* (store, user_id, rows, deletes) {
  const seqs = rows.map(({ seq }) => seq)
  const user = userKey(store, user_id)
  for (const seq of seqs) yield* run(DELETE_USER_ENTRY, user, seq as number)
  yield* run(`UPDATE purchases SET user_id = NULL, metadata = NULL WHERE seq IN ${LIST}`, seqs)
  if (!deletes) return
  const ids = rows.map(({ transaction_id }) => transaction_id)
  yield* run(KEEP_IDS, store, ids)
  yield* run(`DELETE FROM purchase_changes WHERE purchase IN ${LIST}`, seqs)
  yield* run(`DELETE FROM status_changes WHERE purchase IN ${LIST}`, seqs)
  yield* run(`DELETE FROM purchases WHERE seq IN ${LIST}`, seqs)
}

const LIST = '(SELECT value FROM json_each(?))'

/**
 * Keeps the transaction ids of deleted purchases in the index. An import of the same file finds them
 * there and skips the rows.
 */
const KEEP_IDS = `UPDATE transactions SET purchase = 0 WHERE store = ? AND transaction_id IN ${LIST}`
