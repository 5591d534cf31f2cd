import { MAX_ORDER_PURCHASES } from '../../../domain/order.ts'
import { PURCHASE_STATUSES } from '../../../domain/purchase.ts'
import { lockAuthority, lockOf, verifyAuthority } from '../../sql/authority.ts'
import { numberOf } from '../../sql/columns.ts'
import { find, run, type Value } from '../../sql/program.ts'
import { IS_DELIVERABLE, UNLESS_DELIVERED } from '../../sql/purchases/deliveries.ts'
import { settingAll, valuesOf } from '../../sql/purchases/fills.ts'
import type { RecordDialect } from '../../sql/purchases/record.ts'
import { isBeingUndone } from '../../sql/purchases/undo.ts'
import { purchaseColumns } from '../../sql/tables.ts'
import { DIALECT } from '../sql.ts'
import { COLUMNS } from './row-writer.ts'
import { STATUS_CHANGES } from './status-changes.ts'
import { CURRENT } from './summaries.ts'

export const recordDialect = (): RecordDialect => ({
  /**
   * Locks the running import, then the store. The commit of an import uses the same order, which
   * prevents a deadlock. Until this transaction ends, the running import cannot write a block,
   * because a block needs the lock of the import. No other import can start, because its row
   * needs the lock of the store.
   */
  *lockStore(store, authority) {
    const { account_id, store_id } = store
    const other = yield* find(LOCK_IMPORT, account_id, store_id)
    yield* lockAuthority(DIALECT, authority, lockOf.store(store))
    const locked = yield* find(LOCK_STORE, account_id, store_id)
    if (!locked) throw new Error('the store must be inserted before its items and purchases')
    yield* verifyAuthority(DIALECT, authority)
    const seq = locked.seq as number
    return (yield* find(FIND_NEW_IMPORT, seq, (other?.seq as number) ?? 0)) ? undefined : seq
  },
  findTransaction: FIND_TRANSACTION,
  findOrder: FIND_ORDER,
  *nextPurchase(store) {
    const next = yield* find(NEXT_PURCHASE, store)
    return next && numberOf(next.last_purchase)
  },
  *insertRow(store, added, seq, row, item) {
    const isEmpty = Object.keys(row.metadata).length === 0
    const values: { readonly [column: string]: Value | undefined } = {
      ...row,
      store,
      seq,
      item,
      import: added,
      status: PURCHASE_STATUSES.indexOf(row.status),
      metadata: isEmpty ? null : row.metadata,
    }
    yield* run(INSERT, ...NAMES.map((name) => values[name] ?? null))
  },
  *changePurchase(store, updated, purchase, change, isUndelivered) {
    const [status, filled, ...values] = valuesOf(change)
    yield* run(RECORD_CHANGE, updated, status, filled, store, purchase)
    yield* run(CHANGE, status, ...values, store, purchase, isUndelivered)
  },
})

const LOCK_IMPORT = `
  SELECT i.seq FROM stores s JOIN imports i ON i.store = s.seq AND i.owner IS NOT NULL
  WHERE s.account_id = ? AND s.store_id = ? FOR UPDATE OF i`
const LOCK_STORE = 'SELECT seq FROM stores WHERE account_id = ? AND store_id = ? FOR UPDATE'
const FIND_NEW_IMPORT = 'SELECT 1 FROM imports WHERE store = ? AND owner IS NOT NULL AND seq <> ?'

const FOUND = `
  SELECT ${purchaseColumns(CURRENT)}, p.import, i.owner IS NOT NULL OR EXISTS (
    SELECT 1 FROM purchase_changes c WHERE c.store = p.store AND c.purchase = p.seq)
    OR ${isBeingUndone(STATUS_CHANGES)} AS is_busy`
const DETAILS = 'JOIN imports i ON i.seq = p.import JOIN items t ON t.seq = p.item'

const FIND_TRANSACTION = `${FOUND}
  FROM purchases p ${DETAILS} WHERE p.store = ? AND p.transaction_id = ?`

const FIND_ORDER = `${FOUND},
  EXISTS (SELECT 1 FROM deliveries d WHERE d.store = s.seq AND d.purchase = p.seq) AS is_waiting
  FROM stores s ${STATUS_CHANGES.joinOrder} ${DETAILS}
  WHERE s.seq = ? ORDER BY p.transaction_id LIMIT ${MAX_ORDER_PURCHASES + 1}`

const RECORD_CHANGE = `
  INSERT INTO status_changes (store, import, purchase, before, after, filled)
  SELECT store, ?, seq, status, ?::smallint, ?::smallint FROM purchases WHERE store = ? AND seq = ?`

// Stops at the first number of a running import, even if that has no row yet. An import that an
// earlier version began has reserved no number: it only has rows.
const NEXT_PURCHASE = `
  UPDATE stores s SET last_purchase = last_purchase + 1 WHERE seq = ?
    AND NOT EXISTS (SELECT 1 FROM imports i
      WHERE i.store = s.seq AND i.owner IS NOT NULL AND i.first_purchase = s.last_purchase + 1)
    AND NOT EXISTS (SELECT 1 FROM purchases p
      WHERE p.store = s.seq AND p.seq = s.last_purchase + 1)
  RETURNING last_purchase`

const NAMES = COLUMNS.split(', ')
// One statement, because each is a round trip.
const INSERT = `
  WITH added AS (
    INSERT INTO purchases (${COLUMNS}) VALUES (${NAMES.map(() => '?').join()}) RETURNING *)
  INSERT INTO deliveries AS d (store, transaction_id, purchase)
  SELECT store, transaction_id, seq FROM added WHERE ${IS_DELIVERABLE} ${UNLESS_DELIVERED}`
const CHANGE = `
  WITH changed AS (
    UPDATE purchases SET status = ?, ${settingAll((column) => `coalesce(${column}, ?)`)}
    WHERE store = ? AND seq = ? RETURNING *)
  INSERT INTO deliveries (store, transaction_id, purchase)
  SELECT store, transaction_id, seq FROM changed WHERE ${IS_DELIVERABLE} AND CAST(? AS boolean)
  ON CONFLICT DO NOTHING`
