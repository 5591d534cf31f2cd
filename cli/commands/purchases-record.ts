import type { PurchaseInput, PurchaseStatus } from '../../lib/index.ts'
import { command } from '../command.ts'
import { json } from '../option-values.ts'
import { STORE_OPTIONS } from '../options.ts'
import { withSkuHint } from '../unknown-skus.ts'

export const purchasesRecord = command({
  name: 'purchases record',
  summary: 'Record one purchase; repeat it safely with the same transaction id',
  example: `tillkit purchases record --store main --transaction-id T-1 \\
  --sku sword --purchased-at 2026-01-31T12:00:00Z`,
  options: {
    ...STORE_OPTIONS,
    'transaction-id': { value: 'ID', required: true, help: 'unique in the store' },
    sku: { value: 'SKU', required: true, help: 'the name of an item of the store' },
    'purchased-at': { value: 'TIME', required: true, help: 'with its zone: 2026-01-31T12:00:00Z' },
    user: { value: 'ID', help: 'the user who bought it' },
    quantity: { value: 'N', help: 'default 1' },
    price: { value: 'DIGITS', help: 'in minor units: 499 for 4.99' },
    currency: { value: 'CODE', help: "default with a price: the store's currency" },
    status: { value: 'S', help: 'purchased (the default), pending, refunded or cancelled' },
    metadata: { value: 'JSON|@FILE', parse: json, help: 'any JSON object' },
    'expires-at': { value: 'TIME', help: 'the end of a subscription; owned until then' },
  },
  async run({ till, options, output }) {
    const account = await till.accounts.get(options.account)
    const { sku, store: store_id } = options
    const purchase = {
      store_id,
      transaction_id: options['transaction-id'],
      sku,
      purchased_at: options['purchased-at'],
      user_id: options.user,
      quantity: options.quantity,
      price: options.price,
      currency: options.currency,
      status: options.status as PurchaseStatus | undefined, // the library validates the status
      metadata: options.metadata,
      expires_at: options['expires-at'],
    } satisfies Record<keyof PurchaseInput, unknown>
    const record = () => till.purchases.record(account, purchase)
    const recorded = await withSkuHint({ till, account, store_id, sku }, record)
    if (output.json) return output.record(recorded)
    output.record({ outcome: recorded.outcome, ...recorded.purchase })
  },
})
