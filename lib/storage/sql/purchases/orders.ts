import { type Delivered, isOneOrder } from '../../../domain/order.ts'
import type { Purchase, PurchaseStatus } from '../../../domain/purchase.ts'
import { isLater, NO_FILLS } from '../../../domain/repeat.ts'
import { numberOf, type Row } from '../columns.ts'
import type { Sql } from '../dialect.ts'
import { all, type Program, run } from '../program.ts'
import type { StoreKey, WriteOptions } from '../records.ts'
import { PURCHASES } from '../tables.ts'
import { recordWrite } from '../write.ts'
import { orderValues } from './dialect.ts'
import type { ImportDialect } from './imports.ts'
import { importInsertion, NOTE_UPDATE, type RecordDialect, repeatNote } from './record.ts'
import type { OrderChange } from './records.ts'

/** A purchase, and the row that it was read from. */
interface Found {
  readonly row: Row
  readonly purchase: Purchase
}

/** The methods that change all purchases of an order in one transaction. */
export function orderMethods(
  sql: Sql,
  dialect: RecordDialect,
  imports: ImportDialect,
  clearAbandoned: () => Promise<unknown>,
) {
  const insertImport = importInsertion(imports)
  const noteRepeat = repeatNote(sql)
  const markDelivered = `
    UPDATE deliveries SET purchase = NULL WHERE store = ? AND transaction_id IN ${sql.each.text}`

  /**
   * Runs a program with the purchases that a transaction id stands for. Locks their store, so that
   * two calls run one after the other.
   */
  const changeOrder = async <T>(
    key: StoreKey,
    transaction_id: string,
    options: WriteOptions,
    change: (store: number, found: readonly Found[]) => Program<readonly T[]>,
  ): Promise<OrderChange<T> | undefined> => {
    const { store_id } = key
    const result = await sql.write(function* (): Program<OrderChange<T> | undefined> {
      const store = yield* dialect.lockStore(key, options.authority)
      if (store === undefined) return undefined
      const rows = yield* all(dialect.findOrder, ...orderValues(transaction_id), store)
      if (rows.length === 0) return { outcome: 'unknown' }
      if (!isOneOrder(rows.map(({ purchased_at }) => numberOf(purchased_at)))) {
        return { outcome: 'ambiguous', purchases: rows.length }
      }
      if (rows.some(({ is_busy }) => is_busy)) return undefined
      const found = rows.map((row) => ({ row, purchase: PURCHASES.readInto({ store_id }, row) }))
      return { outcome: 'changed', purchases: yield* change(store, found) }
    }, key)
    // An import whose process died blocks these purchases until that import is deleted.
    if (!result) clearAbandoned().catch(() => {})
    return result
  }

  function* refund(
    store: number,
    import_id: string,
    found: readonly Found[],
    options: WriteOptions,
  ) {
    const isRefundable = ({ purchase: { status } }: Found) => isLater(status, REFUNDED)
    const later = found.filter(isRefundable)
    for (const each of found) if (!isRefundable(each)) yield* noteRepeat(store, each.row)
    if (later.length > 0) {
      const rows = later.map(({ purchase }) => ({ ...purchase, status: REFUNDED }))
      const updated = yield* insertImport(store, import_id, undefined, rows, options)
      yield* run(NOTE_UPDATE, updated, store, updated, null)
      const refunded = { status: REFUNDED, fills: NO_FILLS }
      for (const { row } of later) {
        yield* dialect.changePurchase(store, updated, numberOf(row.seq), refunded, false)
      }
      yield* recordWrite(sql, options)
    }
    return found.map((each) => {
      const { transaction_id, sku, quantity } = each.purchase
      const outcome: 'refunded' | 'already' = isRefundable(each) ? 'refunded' : 'already'
      return { transaction_id, sku, quantity, outcome }
    })
  }

  function* deliver(store: number, found: readonly Found[], options: WriteOptions) {
    const outcomes = found.map(({ row, purchase }): Delivered => {
      const { transaction_id, sku, quantity, status } = purchase
      const outcome = REFUSALS[status] ?? (row.is_waiting ? 'delivered' : 'already')
      return { transaction_id, sku, quantity, outcome }
    })
    const delivered = outcomes.filter(({ outcome }) => outcome === 'delivered')
    if (delivered.length > 0) {
      yield* run(
        markDelivered,
        store,
        delivered.map((each) => each.transaction_id),
      )
      yield* recordWrite(sql, options)
    }
    return outcomes
  }

  return {
    /**
     * Notes that the purchases are delivered which a transaction id stands for, as in `refundOrder`.
     * Leaves out those that are pending, refunded or cancelled, and those that were delivered before.
     */
    deliverOrder: (key: StoreKey, transaction_id: string, options: WriteOptions = {}) =>
      changeOrder(key, transaction_id, options, (store, found) => deliver(store, found, options)),
    /**
     * Refunds the purchase with a transaction id or, if the store has none, those of the order, whose
     * ids begin with the id and a slash. The import that holds the changes has an `import_id` that
     * begins with `rec_`. Purchases that are refunded or cancelled stay as they are. Resolves to
     * undefined while a running import or undo has one of the purchases.
     */
    refundOrder: (
      key: StoreKey,
      import_id: string,
      transaction_id: string,
      options: WriteOptions = {},
    ) =>
      changeOrder(key, transaction_id, options, (store, found) =>
        refund(store, import_id, found, options),
      ),
  }
}

/** Why a purchase with a status is not delivered. */
const REFUSALS: { readonly [S in PurchaseStatus]?: Delivered['outcome'] } = {
  pending: 'pending',
  refunded: 'refunded',
  cancelled: 'refunded',
}
const REFUNDED: PurchaseStatus = 'refunded'
