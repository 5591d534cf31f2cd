import type { Account } from '../../domain/account.ts'
import type { OrderKey, Refunds } from '../../domain/order.ts'
import type { CallOptions } from '../audit.ts'
import type { Context } from '../context.ts'
import { createId } from '../ids.ts'
import { changeOrder } from './orders.ts'

/** See `Purchases.refund`. */
export async function refundOrder(
  context: Context,
  account: Account,
  key: OrderKey,
  options?: CallOptions,
): Promise<Refunds> {
  const import_id = createId('rec', context.now())
  const action = { name: 'purchases.refund', data: { import_id } } as const
  const refunds = await changeOrder(context, account, key, action, options, (store, id, write) =>
    context.storage.refundOrder(store, import_id, id, write),
  )
  return { refunds }
}
