import { ITEM_TYPES, type ItemChange, type ItemType, type NewItem } from '../../lib/index.ts'
import { command } from '../command.ts'
import { operationCommands } from '../operation-commands.ts'
import { json } from '../option-values.ts'
import { STORE_OPTIONS } from '../options.ts'
import { findItem } from '../unknown-skus.ts'

const itemCreate = command({
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
  async run({ till, account, options, output }) {
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

const itemList = command({
  name: 'item list',
  summary: 'List the items of a store',
  example: 'tillkit item list --store main',
  options: {
    ...STORE_OPTIONS,
    archived: { help: 'list the archived items in place of the active ones' },
  },
  async run({ till, account, options, output }) {
    const { store: store_id, archived } = options
    const items = till.items.all(account, { store_id, archived })
    const columns = ['id', 'name', 'price', 'type', ...(archived ? ['archived_at'] : [])]
    await output.list(items, columns, ['archived_at…', 'type', 'price'])
  },
})

const itemShow = command({
  name: 'item show',
  summary: 'Show an item, also an archived one',
  example: 'tillkit item show sword --store main',
  operand: 'SKU',
  options: STORE_OPTIONS,
  async run(invocation) {
    invocation.output.record(await findItem(invocation))
  },
})

type Field = Exclude<keyof ItemChange, 'id' | 'version'>

const itemUpdate = command({
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
    const { till, account, options, output } = invocation
    const { 'display-name': display_name, price, description, meta } = options
    const change = { display_name, price, description, meta } satisfies Record<Field, unknown>
    const { id } = await findItem(invocation)
    output.record(await till.items.update(account, { id, ...change }))
  },
})

export const itemCommands = [
  itemCreate,
  itemList,
  itemShow,
  itemUpdate,
  ...operationCommands('items'),
]
