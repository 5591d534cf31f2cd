import type { ErrorDetail } from '../errors.ts'
import { freeForm, isObject, isText, isTooLargeJson, type JsonObject, TOO_LARGE } from './fields.ts'
import { parseInstant } from './instant.ts'
import { parseMinorUnits } from './item.ts'

/** What a row of a purchase file becomes. */
export interface NewPurchase {
  /** The physical line of the file on which the row starts, header = 1. */
  readonly line: number
  readonly transaction_id: string
  readonly sku: string
  /** Unix milliseconds. */
  readonly purchased_at: number
  readonly user_id?: string | undefined
  readonly quantity: number
  /** Minor currency units; with a price there is a currency. */
  readonly price?: number | undefined
  readonly currency?: string | undefined
  readonly status: PurchaseStatus
  readonly metadata: JsonObject
}

/** A purchase as a storage holds it. */
export interface StoredPurchase extends Omit<NewPurchase, 'line'> {
  readonly store_id: string
  readonly import_id: string
}

/** A purchase of a store. */
export interface Purchase extends Omit<StoredPurchase, 'purchased_at'> {
  /** ISO 8601, UTC. */
  readonly purchased_at: string
}

/** Storages keep a status as its place in this list: append, never reorder. */
export const PURCHASE_STATUSES = ['purchased', 'pending', 'refunded', 'cancelled'] as const
export type PurchaseStatus = (typeof PURCHASE_STATUSES)[number]

/** The columns of the canonical file, in its order. */
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
] as const
export type PurchaseField = (typeof PURCHASE_FIELDS)[number]

/** The text of a row's cells; an empty cell is one that is not there. */
export type PurchaseCells = { readonly [F in PurchaseField]: string }

/** What a row is judged by beside itself. */
export interface PurchaseRules {
  /** The store's currency, for rows with a price and no currency. */
  readonly currency?: string | undefined
  /** The project's `allowed_currencies`; empty allows all. */
  readonly currencies: ReadonlySet<string>
}

type Report = (field: PurchaseField, code: string, message: string) => void

/**
 * A purchase from a row's cells. What is wrong with it is told to `wrong`, and is in the purchase
 * as if its cell were empty: the rest can still be judged.
 */
export function parsePurchase(
  cells: PurchaseCells,
  line: number,
  rules: PurchaseRules,
  wrong: Report,
): NewPurchase {
  // One after the other, so that mistakes are told in the order of the canonical columns.
  const transaction_id = parseId(cells.transaction_id, 'transaction_id', wrong)
  const sku = parseId(cells.sku, 'sku', wrong)
  const purchased_at = parsePurchasedAt(cells.purchased_at, wrong)
  const user_id = parseUser(cells.user_id, wrong)
  const quantity = parseQuantity(cells.quantity, wrong)
  const price = parsePrice(cells.price, wrong)
  const currency = parseCurrency(cells.currency, price, rules, wrong)
  const status = parseStatus(cells.status, wrong)
  const metadata = parseMetadata(cells.metadata, wrong)
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
  }
}

function parseId(cell: string, field: 'transaction_id' | 'sku', wrong: Report): string {
  if (cell === '') wrong(field, 'required', 'is required')
  return isGoodText(cell, field, wrong) ? cell : ''
}

function parseUser(cell: string, wrong: Report): string | undefined {
  return cell !== '' && isGoodText(cell, 'user_id', wrong) ? cell : undefined
}

function isGoodText(cell: string, field: PurchaseField, wrong: Report): boolean {
  const message = isShortText(cell) ? roundedProblem(cell) : NOT_SHORT_TEXT
  if (message) wrong(field, 'invalid', message)
  return message === undefined
}

const NOT_SHORT_TEXT = 'must be 1 to 255 characters without U+0000'

function isShortText(cell: string): boolean {
  return isText(cell) && (cell.length <= 255 || (cell.length <= 510 && [...cell].length <= 255))
}

// `1.23457E+17`: what a spreadsheet makes of a number of 12 digits or more. Others are good ids.
const ROUNDED = /^\d([.,]\d+)?E\+(1[1-9]|[2-9]\d)$/

function roundedProblem(cell: string): string | undefined {
  if (!cell.includes('+') || !ROUNDED.test(cell)) return undefined
  return 'was rounded by a spreadsheet and its digits are lost: export the file anew'
}

function parsePurchasedAt(cell: string, wrong: Report): number {
  if (cell === '') wrong('purchased_at', 'required', 'is required')
  else {
    const instant = parseInstant(cell)
    if (instant !== undefined) return instant
    const hint = hintOf(cell, TIME_HINTS)
    const expected = 'ISO 8601 with a zone (2024-03-01T12:34:56Z), Unix seconds or milliseconds'
    const message = hint ? `must be like 2024-03-01T12:34:56Z${hint}` : `must be ${expected}`
    wrong('purchased_at', 'invalid', message)
  }
  return 0
}

/** What a cell looks like, the first that fits; so that a message can say it without quoting. */
type Hints = readonly (readonly [looks: RegExp, hint: string])[]

function hintOf(cell: string, hints: Hints): string {
  const found = hints.find(([looks]) => looks.test(cell))
  return found ? `: this one ${found[1]}` : ''
}

const TIME_HINTS: Hints = [
  [/^\d{4}-\d\d-\d\d$/, 'has no time of day and no zone'],
  [/^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d(:\d\d([.,]\d+)?)?$/, 'has no zone (Z for UTC)'],
  [/^\d{4}-\d\d-\d\d[Tt ]/, 'does not exist'],
  [/^\d{1,4}[/.-]\d{1,2}[/.-]\d{2,4}(\D|$)/, 'leaves open which is the day'],
  [/^\d{5}([.,]\d+)?$/, "is a spreadsheet's day number"],
  [ROUNDED, 'was rounded by a spreadsheet'],
]

function parseQuantity(cell: string, wrong: Report): number {
  if (cell === '' || cell === '1') return 1
  const quantity = /^\d{1,7}$/.test(cell) ? Number(cell) : 0
  if (quantity >= 1 && quantity <= 1_000_000) return quantity
  wrong('quantity', 'invalid', 'must be a whole number from 1 to 1000000, digits only')
  return 1
}

function parsePrice(cell: string, wrong: Report): number | undefined {
  if (cell === '') return undefined
  const price = parseMinorUnits(cell)
  if (price === undefined) {
    const hint = hintOf(cell, PRICE_HINTS)
    wrong('price', 'invalid', `must be digits only, in minor units (499 for 4.99)${hint}`)
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
  wrong: Report,
): string | undefined {
  const currency = cell === '' && price !== undefined ? rules.currency : cell || undefined
  if (currency === undefined) {
    if (price !== undefined) {
      wrong('currency', 'required', 'is required with a price: the store has no default currency')
    }
    return undefined
  }
  if (!/^[A-Z]{3}$/.test(currency)) {
    wrong('currency', 'invalid', 'must be a currency code of three capitals: USD')
    return undefined
  }
  if (rules.currencies.size > 0 && !rules.currencies.has(currency)) {
    wrong('currency', 'not_allowed', notAllowed(rules.currencies))
    return undefined
  }
  return currency
}

const NAMED_CURRENCIES = 12

/** A message for each set of rules: all rows of a file may need it. */
const messages = new WeakMap<ReadonlySet<string>, string>()

function notAllowed(currencies: ReadonlySet<string>): string {
  const known = messages.get(currencies)
  if (known) return known
  const named = [...currencies].slice(0, NAMED_CURRENCIES).join(', ')
  const others = currencies.size - NAMED_CURRENCIES
  const more = others > 0 ? ` and ${others} more` : ''
  const message = `must be one of the project's allowed currencies: ${named}${more}`
  messages.set(currencies, message)
  return message
}

function parseStatus(cell: string, wrong: Report): PurchaseStatus {
  if (cell === '') return 'purchased'
  if ((PURCHASE_STATUSES as readonly string[]).includes(cell)) return cell as PurchaseStatus
  wrong('status', 'invalid', `must be one of ${PURCHASE_STATUSES.join(', ')}`)
  return 'purchased'
}

function parseMetadata(cell: string, wrong: Report): JsonObject {
  if (cell === '') return {}
  if (isTooLargeJson(cell)) {
    wrong('metadata', 'invalid', TOO_LARGE)
    return {}
  }
  const value = parseJson(cell)
  if (!isObject(value)) {
    wrong('metadata', 'invalid', 'must be a JSON object')
    return {}
  }
  const problems: ErrorDetail[] = []
  freeForm(value, 'metadata', problems)
  for (const { code, message } of problems) wrong('metadata', code, message)
  return problems.length === 0 ? value : {}
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** What becomes of a row whose transaction is already there. */
export type Repeat =
  | { readonly outcome: 'skipped' | 'updated' }
  | { readonly outcome: 'conflict'; readonly field: PurchaseField }

const IDENTITY = ['sku', 'user_id', 'price', 'currency', 'quantity'] as const

/** How far each status is on the way `pending → purchased → refunded | cancelled`. */
const PROGRESS: Record<PurchaseStatus, number> = {
  pending: 0,
  purchased: 1,
  refunded: 2,
  cancelled: 2,
}

/** The fields that decide about a repeated transaction. */
export type PurchaseIdentity = Pick<NewPurchase, (typeof IDENTITY)[number] | 'status'>

/**
 * Judges a row against the stored purchase of the same transaction. A status further back than the
 * stored one is an older export of what is known already, so it is skipped like an identical row.
 */
export function compareRepeat(stored: PurchaseIdentity, sent: PurchaseIdentity): Repeat {
  const field = IDENTITY.find((each) => stored[each] !== sent[each])
  if (field) return { outcome: 'conflict', field }
  if (PROGRESS[sent.status] > PROGRESS[stored.status]) return { outcome: 'updated' }
  const sameEnd = PROGRESS[sent.status] < PROGRESS[stored.status] || sent.status === stored.status
  return sameEnd ? { outcome: 'skipped' } : { outcome: 'conflict', field: 'status' }
}
