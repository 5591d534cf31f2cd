import type { ErrorDetail } from '../errors.ts'
import { hasOuterBlank } from './blanks.ts'
import { type InputOf, invalidFields, parseObject } from './fields.ts'
import {
  PURCHASE_FIELDS,
  type PurchaseCells,
  type PurchaseField,
  type PurchaseRules,
  type PurchaseStatus,
  type PurchaseToRecord,
  parsePurchase,
} from './purchase.ts'
import {
  boolean,
  freeForm,
  note,
  optional,
  type Rule,
  required,
  rule,
  withSchema,
} from './rules.ts'
import { storeId } from './store.ts'

const textCell = rule((value): value is string => typeof value === 'string', 'must be a string', {
  type: 'string',
})

const amountCell = withSchema<string, string | number>(
  { type: ['string', 'number'] },
  (value, field, problems) =>
    typeof value === 'number' ? String(value) : textCell(value, field, problems),
)

export const purchaseFields = {
  store_id: required(storeId),
  /** The id of the transaction, unique in the store. */
  transaction_id: required(textCell),
  /** The `name` of an item of the store. */
  sku: required(textCell),
  /** The time of the purchase: ISO 8601 with a zone, Unix seconds or milliseconds. */
  purchased_at: required(amountCell),
  /** Nobody owns a purchase without a user. */
  user_id: optional(note('Missing or empty: nobody owns the purchase.', textCell)),
  /** Default 1. */
  quantity: optional(amountCell),
  /** The price in minor currency units: 499 for 4.99. */
  price: optional(amountCell),
  /** The currency; default with a price: the `currency` of the store's configuration. */
  currency: optional(textCell),
  /** Default `purchased`. */
  status: optional(textCell as Rule<string, PurchaseStatus>),
  metadata: optional(freeForm, () => ({})),
  /** When a subscription ends, in a format of `purchased_at`. It is owned until then. */
  expires_at: optional(amountCell),
  /** Whether the purchase is a gift, which has no price and is in no file of a vendor. */
  is_grant: optional(note('A gift without a price.', boolean), () => false),
} satisfies Record<'store_id' | 'is_grant' | PurchaseField, unknown>

/** One purchase to record. It has the fields of a row in a purchase file, with the same rules. */
export interface PurchaseInput extends InputOf<typeof purchaseFields> {}

/** Parses a purchase as the cells of a file's row, which the rules of the store check later. */
export function parsePurchaseInput(input: unknown) {
  const { store_id, metadata, is_grant, ...cells } = parseObject(input, purchaseFields)
  return { store_id, cells, metadata, is_grant }
}

const NO_CELLS = Object.fromEntries(PURCHASE_FIELDS.map((field) => [field, ''])) as PurchaseCells

/** Parses the cells like a row of a file. Throws `invalid_request` that names every bad field. */
export function parsePurchaseCells(
  { cells, metadata, is_grant }: ReturnType<typeof parsePurchaseInput>,
  rules: PurchaseRules,
): PurchaseToRecord {
  const problems: ErrorDetail[] = []
  const report = (field: PurchaseField, code: string, message: string) => {
    problems.push({ field, code, message })
  }
  // A file could not name such an id, because its cells are trimmed.
  for (const field of ['transaction_id', 'user_id'] as const) {
    if (hasOuterBlank(cells[field] ?? ''))
      report(field, 'invalid', 'must not begin or end with a blank')
  }
  const purchase = parsePurchase({ ...NO_CELLS, ...cells }, 0, rules, report)
  if (is_grant && purchase.price) report('price', 'invalid', 'must be left out: a gift has none')
  if (problems.length > 0) throw invalidFields(problems)
  return { ...purchase, metadata, is_grant: is_grant || undefined }
}
