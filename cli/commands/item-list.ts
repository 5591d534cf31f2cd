import { command } from '../command.ts'
import { STORE_OPTIONS } from '../options.ts'

export const itemList = command({
  name: 'item list',
  summary: 'List the items of a store',
  example: 'tillkit item list --store main',
  options: STORE_OPTIONS,
  async run({ till, options, output }) {
    const account = await till.accounts.get(options.account)
    const items = till.items.all(account, { store_id: options.store })
    await output.list(items, ['id', 'name', 'price', 'type'], { type: 'omit', price: 'omit' })
  },
})
