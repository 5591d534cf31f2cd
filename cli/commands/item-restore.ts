import { command } from '../command.ts'
import { STORE_OPTIONS } from '../options.ts'

export const itemRestore = command({
  name: 'item restore',
  summary: 'Put an archived item back into the list of its store',
  example: 'tillkit item restore sword --store main',
  operand: 'SKU',
  options: STORE_OPTIONS,
  async run({ till, operand, options, output }) {
    const account = await till.accounts.get(options.account)
    const { id } = await till.items.getByName(account, options.store, operand)
    output.record(await till.items.restore(account, id))
  },
})
