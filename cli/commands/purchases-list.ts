import { formatInstant } from '../../lib/index.ts'
import { command, UsageError } from '../command.ts'

export const purchasesList = command({
  name: 'purchases list',
  summary: 'List the purchases of a store in the order of their import',
  options: {
    account: { value: 'ID', required: true, help: 'the account that owns the store' },
    store: { value: 'ID', required: true, help: 'the store' },
    limit: { value: 'N', help: 'at most so many, 1 to 1000 (default 100)' },
    cursor: { value: 'NEXT', help: 'go on where the page before ended' },
  },
  async run({ till, options, output }) {
    const account = await till.accounts.get(options.account)
    const limit = limitOption(options.limit)
    const { purchases, next } = await till.purchases.list(account, {
      store_id: options.store,
      limit,
      ...(options.cursor === undefined ? {} : { cursor: options.cursor }),
    })
    const shown = purchases.map((each) => ({
      ...each,
      purchased_at: formatInstant(each.purchased_at),
    }))
    if (output.json) return output.record({ purchases: shown, ...(next ? { next } : {}) })
    output.table(shown, ['transaction_id', 'sku', 'purchased_at', 'price', 'currency', 'status'])
    if (next) output.line(`There are more: --cursor ${next}`)
  },
})

function limitOption(text = '100'): number {
  const limit = /^\d{1,4}$/.test(text) ? Number(text) : 0
  if (limit < 1 || limit > 1000) throw new UsageError('--limit must be a number from 1 to 1000')
  return limit
}
