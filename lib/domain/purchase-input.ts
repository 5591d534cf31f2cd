import type { ErrorDetail } from '../errors.ts'
import {
  type Fields,
  freeForm,
  invalidFields,
  type JsonObject,
  optional,
  parseObject,
  required,
  rule,
  withSchema,
} from './fields.ts'
import {
  type NewPurchase,
  PURCHASE_FIELDS,
  type PurchaseCells,
  type PurchaseField,
  type PurchaseRules,
  type PurchaseStatus,
  parsePurchase,
} from './purchase.ts'
import { storeId } from './store.ts'

/** One purchase to record. It has the fields of a row in a purchase file, with the same rules. */
export interface PurchaseInput {
  readonly store_id: string
  /** The id of the transaction, unique in the store. */
  readonly transaction_id: string
  /** The `name` of an item of the store. */
  readonly sku: string
  /** The time of the purchase: ISO 8601 with a zone, Unix seconds or milliseconds. */
  readonly purchased_at: string | number
  readonly user_id?: string | undefined
  /** Default 1. */
  readonly quantity?: number | string | undefined
  /** The price in minor currency units: 499 for 4.99. */
  readonly price?: number | string | undefined
  /** The currency; default with a price: the `currency` of the store's configuration. */
  readonly currency?: string | undefined
  /** Default `purchased`. */
  readonly status?: PurchaseStatus | undefined
  readonly metadata?: JsonObject | undefined
  /** When a subscription ends, in a format of `purchased_at`. It is owned until then. */
  readonly expires_at?: string | number | undefined
}

const textCell = rule((value): value is string => typeof value === 'string', 'must be a string', {
  type: 'string',
})

const amountCell = withSchema<string>({ type: ['string', 'number'] }, (value, field, problems) =>
  typeof value === 'number' ? String(value) : textCell(value, field, problems),
)

type Given = { readonly store_id: string; readonly metadata: JsonObject } & Partial<
  Omit<PurchaseCells, 'metadata'>
>

export const purchaseFields = {
  store_id: required(storeId),
  transaction_id: required(textCell),
  sku: required(textCell),
  purchased_at: required(amountCell),
  user_id: optional(textCell),
  quantity: optional(amountCell),
  price: optional(amountCell),
  currency: optional(textCell),
  status: optional(textCell),
  metadata: optional(freeForm, () => ({})),
  expires_at: optional(amountCell),
} satisfies Fields<Given> & Record<keyof PurchaseInput, unknown>

/** Parses a purchase as the cells of a file's row, which the rules of the store check later. */
export function parsePurchaseInput(input: unknown) {
  const { store_id, metadata, ...cells } = parseObject<Given>(input, purchaseFields)
  return { store_id, cells, metadata }
}

const NO_CELLS = Object.fromEntries(PURCHASE_FIELDS.map((field) => [field, ''])) as PurchaseCells

/** Parses the cells like a row of a file. Throws `invalid_request` that names every bad field. */
export function parsePurchaseCells(
  { cells, metadata }: ReturnType<typeof parsePurchaseInput>,
  rules: PurchaseRules,
): NewPurchase {
  const problems: ErrorDetail[] = []
  const report = (field: PurchaseField, code: string, message: string) => {
    problems.push({ field, code, message })
  }
  const purchase = parsePurchase({ ...NO_CELLS, ...cells }, 0, rules, report)
  if (problems.length > 0) throw invalidFields(problems)
  return { ...purchase, metadata }
}
