import type { Account } from '../../domain/account.ts'
import { assertAuthority } from '../../domain/authority.ts'
import { currencyRefusal } from '../../domain/currency.ts'
import { invalidField } from '../../domain/fields.ts'
import { formatInstant } from '../../domain/instant.ts'
import type { NewPurchase, PurchaseToRecord, RecordedPurchase } from '../../domain/purchase.ts'
import {
  type PurchaseInput,
  parsePurchaseCells,
  parsePurchaseInput,
} from '../../domain/purchase-input.ts'
import type { Store } from '../../domain/store.ts'
import type { Storage } from '../../storage/port.ts'
import { assertAccount, authorityOf, getNamedStore } from '../access.ts'
import { type AuditSubject, auditedWrite, type CallOptions } from '../audit.ts'
import type { Context } from '../context.ts'
import { createId } from '../ids.ts'
import { afterImport } from './after-import.ts'
import { UNKNOWN_SKU } from './loader.ts'
import { findItemName, isItemId, rulesOf } from './rules.ts'

/**
 * How long a call waits for a running import. Most imports take less. If the call fails, a payment
 * provider sends its webhook again.
 */
export const MAX_WAIT_MS = 5_000

/** See `Purchases.record`. */
export async function recordPurchase(
  context: Context,
  account: Account,
  input: PurchaseInput,
  options?: CallOptions,
): Promise<RecordedPurchase> {
  assertAccount(account, 'purchases')
  const { storage, now, rowQuotas } = context
  const parsed = parsePurchaseInput(input)
  const store = await getNamedStore(storage, account, parsed.store_id)
  assertAuthority({ store }, { store_status: store.status })
  const row = await rowOf(storage, store, parsed)
  await assertMayAdd(context, store, row)
  const { account_id, store_id } = store
  const import_id = createId('rec', now())
  const about = subjectOf(store, import_id, row)
  const write = {
    ...auditedWrite(context, account, 'purchases.record', about, options),
    authority: { ...authorityOf(account, ['purchases']), store: { account_id, store_id } },
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

/** Parses a purchase like a row of a file. Its SKU may also be the id of an item of the store. */
async function rowOf(
  storage: Storage,
  store: Store,
  parsed: ReturnType<typeof parsePurchaseInput>,
): Promise<PurchaseToRecord> {
  const row = parsePurchaseCells(parsed, rulesOf(store))
  const name = isItemId(row.sku) ? await findItemName(storage, store, row.sku) : undefined
  return name === undefined ? row : { ...row, sku: name }
}

/**
 * Throws if the project refuses the currency, or if the account has no room for another purchase.
 * A purchase that is already stored may be repeated in both cases.
 */
async function assertMayAdd(
  { storage, rowQuotas: { purchases } }: Context,
  { account_id, store_id, project_id }: Store,
  { currency, transaction_id }: NewPurchase,
): Promise<void> {
  const project = await storage.findProject(project_id)
  const isFull = (await purchases.room(account_id)) < 1
  const refusal =
    currencyRefusal(project, 'currency', currency) ?? (isFull ? purchases.refusal() : undefined)
  if (!refusal) return
  const stores = { account_id, store_id }
  const { records } = await storage.findTransactions(stores, transaction_id, {}, { limit: 1 })
  const isStored = records.some((each) => each.transaction_id === transaction_id)
  if (!isStored) throw refusal
}

function subjectOf(
  { project_id, store_id }: Store,
  import_id: string,
  { transaction_id, sku, quantity, price, currency, status, purchased_at }: NewPurchase,
): AuditSubject {
  return {
    subject: `${store_id}/${transaction_id}`,
    project_id,
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
}
