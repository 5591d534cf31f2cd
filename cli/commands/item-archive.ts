import { command } from '../command.ts'
import { STORE_OPTIONS } from '../options.ts'
import { findItem } from '../unknown-skus.ts'

export const itemArchive = command({
  name: 'item archive',
  summary: 'Take an item out of the list of its store',
  example: 'tillkit item archive sword --store main',
  operand: 'SKU',
  options: STORE_OPTIONS,
  async run(invocation) {
    const { till, output } = invocation
    const { account, item } = await findItem(invocation)
    output.record(await till.items.archive(account, item.id))
  },
})
