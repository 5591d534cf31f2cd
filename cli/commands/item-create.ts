import { ITEM_TYPES, type ItemType, type NewItem } from '../../lib/index.ts'
import { command } from '../command.ts'
import { json } from '../option-values.ts'
import { STORE_OPTIONS } from '../options.ts'

export const itemCreate = command({
  name: 'item create',
  summary: 'Create an item in a store',
  example:
    "tillkit item create --store main --name gold_100 --display-name '100 Gold' \\\n    --price 499 --type consumable",
  options: {
    ...STORE_OPTIONS,
    name: { value: 'SKU', required: true, help: 'letters, digits and _; unique in the store' },
    'display-name': { value: 'NAME', required: true, help: 'the name that people see' },
    price: { value: 'DIGITS', required: true, help: 'in minor units: 499 for 4.99' },
    type: {
      value: 'T',
      required: true,
      choices: ITEM_TYPES,
      help: 'consumable, non_consumable or subscription',
    },
    description: { value: 'TEXT', help: 'a longer text for people' },
    meta: { value: 'JSON|@FILE', parse: json, help: 'any JSON object' },
  },
  async run({ till, options, output }) {
    const account = await till.accounts.get(options.account)
    const item = await till.items.create(account, {
      store_id: options.store,
      name: options.name,
      display_name: options['display-name'],
      price: options.price,
      type: options.type as ItemType, // the library validates the type
      description: options.description,
      meta: options.meta,
    } satisfies Record<keyof NewItem, unknown>)
    output.record(item)
  },
})
