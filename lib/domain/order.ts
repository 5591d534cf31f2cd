import { MAX_ORDER_MS, MAX_ORDER_PURCHASES } from './purchase.ts'

/**
 * The first text after `order/`, and the first after all texts that begin with it. Between them are
 * the ids of the purchases of an order.
 */
export function orderRange(order: string): readonly [first: string, end: string] {
  return [`${order}/`, `${order}0`] // "0" follows "/"
}

/**
 * Whether purchases may be those of one order, by their times. An id like `2024` may be the year of
 * many orders: `2024/0001`, `2024/0002`.
 */
export function isOneOrder(times: readonly number[]): boolean {
  const isShort = Math.max(...times) - Math.min(...times) <= MAX_ORDER_MS
  return times.length <= MAX_ORDER_PURCHASES && isShort
}

export function ambiguousOrder(purchases: number): string {
  const reason =
    purchases > MAX_ORDER_PURCHASES
      ? `more than ${MAX_ORDER_PURCHASES} purchases`
      : `${purchases} purchases, which were not all made within 48 hours`
  return `is ambiguous: it begins the ids of ${reason}. Give the whole ids`
}
