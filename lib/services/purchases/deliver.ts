import type { Account } from '../../domain/account.ts'
import type { Deliveries, OrderKey } from '../../domain/order.ts'
import type { CallOptions } from '../audit.ts'
import type { Context } from '../context.ts'
import { changeOrder } from './orders.ts'

/** See `Purchases.deliver`. */
export async function deliverOrder(
  context: Context,
  account: Account,
  key: OrderKey,
  options?: CallOptions,
): Promise<Deliveries> {
  const action = { name: 'purchases.deliver' } as const
  const deliveries = await changeOrder(context, account, key, action, options, (store, id, write) =>
    context.storage.deliverOrder(store, id, write),
  )
  return { deliveries }
}
