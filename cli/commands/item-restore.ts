import { command } from '../command.ts'
import { STORE_OPTIONS } from '../options.ts'
import { findItem } from '../unknown-skus.ts'

export const itemRestore = command({
  name: 'item restore',
  summary: 'Put an archived item back into the list of its store',
  example: 'tillkit item restore sword --store main',
  operand: 'SKU',
  options: STORE_OPTIONS,
  async run(invocation) {
    const { till, output } = invocation
    const { account, item } = await findItem(invocation)
    output.record(await till.items.restore(account, item.id))
  },
})
