import { command } from '../command.ts'
import { PAGE_OPTIONS, STORE_OPTIONS } from '../options.ts'

export const purchasesOwned = command({
  name: 'purchases owned',
  summary: 'List what a user owns in a store, by item',
  example: 'tillkit purchases owned --user player-1 --store main',
  options: {
    ...STORE_OPTIONS,
    user: { value: 'ID', required: true, help: 'the user' },
    ...PAGE_OPTIONS,
  },
  async run({ till, options, output, io }) {
    const account = await till.accounts.get(options.account)
    const { store: store_id, user: user_id, limit, cursor } = options
    const page = await till.purchases.owned(account, { store_id, user_id, limit, cursor })
    if (output.json) return output.record(page)
    output.table(page.owned, ['sku', 'quantity', 'first_purchased_at', 'last_purchased_at'], {
      first_purchased_at: 'shorten',
      last_purchased_at: 'shorten',
    })
    if (page.next) io.stderr.write(`There are more: --cursor ${page.next}\n`)
  },
})
