import type { ItemChange } from '../../lib/index.ts'
import { command } from '../command.ts'
import { UsageError } from '../command-errors.ts'
import { json } from '../option-values.ts'
import { STORE_OPTIONS } from '../options.ts'
import { findItem } from '../unknown-skus.ts'

type Field = Exclude<keyof ItemChange, 'id' | 'version'>

export const itemUpdate = command({
  name: 'item update',
  summary: 'Change an item; its SKU and type never change',
  example: 'tillkit item update sword --price 599 --store main',
  operand: 'SKU',
  options: {
    ...STORE_OPTIONS,
    'display-name': { value: 'NAME', help: 'the name that people see' },
    price: { value: 'DIGITS', help: 'in minor units: 499 for 4.99' },
    description: { value: 'TEXT', help: 'a longer text for people' },
    meta: { value: 'JSON|@FILE', parse: json, help: 'replaces the JSON object' },
  },
  async run(invocation) {
    const { till, options, output } = invocation
    const { 'display-name': display_name, price, description, meta } = options
    const change = { display_name, price, description, meta } satisfies Record<Field, unknown>
    if (Object.values(change).every((each) => each === undefined)) {
      throw new UsageError(
        'Nothing to change: give --display-name, --price, --description or --meta',
      )
    }
    const { account, item } = await findItem(invocation)
    output.record(await till.items.update(account, { id: item.id, ...change }))
  },
})
