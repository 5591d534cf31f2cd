import { excerpt } from '../errors.ts'
import { formatAmount } from './currency.ts'
import type { NewPurchase, PurchaseField, PurchaseStatus } from './purchase.ts'

/**
 * Which fields of a row are compared with the stored purchase that has the same transaction id.
 * `all`: SKU and quantity, and each of user, price and currency that both have. `product`: SKU and
 * quantity only, for a vendor whose files give other users and prices each time.
 */
export type Comparison = 'all' | 'product'

/** How rows are compared with the stored purchases. */
export interface RepeatRules {
  /** Default `all`. */
  readonly comparison?: Comparison | undefined
  /** Whether rows fill what the stored purchases lack; default true. */
  readonly mayFill?: boolean | undefined
}

/** The action for a row whose transaction id is already stored. */
export type Repeat =
  | {
      readonly outcome: 'skipped' | 'updated'
      /** The status of the purchase after the row. */
      readonly status: PurchaseStatus
      /** The values that the row adds to the purchase. */
      readonly fills: Fills
      /** The fields that the stored purchase has otherwise, or lacks although the row may not fill. */
      readonly unequal: readonly UnequalField[]
    }
  | { readonly outcome: 'conflict'; readonly field: PurchaseField }

/**
 * The fields that a row fills if the stored purchase lacks them. Databases store their indexes in
 * this list: append to it, and never reorder it.
 */
export const FILLABLE_FIELDS = ['user_id', 'price', 'currency', 'expires_at'] as const

/** The values of a row that the stored purchase lacks. A price comes with its currency. */
export type Fills = Partial<Pick<NewPurchase, (typeof FILLABLE_FIELDS)[number]>>

/** The fields that may differ from a stored purchase. The stored value stays. */
export const UNEQUAL_FIELDS = [...FILLABLE_FIELDS, 'purchased_at'] as const

export interface UnequalField {
  readonly field: (typeof UNEQUAL_FIELDS)[number]
  /** Whether the stored purchase lacks the value, or has another one. */
  readonly stored: 'missing' | 'different'
}

/** How many rows have such a value. */
export interface UnequalCount extends UnequalField {
  readonly rows: number
}

/** The steps `pending → purchased → refunded | cancelled`. A status never goes back a step. */
const PROGRESS: Record<PurchaseStatus, number> = {
  pending: 0,
  purchased: 1,
  refunded: 2,
  cancelled: 2,
}

/** The fields that are compared if a transaction id is already stored. */
export interface PurchaseIdentity extends Pick<NewPurchase, 'quantity' | 'status' | keyof Fills> {
  /** The SKU, or the number of its item. */
  readonly sku: string | number
}

/** A stored purchase to compare with a row. If its user is erased, `user_id` is ignored. */
export type StoredIdentity = PurchaseIdentity & { readonly is_erased?: boolean }

/**
 * Compares a row with the stored purchase that has the same transaction id. An identical row is
 * skipped. A row with an earlier status is skipped too, because it comes from an older export. A
 * value that only one of both has is no conflict: the row fills it if only the row has it.
 */
export function compareRepeat(
  stored: StoredIdentity,
  sent: PurchaseIdentity,
  { comparison = 'all', mayFill = true }: RepeatRules = {},
): Repeat {
  if (stored.sku !== sent.sku) return { outcome: 'conflict', field: 'sku' }
  const found = findUnequal(stored, sent)
  if (comparison === 'all') {
    const other = found.find(({ field, stored }) => isConflict(field, stored))
    if (other) return { outcome: 'conflict', field: other.field }
  }
  if (stored.quantity !== sent.quantity) return { outcome: 'conflict', field: 'quantity' }
  const isAdvance = isLater(stored.status, sent.status)
  if (!isAdvance && sent.status !== stored.status && !isLater(sent.status, stored.status)) {
    return { outcome: 'conflict', field: 'status' }
  }
  const status = isAdvance ? sent.status : stored.status
  const isLacking = mayFill && found.some(({ stored }) => stored === 'missing')
  const fills = isLacking ? fillsOf(stored, sent) : NO_FILLS
  const unequal = isLacking ? found.filter(({ stored }) => stored === 'different') : found
  return { outcome: isAdvance || !isEmpty(fills) ? 'updated' : 'skipped', status, fills, unequal }
}

/** A row that differs from the stored purchase, or the earlier row, with its transaction id. */
export interface Conflict {
  readonly line: number
  readonly field: PurchaseField
  /** The two values as texts for people; undefined for a SKU or a time. */
  readonly stored?: string | undefined
  readonly sent?: string | undefined
}

/** Describes the values of a field that differ. A price is followed by its currency. */
export function conflictOf(
  line: number,
  field: PurchaseField,
  stored: PurchaseIdentity,
  sent: PurchaseIdentity,
): Conflict {
  return { line, field, stored: formatField(stored, field), sent: formatField(sent, field) }
}

function formatField(identity: PurchaseIdentity, field: PurchaseField): string | undefined {
  const { price, currency = '', user_id = '', quantity, status } = identity
  if (field === 'user_id') return JSON.stringify(excerpt(user_id))
  if (field === 'quantity') return String(quantity)
  if (field === 'status') return status
  if (field !== 'price' && field !== 'currency') return undefined
  return price === undefined ? currency : `${formatAmount(String(price), currency)} ${currency}`
}

/** Whether a purchase can go from the status `before` to the status `after`. */
export function isLater(before: PurchaseStatus, after: PurchaseStatus): boolean {
  return PROGRESS[after] > PROGRESS[before]
}

export const NO_FILLS: Fills = {}

/** Whether there is nothing to fill. */
export function isEmpty(fills: Fills): boolean {
  return Object.keys(fills).length === 0
}

/** The values that the row has and the stored purchase lacks. An erased user is never filled. */
function fillsOf(stored: StoredIdentity, sent: PurchaseIdentity): Fills {
  const isLacking = (field: keyof Fills) => stored[field] === undefined && sent[field] !== undefined
  const takesPrice = isLacking('price') && (stored.currency ?? sent.currency) === sent.currency
  const takes: Record<keyof Fills, boolean> = {
    user_id: isLacking('user_id') && !stored.is_erased,
    price: takesPrice,
    currency: takesPrice && isLacking('currency'),
    expires_at: isLacking('expires_at'),
  }
  return pickFills(sent, (field) => takes[field])
}

/** The selected values. */
export function pickFills(values: Fills, isWanted: (field: keyof Fills) => boolean): Fills {
  const fields = FILLABLE_FIELDS.filter(isWanted)
  return Object.fromEntries(fields.map((field) => [field, values[field]]))
}

const NONE: readonly UnequalField[] = []

function findUnequal(stored: StoredIdentity, sent: PurchaseIdentity): readonly UnequalField[] {
  let found: UnequalField[] | undefined
  for (const field of FILLABLE_FIELDS) {
    if (sent[field] === undefined || sent[field] === stored[field]) continue
    if (field === 'user_id' && stored.is_erased) continue
    found ??= []
    found.push({ field, stored: stored[field] === undefined ? 'missing' : 'different' })
  }
  return found ?? NONE
}

function isConflict(field: UnequalField['field'], stored: UnequalField['stored']): boolean {
  return stored === 'different' && field !== 'expires_at'
}

/** Counts rows by unequal field, in the order of the fields. Without `rows`, an entry is one row. */
export function countUnequal(
  found: readonly (UnequalField & { readonly rows?: number })[],
): readonly UnequalCount[] {
  if (found.length === 0) return []
  const counts = UNEQUAL_FIELDS.flatMap((field) =>
    (['missing', 'different'] as const).map((stored): UnequalCount => {
      const same = found.filter((each) => each.field === field && each.stored === stored)
      return { field, stored, rows: same.reduce((sum, { rows = 1 }) => sum + rows, 0) }
    }),
  )
  return counts.filter(({ rows }) => rows > 0)
}
