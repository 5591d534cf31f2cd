import { TillError } from '../errors.ts'
import { differences } from './field-differences.ts'
import { type InputOf, invalidField, optionalFields, type ParsedOf, parseObject } from './fields.ts'
import { digits } from './instant.ts'
import { isSameJson, type JsonObject } from './json.ts'
import {
  freeForm,
  note,
  oneOf,
  optional,
  pattern,
  required,
  text,
  wholeNumber,
  withSchema,
} from './rules.ts'
import { storeId } from './store.ts'

/** The types of items. */
export const ITEM_TYPES = ['consumable', 'non_consumable', 'subscription'] as const
export type ItemType = (typeof ITEM_TYPES)[number]

const itemName = pattern(
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

/**
 * The fields that a new item has from its input. Types, parsers, JSON Schemas, columns of the
 * database, and the fields of catalogs and spreadsheets follow from a row. A new field is one row,
 * and one step of the schema.
 */
export const ITEM = {
  /** The SKU: 1 to 255 Latin letters, digits and underscores, unique within the store. */
  name: required(note('The SKU, unique in the store.', itemName)),
  /** The name that players see. */
  display_name: required(text(1, 255)),
  /** The description; empty by default. */
  description: optional(text(0, 4096), () => ''),
  /**
   * The price in minor currency units, 0 to 2^53−1. An item has the number 499 for 4.99 USD, an input
   * the string `'499'`.
   */
  price: required(price),
  type: required(oneOf(ITEM_TYPES)),
  /** Any data of yours. In an input, its name is `meta`. */
  metadata: optional(freeForm, () => ({})),
}

/** The values of the fields in `ITEM`. */
export type ItemValues = ParsedOf<typeof ITEM>

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

/** The names of the fields that an item has from its input. */
export const ITEM_NAMES = Object.keys(ITEM) as (keyof typeof ITEM)[]

const { metadata, ...others } = ITEM

export const newItemFields = {
  store_id: required(storeId),
  ...others,
  /** A free-form object, returned as `metadata` of the item. */
  meta: metadata,
}

/** Also a parsed item calls it `metadata`: a caller may send that name in place of `meta`. */
export const metadataAlias = { metadata: optional(note('The same as `meta`.', freeForm)) }

export interface NewItem extends InputOf<typeof newItemFields> {}

export const newItemInput = { ...newItemFields, ...metadataAlias }

/** Throws `invalid_request` that names every bad field. Returns `meta` as `metadata`. */
export function parseNewItem(input: unknown) {
  const { meta, metadata, ...item } = parseObject(input, newItemInput)
  const sent = (input as { readonly meta?: unknown }).meta ?? undefined
  return { ...item, metadata: metaOf(sent, metadata) ?? meta }
}

/** Throws `invalid_request` if `meta` and `metadata` are given and differ. */
function metaOf(meta: unknown, metadata: JsonObject | undefined): JsonObject | undefined {
  if (metadata === undefined || meta === undefined || isSameJson(meta, metadata)) return metadata
  throw invalidField('metadata', 'mismatch', 'is another name of meta, and differs from it')
}

const { name: _, type: __, ...changing } = others

export const itemChangeFields = {
  id: required(text(1, 64)),
  ...optionalFields({
    ...changing,
    /** Replaces the whole `metadata`. */
    meta: metadata,
  }),
  /**
   * The version that the caller has read. If the item has another version by now, throws
   * `version_conflict`.
   */
  version: optional(wholeNumber(1, Number.MAX_SAFE_INTEGER)),
}

/** The input to change an item. The name and the type of an item never change. */
export interface ItemChange extends InputOf<typeof itemChangeFields> {}

type ParsedItemChange = ParsedOf<typeof itemChangeFields>

/** Throws `invalid_request` that names every bad field. Returns `metadata` as `meta`. */
export function parseItemChange(input: unknown): ParsedItemChange {
  const { metadata, ...change } = parseObject(input, { ...itemChangeFields, ...metadataAlias })
  const meta = metaOf(change.meta, metadata) ?? change.meta
  return meta ? { ...change, meta } : change
}

/** Returns the changed item, or `current` if nothing changes. The caller increases the version. */
export function changeItem(current: Item, change: ParsedItemChange): Item {
  const { id: _, version, meta: metadata = current.metadata, ...rest } = change
  if (version !== undefined && version !== current.version) {
    const message = `The item has version ${current.version}, not ${version}: read it again`
    throw new TillError('version_conflict', message)
  }
  const changed = { ...current, ...rest, metadata }
  return isSameJson(changed, current) ? current : changed
}

/** Returns `current` if it is archived already. */
export function archiveItem(current: Item, archived_at: string): Item {
  return current.archived_at === undefined ? { ...current, archived_at } : current
}

/** Returns `current` if it is not archived. */
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
    name: after.name,
    version,
    ...(changed.length > 0 && { changed }),
    ...(price && { price: { old: price.from, new: price.to } }),
  }
}

/** Parses digits to an amount in minor units. Undefined for other values, or above 2^53−1. */
export function parseMinorUnits(value: unknown): number | undefined {
  if (typeof value !== 'string' || value === '' || value.length > 32) return undefined
  const amount = digits(value, 0, value.length)
  return Number.isSafeInteger(amount) ? amount : undefined
}
