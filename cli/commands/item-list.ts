import { command } from '../command.ts'
import { STORE_OPTIONS } from '../options.ts'

export const itemList = command({
  name: 'item list',
  summary: 'List the items of a store',
  example: 'tillkit item list --store main',
  options: {
    ...STORE_OPTIONS,
    archived: { help: 'list the archived items in place of the active ones' },
  },
  async run({ till, options, output }) {
    const account = await till.accounts.get(options.account)
    const { store: store_id, archived } = options
    const items = till.items.all(account, { store_id, archived })
    const columns = ['id', 'name', 'price', 'type', ...(archived ? ['archived_at'] : [])]
    await output.list(items, columns, { archived_at: 'shorten', type: 'omit', price: 'omit' })
  },
})
