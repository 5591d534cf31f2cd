import { command } from '../command.ts'

export const itemList = command({
  name: 'item list',
  summary: 'List the items of a store',
  options: {
    account: { value: 'ID', required: true, help: 'the account that owns the store' },
    store: { value: 'ID', required: true, help: 'the store' },
  },
  async run({ till, options, output }) {
    const account = await till.accounts.get(options.account)
    const items = till.items.all(account, { store_id: options.store })
    await output.list(items, ['id', 'name', 'price', 'type'], { type: 'omit', price: 'omit' })
  },
})
