import {
  type Complete,
  type Fields,
  freeForm,
  type JsonObject,
  oneOf,
  optional,
  parseObject,
  pattern,
  type Rule,
  required,
  text,
} from './fields.ts'
import { storeId } from './store.ts'

/** A product that a store sells. */
export interface Item {
  readonly id: string
  readonly account_id: string
  readonly project_id: string
  readonly store_id: string
  /** The SKU, unique within the store. */
  readonly name: string
  readonly display_name: string
  readonly description: string
  /** Minor currency units, 0 to 2^53−1. */
  readonly price: number
  readonly type: ItemType
  readonly metadata: JsonObject
  readonly created_at: string
}

export const ITEM_TYPES = ['consumable', 'non_consumable', 'subscription'] as const
export type ItemType = (typeof ITEM_TYPES)[number]

export interface NewItem {
  readonly store_id: string
  /** 1 to 255 Latin letters, digits and underscores, unique within the store. */
  readonly name: string
  readonly display_name: string
  /** Default empty. */
  readonly description?: string | undefined
  /** Digits, in minor currency units: `'499'` for 4.99. */
  readonly price: string
  readonly type: ItemType
  /** The item's `metadata`. */
  readonly meta?: JsonObject | undefined
}

type ParsedItem = Complete<Omit<NewItem, 'price'>> & { readonly price: number }

export const itemName = pattern(
  /^[A-Za-z0-9_]{1,255}$/,
  'must be 1 to 255 Latin letters, digits and underscores',
)

const fields: Fields<ParsedItem> = {
  store_id: required(storeId),
  name: required(itemName),
  display_name: required(text(1, 255)),
  description: optional(text(0, 4096), () => ''),
  price: required(price()),
  type: required(oneOf(ITEM_TYPES)),
  meta: optional(freeForm, () => ({})),
}

export function parseNewItem(input: unknown): ParsedItem {
  return parseObject(input, fields)
}

/** A price is a string of digits. A number is an error: 4.99 would be ambiguous. */
export function price(): Rule<number> {
  return (value, field, problems) => {
    const amount = parseMinorUnits(value)
    if (amount !== undefined) return amount
    const message = 'must be a string of digits, in minor units up to 2^53−1: "499" for 4.99'
    problems.push({ field, code: 'invalid', message })
    return 0
  }
}

/** An amount in minor units from its decimal digits, or undefined. */
export function parseMinorUnits(value: unknown): number | undefined {
  if (typeof value !== 'string' || !/^\d{1,32}$/.test(value)) return undefined
  const amount = Number(value)
  return Number.isSafeInteger(amount) ? amount : undefined
}
