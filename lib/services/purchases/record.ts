import type { Account } from '../../domain/account.ts'
import { assertAuthority } from '../../domain/authority.ts'
import { currencyRefusal } from '../../domain/currency.ts'
import { invalidField } from '../../domain/fields.ts'
import { formatInstant } from '../../domain/instant.ts'
import type { RecordedPurchase } from '../../domain/purchase.ts'
import {
  type PurchaseInput,
  parsePurchaseCells,
  parsePurchaseInput,
} from '../../domain/purchase-input.ts'
import { assertAccount, authorityOf, getNamedStore } from '../access.ts'
import { auditedWrite, type CallOptions } from '../audit.ts'
import type { Context } from '../context.ts'
import { createId } from '../ids.ts'
import { afterImport } from './after-import.ts'
import { UNKNOWN_SKU } from './loader.ts'
import { findItemName, isItemId, rulesOf } from './rules.ts'

/**
 * How long a call waits for a running import. Most imports take less. If the call fails, a payment
 * provider sends its webhook again.
 */
const MAX_WAIT_MS = 5_000

export async function recordPurchase(
  context: Context,
  account: Account,
  input: PurchaseInput,
  options?: CallOptions,
): Promise<RecordedPurchase> {
  assertAccount(account)
  const { storage, now, rowQuotas } = context
  const parsed = parsePurchaseInput(input)
  const store = await getNamedStore(storage, account, parsed.store_id)
  assertAuthority({ store }, { store_status: store.status })
  const sent = parsePurchaseCells(parsed, rulesOf(store))
  const name = isItemId(sent.sku) ? await findItemName(storage, store, sent.sku) : undefined
  const row = name === undefined ? sent : { ...sent, sku: name }
  const project = await storage.findProject(store.project_id)
  const { account_id, store_id } = store
  const isFull = (await rowQuotas.purchases.room(account_id)) < 1
  const refusal =
    currencyRefusal(project, 'currency', row.currency) ??
    (isFull ? rowQuotas.purchases.refusal() : undefined)
  const isStored = async () => {
    const stores = { account_id, store_id }
    const found = await storage.findTransactions(stores, row.transaction_id, {}, { limit: 1 })
    return found.records.length > 0
  }
  if (refusal && !(await isStored())) throw refusal
  const import_id = createId('rec', now())
  const { sku, quantity, price, currency, status, purchased_at } = row
  const about = {
    subject: `${store_id}/${row.transaction_id}`,
    project_id: store.project_id,
    store_id,
    data: {
      import_id,
      sku,
      quantity,
      ...(price !== undefined && { price, currency }),
      status,
      purchased_at: formatInstant(purchased_at),
    },
  }
  const authority = { ...authorityOf(account), store: { account_id, store_id } }
  const write = {
    ...auditedWrite(context, account, 'purchases.record', about, options),
    authority,
  }
  const attempt = () => storage.recordPurchase(store, import_id, row, write)
  const result = await afterImport(attempt, undefined, MAX_WAIT_MS)
  if (result.outcome === 'unknown') throw invalidField('sku', UNKNOWN_SKU.code, UNKNOWN_SKU.message)
  if (result.outcome === 'conflict') {
    const message = 'differs from the stored purchase with the same transaction_id'
    throw invalidField(result.field, 'transaction_conflict', message)
  }
  if (result.outcome === 'added') rowQuotas.purchases.add(account_id, 1)
  return result
}
