import { MAX_ORDER_PURCHASES } from '../../../domain/order.ts'
import { verifyAuthority } from '../../sql/authority.ts'
import { find, type Program, run } from '../../sql/program.ts'
import { IS_DELIVERABLE, UNLESS_DELIVERED } from '../../sql/purchases/deliveries.ts'
import { entryOf } from '../../sql/purchases/entries.ts'
import type { RecordDialect } from '../../sql/purchases/record.ts'
import { isBeingUndone } from '../../sql/purchases/undo.ts'
import { purchaseColumns } from '../../sql/tables.ts'
import type { Connection } from '../connection.ts'
import { DIALECT } from '../sql.ts'
import { seqOfStore } from '../stores.ts'
import { userKey } from '../user-key.ts'
import { changePurchase } from './changes.ts'
import { insertRows } from './rows.ts'
import { STATUS_CHANGES } from './status-changes.ts'
import { CURRENT } from './summaries.ts'

export function recordDialect(db: Connection): RecordDialect {
  return {
    *lockStore(store, authority) {
      yield* verifyAuthority(DIALECT, authority)
      return seqOfStore(db, store)
    },
    findTransaction: FIND_TRANSACTION,
    findOrder: FIND_ORDER,
    nextPurchase,
    *insertRow(store, added, seq, row, item) {
      insertRows(db, added, seq, [entryOf(row, item)])
      yield* run('INSERT INTO transactions VALUES (?, ?, ?)', store, row.transaction_id, seq)
      yield* run(AWAIT_DELIVERY, store, seq)
      if (row.user_id === undefined) return
      const user = userKey(store, row.user_id)
      yield* run('INSERT INTO purchase_users VALUES (?, ?) ON CONFLICT DO NOTHING', user, seq)
    },
    *changePurchase(store, updated, purchase, change, isUndelivered) {
      yield* changePurchase(store, updated, purchase, change)
      if (isUndelivered) yield* run(AWAIT_CHANGED, store, purchase)
    },
  }
}

const INSERT_WAITING = `
  INSERT INTO deliveries AS d (store, transaction_id, purchase)
  SELECT ?, transaction_id, seq FROM purchases WHERE seq = ?`
const AWAIT_DELIVERY = `${INSERT_WAITING} AND ${IS_DELIVERABLE} ${UNLESS_DELIVERED}`
const AWAIT_CHANGED = `${INSERT_WAITING} AND ${IS_DELIVERABLE} ON CONFLICT DO NOTHING`

const FOUND = `
  SELECT ${purchaseColumns(CURRENT)}, p.import, c.import AS changed_by,
    i.owner IS NOT NULL OR ci.owner IS NOT NULL OR ${isBeingUndone(STATUS_CHANGES)} AS is_busy`
const DETAILS = `
  JOIN imports i ON i.seq = p.import JOIN items t ON t.seq = p.item
  LEFT JOIN purchase_changes c ON c.purchase = p.seq LEFT JOIN imports ci ON ci.seq = c.import`

const FIND_TRANSACTION = `${FOUND}
  FROM transactions tr JOIN purchases p ON p.seq = tr.purchase ${DETAILS}
  WHERE tr.store = ? AND tr.transaction_id = ?`

const FIND_ORDER = `${FOUND},
  EXISTS (SELECT 1 FROM deliveries d WHERE d.store = s.seq AND d.purchase = p.seq) AS is_waiting
  FROM stores s ${STATUS_CHANGES.joinOrder} ${DETAILS}
  WHERE s.seq = ? ORDER BY p.transaction_id LIMIT ${MAX_ORDER_PURCHASES + 1}`

function* nextPurchase(store: number): Program<number | undefined> {
  const row = yield* find(FIND_NEXT, store, store)
  const { next, end } = row as { next: number; end: number }
  return next < end ? next : undefined
}

/**
 * Finds the `seq` after the last one in use, and the first one of a running import. Also reads the
 * ranges of imports: if the last rows of an import were deleted with their user, their `seq` must
 * not be used again. An undone import whose rows are being deleted adds none any more.
 */
const FIND_NEXT = `
  SELECT o.first AS "end", 1 + max(
    (SELECT coalesce(max(seq), 0) FROM purchases WHERE seq < o.first),
    (SELECT coalesce(max(last_purchase), 0) FROM imports WHERE store = ? AND last_purchase < o.first)
  ) AS next
  FROM (SELECT coalesce(min(first_purchase), ${Number.MAX_SAFE_INTEGER}) AS first FROM imports
    WHERE store = ? AND owner IS NOT NULL AND undone_at IS NULL) o`
