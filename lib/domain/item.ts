import { TillError } from '../errors.ts'
import { differences } from './differences.ts'
import {
  freeForm,
  type Given,
  type Input,
  isSameJson,
  type JsonObject,
  note,
  oneOf,
  optional,
  parseObject,
  pattern,
  type Rule,
  required,
  text,
  wholeNumber,
  withSchema,
} from './fields.ts'
import { storeId } from './store.ts'

/** The types of items. */
export const ITEM_TYPES = ['consumable', 'non_consumable', 'subscription'] as const
export type ItemType = (typeof ITEM_TYPES)[number]

export const itemName = pattern(
  /^[A-Za-z0-9_]{1,255}$/,
  'must be 1 to 255 Latin letters, digits and underscores',
)

/** A price is a string of digits. A number is an error: 4.99 could be meant in major units. */
export const price = withSchema<number, string>(
  {
    type: 'string',
    pattern: '^[0-9]{1,32}$',
    description: 'Minor currency units, up to 2^53−1: `"499"` for 4.99 USD.',
  },
  (value, field, problems) => {
    const amount = parseMinorUnits(value)
    if (amount !== undefined) return amount
    const message = 'must be a string of digits, in minor units up to 2^53−1: "499" for 4.99'
    problems.push({ field, code: 'invalid', message })
    return 0
  },
)

interface ItemField {
  readonly rule: Rule<unknown>
  /** The value in a new item whose input lacks the field. Without it, the input needs the field. */
  readonly initial?: () => unknown
  /** The field never changes. */
  readonly isFixed?: true
}

/**
 * The fields that an item has from its inputs. From a row follow the types of items and inputs, their
 * parsers and JSON Schemas, the columns in the database, and the fields of a catalog and of a
 * spreadsheet. A new field is one row, and one step of the schema.
 */
export const ITEM = {
  /** The SKU: 1 to 255 Latin letters, digits and underscores, unique within the store. */
  name: { rule: note('The SKU, unique in the store.', itemName), isFixed: true },
  /** The name that players see. */
  display_name: { rule: text(1, 255) },
  /** The description; empty by default. */
  description: { rule: text(0, 4096), initial: () => '' },
  /** The price in minor currency units (499 is 4.99 USD), 0 to 2^53−1. An input has its digits. */
  price: { rule: price },
  type: { rule: oneOf(ITEM_TYPES), isFixed: true },
  /** Any data of yours. In an input, its name is `meta`. */
  metadata: { rule: freeForm, initial: () => ({}) },
} as const satisfies { readonly [field: string]: ItemField }

type Name = keyof typeof ITEM

/** The names of the fields with a property, such as `isFixed`. */
type NamesWith<Property extends string> = {
  [F in Name]: Property extends keyof (typeof ITEM)[F] ? F : never
}[Name]

/** The values of the fields in `ITEM`. */
export type ItemValues = {
  readonly [F in keyof typeof ITEM]: (typeof ITEM)[F]['rule'] extends Rule<infer T, unknown>
    ? T
    : never
}

/** A product that a store sells. */
export interface Item extends ItemValues {
  readonly id: string
  readonly account_id: string
  readonly project_id: string
  readonly store_id: string
  readonly created_at: string
  /** The version: 1 for a new item. Each change adds 1. */
  readonly version: number
  /** Absent while the item is active. An archived item is not for sale and keeps its name. */
  readonly archived_at?: string
}

/** The values in an input. */
export type ItemInputs = {
  readonly [F in keyof typeof ITEM]: (typeof ITEM)[F]['rule'] extends Rule<unknown, infer I>
    ? I
    : never
}

export interface NewItem
  extends Omit<ItemInputs, NamesWith<'initial'>>,
    Input<Partial<Omit<Pick<ItemInputs, NamesWith<'initial'>>, 'metadata'>>> {
  readonly store_id: string
  /** A free-form object, returned as `metadata` of the item. */
  readonly meta?: JsonObject | undefined
}

/** The input to change an item. The name and the type of an item never change. */
export interface ItemChange
  extends Input<Partial<Omit<ItemInputs, NamesWith<'isFixed'> | 'metadata'>>> {
  readonly id: string
  /** Replaces the whole `metadata`. */
  readonly meta?: JsonObject | undefined
  /**
   * The version that the caller has read. If the item has another version by now, throws
   * `version_conflict`.
   */
  readonly version?: number | undefined
}

type ParsedItem = Omit<ItemValues, 'metadata'> & {
  readonly store_id: string
  readonly meta: JsonObject
}

const ROWS = Object.entries(ITEM) as [Name, ItemField][]

/** The names of the fields that an item has from its inputs. */
export const ITEM_NAMES = ROWS.map(([name]) => name)

/** The fields that a new item needs. */
export const REQUIRED_ITEM_FIELDS = ROWS.filter(([, row]) => !row.initial).map(([name]) => name)

/** The values of the other fields, unless the input has them. */
export function initialItem(): Pick<ItemValues, NamesWith<'initial'>> {
  const entries = ROWS.flatMap(([name, { initial }]) => (initial ? [[name, initial()]] : []))
  return Object.fromEntries(entries)
}

type InputName = Exclude<Name, 'metadata'> | 'meta'

/** Makes a rule for each field, under its name in an input. */
function fieldsOf(rows: typeof ROWS, ruleOf: (row: ItemField) => Rule<unknown>) {
  const nameOf = (name: Name) => (name === 'metadata' ? 'meta' : name)
  const entries = rows.map(([name, row]) => [nameOf(name), ruleOf(row)])
  return Object.fromEntries(entries) as { readonly [N in InputName]: Rule<unknown> }
}

export const newItemFields = {
  store_id: required(storeId),
  ...fieldsOf(ROWS, ({ rule, initial }) => (initial ? optional(rule, initial) : required(rule))),
}

export function parseNewItem(input: unknown): ParsedItem {
  return parseObject(input, newItemFields) as ParsedItem
}

type ParsedItemChange = Given<Omit<ItemChange, 'price'> & { readonly price?: number }>

export const itemChangeFields = {
  id: required(text(1, 64)),
  ...fieldsOf(
    ROWS.filter(([, row]) => !row.isFixed),
    ({ rule }) => optional(rule),
  ),
  version: optional(wholeNumber(1, Number.MAX_SAFE_INTEGER)),
}

export function parseItemChange(input: unknown): ParsedItemChange {
  return parseObject(input, itemChangeFields) as ParsedItemChange
}

/** Returns the changed item, or `current` if nothing changes. The storage increases the version. */
export function changeItem(current: Item, change: ParsedItemChange): Item {
  const { id: _, version, meta: metadata = current.metadata, ...rest } = change
  if (version !== undefined && version !== current.version) {
    const message = `The item has version ${current.version}, not ${version}: read it again`
    throw new TillError('version_conflict', message)
  }
  const changed = { ...current, ...rest, metadata }
  return isSameJson(changed, current) ? current : changed
}

export function archiveItem(current: Item, archived_at: string): Item {
  return current.archived_at === undefined ? { ...current, archived_at } : current
}

export function restoreItem(current: Item): Item {
  const { archived_at, ...active } = current
  return archived_at === undefined ? current : active
}

/** The `data` of the audit entry: the changed fields, and the old and new price. */
export function describeItemChange(before: Item, after: Item): JsonObject {
  const { version, archived_at: _, ...fields } = after
  const found = differences(before, fields)
  const changed = Object.keys(found)
  const { price } = found
  return {
    ...{ name: after.name, version },
    ...(changed.length > 0 && { changed }),
    ...(price && { price: { old: price.from, new: price.to } }),
  }
}

/** Parses digits to an amount in minor units. Undefined for other values, or above 2^53−1. */
export function parseMinorUnits(value: unknown): number | undefined {
  if (typeof value !== 'string' || !/^\d{1,32}$/.test(value)) return undefined
  const amount = Number(value)
  return Number.isSafeInteger(amount) ? amount : undefined
}
