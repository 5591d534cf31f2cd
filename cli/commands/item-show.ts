import { command } from '../command.ts'
import { STORE_OPTIONS } from '../options.ts'
import { findItem } from '../unknown-skus.ts'

export const itemShow = command({
  name: 'item show',
  summary: 'Show an item, also an archived one',
  example: 'tillkit item show sword --store main',
  operand: 'SKU',
  options: STORE_OPTIONS,
  async run(invocation) {
    const { item } = await findItem(invocation)
    invocation.output.record(item)
  },
})
