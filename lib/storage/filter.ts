import { PURCHASE_STATUSES } from '../domain/purchase.ts'
import type { PurchaseFilter } from '../domain/query.ts'

/**
 * Whether a list with this filter must examine purchases that do not match it, because there is no
 * index for the filter.
 */
export function isScan({ sku, status, from, to, user_id }: PurchaseFilter): boolean {
  return user_id === undefined && [sku, status, from, to].some((each) => each !== undefined)
}

interface Condition {
  /** The SQL of a comparison up to its operator, such as `p.user_id =`. */
  readonly sql: string
  readonly value: string | number
}

/**
 * Returns an SQL condition for each given field of a filter. In the query, `p` is the table of
 * purchases, `t` that of items and `i` that of imports.
 */
export function conditionsOf(
  { user_id, sku, status, import_id, from, to }: PurchaseFilter,
  statusColumn: string,
): Condition[] {
  const all = [
    { sql: 'p.user_id =', value: user_id },
    { sql: 't.name =', value: sku },
    { sql: `${statusColumn} =`, value: status && PURCHASE_STATUSES.indexOf(status) },
    { sql: 'i.import_id =', value: import_id },
    { sql: 'p.purchased_at >=', value: from },
    { sql: 'p.purchased_at <', value: to },
  ]
  return all.flatMap(({ sql, value }) => (value === undefined ? [] : [{ sql, value }]))
}
