import type { InputOf } from './fields.ts'
import { note, required, text } from './rules.ts'
import { storeId } from './store.ts'

export const orderFields = {
  store_id: required(storeId),
  /**
   * The id of a purchase. If the store has no purchase with this id, it stands for the purchases of
   * an order: those whose ids begin with it and a slash.
   */
  transaction_id: required(
    note(
      'The id of a purchase, or what stands before the `/` in the ids of an order.',
      text(1, 255),
    ),
  ),
}

/** Identifies a purchase, or the purchases of an order. */
export interface OrderKey extends InputOf<typeof orderFields> {}

export interface Refunds {
  /** One entry for each purchase, sorted by `transaction_id`. */
  readonly refunds: readonly Refunded[]
}

export interface Refunded {
  readonly transaction_id: string
  readonly sku: string
  readonly quantity: number
  /** `already`: the purchase was refunded or cancelled before. */
  readonly outcome: 'refunded' | 'already'
}

export interface Deliveries {
  /** One entry for each purchase, sorted by `transaction_id`. */
  readonly deliveries: readonly Delivered[]
}

export interface Delivered {
  readonly transaction_id: string
  readonly sku: string
  readonly quantity: number
  /**
   * `delivered`: give the item to the player now. `already`: it was delivered before. `pending` and
   * `refunded` (or cancelled): it must not be delivered.
   */
  readonly outcome: 'delivered' | 'already' | 'pending' | 'refunded'
}

/**
 * The first text after `order/`, and the first after all texts that begin with it. Between them are
 * the ids of the purchases of an order.
 */
export function orderRange(order: string): readonly [first: string, end: string] {
  return [`${order}/`, `${order}0`] // "0" follows "/"
}

/** The most purchases that an order may have, and how far apart their times may be. */
export const MAX_ORDER_PURCHASES = 100
const MAX_ORDER_MS = 48 * 3_600_000

/**
 * Whether purchases may be those of one order, by their times. An id like `2024` may be the year of
 * many orders: `2024/0001`, `2024/0002`.
 */
export function isOneOrder(times: readonly number[]): boolean {
  const isShort = Math.max(...times) - Math.min(...times) <= MAX_ORDER_MS
  return times.length <= MAX_ORDER_PURCHASES && isShort
}

/** The message for an id that may stand for several orders with so many `purchases`. */
export function ambiguousOrder(purchases: number): string {
  const reason =
    purchases > MAX_ORDER_PURCHASES
      ? `more than ${MAX_ORDER_PURCHASES} purchases`
      : `${purchases} purchases, which were not all made within 48 hours`
  return `is ambiguous: it begins the ids of ${reason}. Give the whole ids`
}
