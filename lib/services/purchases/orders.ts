import type { Account } from '../../domain/account.ts'
import type { AuditAction } from '../../domain/audit.ts'
import { assertAuthority } from '../../domain/authority.ts'
import { invalidField, parseObject } from '../../domain/fields.ts'
import type { JsonObject } from '../../domain/json.ts'
import { ambiguousOrder, type OrderKey, orderFields } from '../../domain/order.ts'
import type { Store } from '../../domain/store.ts'
import { TillError } from '../../errors.ts'
import type { AuditedWrite, OrderChange } from '../../storage/port.ts'
import { assertAccount, authorityOf, getNamedStore } from '../access.ts'
import { auditedWrite, type CallOptions } from '../audit.ts'
import type { Context } from '../context.ts'
import { afterImport } from './after-import.ts'
import { MAX_WAIT_MS } from './record.ts'

interface Action {
  readonly name: AuditAction
  readonly data?: JsonObject
}

/**
 * Changes the purchases that a transaction id stands for, all in one transaction. Throws
 * `purchase_not_found`, and `invalid_request` if the id may stand for several orders.
 */
export async function changeOrder<T>(
  context: Context,
  account: Account,
  key: OrderKey,
  { name, data }: Action,
  options: CallOptions | undefined,
  change: (
    store: Store,
    transaction_id: string,
    write: AuditedWrite,
  ) => Promise<OrderChange<T> | undefined>,
): Promise<readonly T[]> {
  assertAccount(account, 'purchases')
  const { store_id: named, transaction_id } = parseObject(key, orderFields)
  const store = await getNamedStore(context.storage, account, named)
  assertAuthority({ store }, { store_status: store.status })
  const { account_id, project_id, store_id } = store
  const subject = `${store_id}/${transaction_id}`
  const about = { subject, project_id, store_id, ...(data && { data }) }
  const { audit } = auditedWrite(context, account, name, about, options)
  const authority = { ...authorityOf(account, ['purchases']), store: { account_id, store_id } }
  const attempt = () => change(store, transaction_id, { audit, authority })
  const result = await afterImport(attempt, undefined, MAX_WAIT_MS)
  if (result.outcome === 'changed') return result.purchases
  if (result.outcome === 'ambiguous') {
    throw invalidField('transaction_id', 'ambiguous', ambiguousOrder(result.purchases))
  }
  const message = 'The store has no purchase with this transaction_id, and none of such an order'
  throw new TillError('purchase_not_found', message)
}
