import type { ErrorDetail } from '../errors.ts'
import { ISO_8601, parseInstant } from './instant.ts'
import { type ItemType, parseMinorUnits } from './item.ts'
import {
  isLength,
  isObject,
  isText,
  type JsonObject,
  MAX_BYTES,
  parseJson,
  TOO_LARGE,
} from './json.ts'
import { freeForm } from './rules.ts'

/** A parsed row of a purchase file. */
export interface NewPurchase {
  /** The line of the file on which the row starts; the header is line 1. */
  readonly line: number
  /** The id of the payment, unique in the store. */
  readonly transaction_id: string
  /** The `name` of the item. */
  readonly sku: string
  /** Unix milliseconds. */
  readonly purchased_at: number
  readonly user_id?: string | undefined
  /** The number of items, 1 to 1,000,000. */
  readonly quantity: number
  /** The price in minor currency units. A row with a price also has a currency. */
  readonly price?: number | undefined
  readonly currency?: string | undefined
  readonly status: PurchaseStatus
  readonly metadata: JsonObject
  /** When a subscription ends, in Unix milliseconds. Without it, it counts for ever. */
  readonly expires_at?: number | undefined
}

/** A stored purchase. */
export interface Purchase extends Omit<NewPurchase, 'line' | 'purchased_at' | 'expires_at'> {
  readonly store_id: string
  /** The import that added the purchase. */
  readonly import_id: string
  /** The time of the purchase; ISO 8601, UTC. */
  readonly purchased_at: string
  /** When a subscription ends; ISO 8601, UTC. It is owned until then. */
  readonly expires_at?: string
  /** Set if the purchase was recorded as a gift, which no vendor charged. */
  readonly is_grant?: true
}

/** A purchase to record. */
export interface PurchaseToRecord extends NewPurchase {
  readonly is_grant?: true | undefined
}

/** A change of a purchase's status by an import, or by `record`, which has an import of its own. */
export interface StatusChange {
  readonly import_id: string
  /** When the import started; ISO 8601, UTC. */
  readonly created_at: string
  /** The name of the file; missing for a recorded purchase. */
  readonly file_name?: string
  readonly before: PurchaseStatus
  readonly after: PurchaseStatus
}

export interface RecordedPurchase {
  /**
   * `updated`: the status of the stored purchase advanced, or values were filled that it lacked.
   * `skipped`: the purchase was stored before, with this status or a later one.
   */
  readonly outcome: 'added' | 'updated' | 'skipped'
  /** The purchase as it is stored now. Absent when it was deleted with its user. */
  readonly purchase?: Purchase
}

/** One page of what a user owns, in order of SKU. */
export interface OwnedPage {
  readonly owned: readonly OwnedItem[]
  /** The `cursor` of the next page; absent on the last. */
  readonly next?: string
}

/** The purchases of one SKU by one user that have the status `purchased` and have not expired. */
export interface OwnedItem {
  readonly sku: string
  readonly type: ItemType
  /** The name of the item that players see. */
  readonly display_name: string
  /** The sum of the quantities of the purchases. */
  readonly quantity: number
  /** The time of the first purchase; ISO 8601, UTC. */
  readonly first_purchased_at: string
  readonly last_purchased_at: string
  /**
   * When the last of the purchases ends; ISO 8601, UTC. Missing if one of them has no end: the item
   * is then owned for ever.
   */
  readonly expires_at?: string
}

/** The statuses. Databases store their indexes in this list: append to it, and never reorder it. */
export const PURCHASE_STATUSES = ['purchased', 'pending', 'refunded', 'cancelled'] as const
export type PurchaseStatus = (typeof PURCHASE_STATUSES)[number]

/** The columns of the canonical file format, in order. */
export const PURCHASE_FIELDS = [
  'transaction_id',
  'sku',
  'purchased_at',
  'user_id',
  'quantity',
  'price',
  'currency',
  'status',
  'metadata',
  'expires_at',
] as const
export type PurchaseField = (typeof PURCHASE_FIELDS)[number]

/** The text of each field in a row; '' if the row has no value for the field. */
export type PurchaseCells = { readonly [F in PurchaseField]: string }

/** The settings of a store that decide whether a row is valid. */
export interface PurchaseRules {
  /** The currency of rows that have a price but no currency. */
  readonly currency?: string | undefined
  /** Whether only the id and the status of a row are read. */
  readonly refundsOnly?: boolean
}

type Report = (field: PurchaseField, code: string, message: string) => void

/**
 * Parses the cells of a row. Reports each mistake. Parses a cell with a mistake as if it were
 * empty, to find the other mistakes of the row.
 */
export function parsePurchase(
  cells: PurchaseCells,
  line: number,
  rules: PurchaseRules,
  report: Report,
): NewPurchase {
  // Parses in the order of the canonical columns, because mistakes are reported in that order.
  const transaction_id = parseId(cells.transaction_id, 'transaction_id', report)
  if (rules.refundsOnly) {
    const status = parseStatus(cells.status, report)
    return { line, transaction_id, status, sku: '', purchased_at: 0, quantity: 1, metadata: {} }
  }
  const sku = parseId(cells.sku, 'sku', report)
  if (cells.purchased_at === '') report('purchased_at', 'required', 'is required')
  const purchased_at = parseTime(cells.purchased_at, 'purchased_at', report) ?? 0
  const user_id = parseUser(cells.user_id, report)
  const quantity = parseQuantity(cells.quantity, report)
  const price = parsePrice(cells.price, report)
  const currency = parseCurrency(cells.currency, price, rules, report)
  const status = parseStatus(cells.status, report)
  const metadata = parseMetadata(cells.metadata, report)
  const expires_at = parseTime(cells.expires_at, 'expires_at', report)
  return {
    line,
    transaction_id,
    sku,
    purchased_at,
    user_id,
    quantity,
    price,
    currency,
    status,
    metadata,
    expires_at,
  } satisfies Record<keyof NewPurchase, unknown>
}

function parseId(cell: string, field: 'transaction_id' | 'sku', report: Report): string {
  if (cell === '') report(field, 'required', 'is required')
  return isGoodText(cell, field, report) ? cell : ''
}

function parseUser(cell: string, report: Report): string | undefined {
  return cell !== '' && isGoodText(cell, 'user_id', report) ? cell : undefined
}

function isGoodText(cell: string, field: PurchaseField, report: Report): boolean {
  const isShort = isText(cell) && isLength(cell, 0, 255)
  const message = isShort ? roundedProblem(cell) : 'must be 1 to 255 characters without U+0000'
  if (message) report(field, 'invalid', message)
  return message === undefined
}

// Matches a number of 12 digits or more that a program rounded: `1.23457E+17`, `4.53e+15`. Does not
// match fewer digits, because an id may look like `1E+10`, nor an exponent without a sign (`5E12`).
const ROUNDED = /^[+-]?\d{1,3}([.,]\d+)?E\+0*(1[1-9]|[2-9]\d|[1-9]\d\d)$/i

/** Checks each part of a joined id (`4.53e+15/gold`). */
function roundedProblem(cell: string): string | undefined {
  if (!cell.includes('+') || !cell.split('/').some((part) => ROUNDED.test(part))) return undefined
  return 'was rounded by a spreadsheet and its digits are lost: export the file anew'
}

function parseTime(
  cell: string,
  field: 'purchased_at' | 'expires_at',
  report: Report,
): number | undefined {
  if (cell === '') return undefined
  const instant = parseInstant(cell)
  if (instant !== undefined) return instant
  const hint = hintOf(cell, TIME_HINTS)
  const expected = 'ISO 8601 with a zone (2024-03-01T12:34:56Z), Unix seconds or milliseconds'
  const message = hint ? `must be like 2024-03-01T12:34:56Z${hint}` : `must be ${expected}`
  report(field, 'invalid', message)
  return undefined
}

/** Explanations of typical wrong cells. A message uses the first one whose pattern matches. */
type Hints = readonly (readonly [looks: RegExp, hint: string])[]

function hintOf(cell: string, hints: Hints): string {
  const found = hints.find(([looks]) => looks.test(cell))
  return found ? `: this one ${found[1]}` : ''
}

const TIME_HINTS: Hints = [
  [/^\d{4}-\d\d-\d\d$/, 'has no time of day and no zone'],
  [/^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d(:\d\d([.,]\d+)?)?$/, 'has no zone (Z for UTC)'],
  [ISO_8601, 'does not exist'],
  [/^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d.*[a-z]$/i, 'has another zone than Z, UTC, GMT or an offset'],
  [/^\d{1,4}[/.-]\d{1,2}[/.-]\d{2,4}(\D|$)/, 'leaves open which is the day'],
  [/^\d{5}([.,]\d+)?$/, "is a spreadsheet's day number"],
  [ROUNDED, 'was rounded by a spreadsheet'],
]

function parseQuantity(cell: string, report: Report): number {
  if (cell === '' || cell === '1') return 1
  const quantity = /^\d{1,7}$/.test(cell) ? Number(cell) : 0
  if (quantity >= 1 && quantity <= 1_000_000) return quantity
  report('quantity', 'invalid', 'must be a whole number from 1 to 1000000, digits only')
  return 1
}

function parsePrice(cell: string, report: Report): number | undefined {
  if (cell === '') return undefined
  const price = parseMinorUnits(cell)
  if (price === undefined) {
    const hint = hintOf(cell, PRICE_HINTS)
    report('price', 'invalid', `must be digits only, in minor units (499 for 4.99)${hint}`)
  }
  return price
}

const PRICE_HINTS: Hints = [
  [/^\d{1,3}([.,'’\s]\d{3})+([.,]\d+)?$/, 'has marks between thousands, or is in major units'],
  [/^\d+[.,]\d+$/, 'looks like major units'],
  [/^-/, 'is negative: a refund is a status'],
  [/\p{Sc}/u, 'has a currency sign'],
  [ROUNDED, 'was rounded by a spreadsheet'],
]

function parseCurrency(
  cell: string,
  price: number | undefined,
  rules: PurchaseRules,
  report: Report,
): string | undefined {
  const currency = cell === '' && price !== undefined ? rules.currency : cell || undefined
  if (currency === undefined) {
    if (price !== undefined) {
      report('currency', 'required', 'is required with a price: the store has no default currency')
    }
    return undefined
  }
  if (!/^[A-Z]{3}$/.test(currency)) {
    report('currency', 'invalid', 'must be a currency code of three capitals: USD')
    return undefined
  }
  return currency
}

function parseStatus(cell: string, report: Report): PurchaseStatus {
  if (cell === '') return 'purchased'
  // Returns the constant: comparing a cell with it takes longer than comparing it with itself.
  const known = PURCHASE_STATUSES.find((status) => status === cell)
  if (known) return known
  report('status', 'invalid', `must be one of ${PURCHASE_STATUSES.join(', ')}`)
  return 'purchased'
}

function parseMetadata(cell: string, report: Report): JsonObject {
  if (cell === '') return {}
  // Checks the text before it is parsed: text like `[{},{},…]` takes 24 times its memory.
  if (cell.length > MAX_BYTES) {
    report('metadata', 'invalid', TOO_LARGE)
    return {}
  }
  const value = parseJson(cell)
  if (!isObject(value)) {
    report('metadata', 'invalid', 'must be a JSON object')
    return {}
  }
  const problems: ErrorDetail[] = []
  freeForm(value, 'metadata', problems)
  for (const { code, message } of problems) report('metadata', code, message)
  return problems.length === 0 ? value : {}
}
