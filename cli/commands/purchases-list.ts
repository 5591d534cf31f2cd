import { command } from '../command.ts'
import { PAGE_OPTIONS, PURCHASE_OPTIONS, purchaseQuery } from '../options.ts'

export const purchasesList = command({
  name: 'purchases list',
  summary: 'List the purchases of a store in order of import',
  example: 'tillkit purchases list --store main --user player-1 --status refunded',
  options: {
    ...PURCHASE_OPTIONS,
    ...PAGE_OPTIONS,
  },
  async run({ till, options, output, io }) {
    const account = await till.accounts.get(options.account)
    const { limit, cursor } = options
    const page = await till.purchases.list(account, { ...purchaseQuery(options), limit, cursor })
    const { purchases, next } = page
    if (output.json) return output.record(page)
    output.table(
      purchases,
      'transaction_id sku purchased_at user_id quantity price currency status'.split(' '),
      {
        purchased_at: 'shorten',
        quantity: 'omit',
        user_id: 'omit',
        currency: 'omit',
        price: 'omit',
      },
    )
    if (next) io.stderr.write(`There are more: --cursor ${next}\n`)
  },
})
