import { command } from '../command.ts'
import { STORE_OPTIONS } from '../options.ts'

export const itemShow = command({
  name: 'item show',
  summary: 'Show an item, also an archived one',
  example: 'tillkit item show sword --store main',
  operand: 'SKU',
  options: STORE_OPTIONS,
  async run({ till, operand, options, output }) {
    const account = await till.accounts.get(options.account)
    output.record(await till.items.getByName(account, options.store, operand))
  },
})
