import { TillError } from '../errors.ts'
import {
  type Complete,
  type Fields,
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
  required,
  text,
  wholeNumber,
  withSchema,
} from './fields.ts'
import { storeId } from './store.ts'

/** A product that a store sells. */
export interface Item {
  readonly id: string
  readonly account_id: string
  readonly project_id: string
  readonly store_id: string
  /** The SKU: 1 to 255 Latin letters, digits and underscores, unique within the store. */
  readonly name: string
  /** The name that players see. */
  readonly display_name: string
  readonly description: string
  /** The price in minor currency units (499 is 4.99 USD), 0 to 2^53−1. */
  readonly price: number
  readonly type: ItemType
  /** Any data of yours. */
  readonly metadata: JsonObject
  readonly created_at: string
  /** The version: 1 for a new item. Each change adds 1. */
  readonly version: number
  /** Absent while the item is active. An archived item is not for sale and keeps its name. */
  readonly archived_at?: string
}

/** The types of items. */
export const ITEM_TYPES = ['consumable', 'non_consumable', 'subscription'] as const
export type ItemType = (typeof ITEM_TYPES)[number]

/** The fields of an item that no input has. */
type OwnField = 'id' | 'account_id' | 'project_id' | 'created_at' | 'version' | 'archived_at'

/** The fields that an update may change: all others, except those that never change. */
export type ItemFields = Omit<Item, OwnField | 'store_id' | 'name' | 'type'>

export interface NewItem
  extends Input<Omit<Item, OwnField | 'description' | 'price' | 'metadata'>> {
  /** The description; empty by default. */
  readonly description?: string | undefined
  /** Digits of the price in minor currency units: `'499'` for 4.99. */
  readonly price: string
  /** A free-form object, returned as `metadata` of the item. */
  readonly meta?: JsonObject | undefined
}

/** The input to change an item. The name and the type of an item never change. */
export interface ItemChange extends Input<Partial<Omit<ItemFields, 'price' | 'metadata'>>> {
  readonly id: string
  /** The price: digits, in minor currency units. */
  readonly price?: string | undefined
  /** Replaces the whole `metadata`. */
  readonly meta?: JsonObject | undefined
  /**
   * The version that the caller has read. If the item has another version by now, throws
   * `version_conflict`.
   */
  readonly version?: number | undefined
}

type ParsedItem = Complete<Omit<NewItem, 'price'>> & { readonly price: number }

export const itemName = pattern(
  /^[A-Za-z0-9_]{1,255}$/,
  'must be 1 to 255 Latin letters, digits and underscores',
)

/** A price is a string of digits. A number is an error: 4.99 could be meant in major units. */
export const price = withSchema<number>(
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

export const newItemFields: Fields<ParsedItem> = {
  store_id: required(storeId),
  name: required(note('The SKU, unique in the store.', itemName)),
  display_name: required(text(1, 255)),
  description: optional(text(0, 4096), () => ''),
  price: required(price),
  type: required(oneOf(ITEM_TYPES)),
  meta: optional(freeForm, () => ({})),
}

export function parseNewItem(input: unknown): ParsedItem {
  return parseObject(input, newItemFields)
}

type ParsedItemChange = Given<Omit<ItemChange, 'price'> & { readonly price?: number }>

export const itemChangeFields: Fields<ParsedItemChange> = {
  id: required(text(1, 64)),
  display_name: optional(text(1, 255)),
  description: optional(text(0, 4096)),
  price: optional(price),
  meta: optional(freeForm),
  version: optional(wholeNumber(1, Number.MAX_SAFE_INTEGER)),
}

export function parseItemChange(input: unknown): ParsedItemChange {
  return parseObject(input, itemChangeFields)
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
  const { version: _, archived_at: __, ...fields } = { ...before, ...after }
  const names = Object.keys(fields) as (keyof typeof fields)[]
  const changed = names.filter((field) => !isSameJson(before[field], after[field]))
  return {
    name: after.name,
    version: after.version,
    ...(changed.length > 0 && { changed }),
    ...(before.price !== after.price && { price: { old: before.price, new: after.price } }),
  }
}

/** Parses digits to an amount in minor units. Undefined for other values, or above 2^53−1. */
export function parseMinorUnits(value: unknown): number | undefined {
  if (typeof value !== 'string' || !/^\d{1,32}$/.test(value)) return undefined
  const amount = Number(value)
  return Number.isSafeInteger(amount) ? amount : undefined
}
