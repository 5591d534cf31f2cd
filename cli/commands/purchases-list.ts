import { command } from '../command.ts'
import { FILTER_OPTIONS, filterOf } from '../filter.ts'

export const purchasesList = command({
  name: 'purchases list',
  summary: 'List the purchases of a store in order of import',
  options: {
    ...FILTER_OPTIONS,
    limit: { value: 'N', help: 'at most so many, 1 to 1000 (default 100)' },
    cursor: { value: 'NEXT', help: 'go on where the page before ended' },
  },
  async run({ till, options, output }) {
    const account = await till.accounts.get(options.account)
    const { limit, cursor } = options
    const page = await till.purchases.list(account, { ...filterOf(options), limit, cursor })
    const { purchases, next } = page
    if (output.json) return output.record(page)
    output.table(
      purchases,
      [
        'transaction_id',
        'sku',
        'purchased_at',
        'user_id',
        'quantity',
        'price',
        'currency',
        'status',
      ],
      {
        purchased_at: 'shorten',
        quantity: 'omit',
        user_id: 'omit',
        currency: 'omit',
        price: 'omit',
      },
    )
    if (next) output.line(`There are more: --cursor ${next}`)
  },
})
