import type { PassedOverCount } from './import.ts'
import type { NewPurchase } from './purchase.ts'

/** How a stored purchase and a vendor's file may differ, as texts for people. */
export const DIFFERENCES = {
  missing_in_file: 'that the file lacks',
  missing_in_store: 'that the store lacks',
  cancelled: 'cancelled here, charged in the file',
  status: 'with another status',
  amount: 'with another amount or currency',
  user: 'of another user',
  item: 'of another item or quantity',
} as const

export type DifferenceKind = keyof typeof DIFFERENCES

/** What the store, or the file, says about a purchase. */
export type PurchaseSide = Pick<
  NewPurchase,
  'sku' | 'quantity' | 'user_id' | 'price' | 'currency' | 'status'
>

export interface Difference {
  readonly kind: DifferenceKind
  readonly transaction_id: string
  /** The line of the file. Missing if the file lacks the purchase. */
  readonly line?: number
  /** The time in the store or, if the store lacks the purchase, in the file; ISO 8601, UTC. */
  readonly purchased_at: string
  /** The stored purchase. Missing if the store lacks it. */
  readonly stored?: PurchaseSide
  /** The row of the file. Missing if the file lacks it. */
  readonly file?: PurchaseSide
}

/** The sums of differences in one currency; '' for purchases without a price. */
export interface DifferenceTotal {
  readonly currency: string
  /** The number of purchases whose stored currency this is or, if the store lacks them, the file's. */
  readonly purchases: number
  /** The sum of the stored prices in minor units, as a string of digits. */
  readonly stored_total: string
  /** The sum of the prices in the file. */
  readonly file_total: string
}

/** All differences of one kind. */
export interface DifferenceGroup {
  readonly kind: DifferenceKind
  readonly purchases: number
  /** The 100 currencies with the most purchases. */
  readonly totals: readonly DifferenceTotal[]
  /** The first 1,000. */
  readonly first: readonly Difference[]
}

/** The result of comparing stored purchases with a vendor's file. */
export interface Reconciliation {
  /** `canonical`, `layout` for a layout file, or the name of the preset. */
  readonly layout: string
  /** The period: from the first sale of the file to after its last one, or a part of it. */
  readonly from: string
  readonly to: string
  /** The number of stored purchases of the period that were looked for in the file. */
  readonly judged: number
  /**
   * The number of stored purchases of the period that the file lacks too, and that may be right. They
   * are near its ends, pending, refunded, cancelled, free, or gifts.
   */
  readonly unjudged: number
  /** The part of `unjudged` that would be judged if it were more than two days from the ends. */
  readonly near_ends: number
  /** The number of rows of the file that were read, without those that were passed over. */
  readonly rows: number
  /** The number of rows that were compared with a stored purchase. */
  readonly compared: number
  /** The number of compared rows for which both sides have an amount. */
  readonly compared_amounts: number
  /** The number of compared rows for which both sides have a user. */
  readonly compared_users: number
  readonly passed_over: number
  readonly passed_over_reasons: readonly PassedOverCount[]
  /** The kinds of differences that were found. Empty if nothing differs. */
  readonly differences: readonly DifferenceGroup[]
  /** The import that has cancelled the purchases that the file lacks. */
  readonly import_id?: string
  /** The number of purchases that it has cancelled. */
  readonly cancelled?: number
}
