import { ITEM_TYPES, type ItemChange, type NewItem } from '../../lib/index.ts'
import { command } from '../command.ts'
import { itemOperations } from '../operation-commands.ts'
import { json } from '../option-values.ts'
import { STORE_OPTIONS } from '../options.ts'
import { findItem } from '../unknown-skus.ts'

type Change = Record<Exclude<keyof ItemChange, 'id' | 'version'>, unknown>

export const itemCommands = [
  command({
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
    run: ({ till, account, input }) =>
      till.items.create(account, input satisfies Record<keyof NewItem, unknown>),
  }),

  command({
    name: 'item list',
    summary: 'List the items of a store',
    example: 'tillkit item list --store main',
    options: {
      ...STORE_OPTIONS,
      archived: { help: 'list the archived items in place of the active ones' },
    },
    run({ till, account, input, output }) {
      const columns = ['id', 'name', 'price', 'type', ...(input.archived ? ['archived_at'] : [])]
      const items = till.items.all(account, input)
      return output.list('items', items, columns, ['archived_at…', 'type', 'price'])
    },
  }),

  command({
    name: 'item show',
    summary: 'Show an item, also an archived one',
    example: 'tillkit item show sword --store main',
    operand: 'SKU',
    options: STORE_OPTIONS,
    run: findItem,
  }),

  command({
    name: 'item update',
    summary: 'Change an item; its SKU and type never change',
    example: 'tillkit item update sword --price 599 --store main',
    operand: 'SKU',
    changes: ['display-name', 'price', 'description', 'meta'],
    options: {
      ...STORE_OPTIONS,
      'display-name': { value: 'NAME', help: 'the name that people see' },
      price: { value: 'DIGITS', help: 'in minor units: 499 for 4.99' },
      description: { value: 'TEXT', help: 'a longer text for people' },
      meta: { value: 'JSON|@FILE', parse: json, help: 'replaces the JSON object' },
    },
    async run(invocation) {
      const { till, account, input } = invocation
      const { store_id: _, ...change } = input satisfies Change
      const { id } = await findItem(invocation)
      return till.items.update(account, { id, ...change })
    },
  }),

  ...itemOperations,
]
