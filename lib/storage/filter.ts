import { PURCHASE_STATUSES } from '../domain/purchase.ts'
import type { PurchaseFilter } from '../domain/query.ts'

interface Condition {
  /** All but the place of its value, on the right. */
  readonly sql: string
  readonly value: string | number
}

/**
 * A condition for each part of the filter that is there, on purchases `p` of items `t`; a status
 * is read from `statusColumn`.
 */
export function conditionsOf(
  { user_id, sku, status, from, to }: PurchaseFilter,
  statusColumn: string,
): Condition[] {
  const all = [
    { sql: 'p.user_id =', value: user_id },
    { sql: 't.name =', value: sku },
    { sql: `${statusColumn} =`, value: status && PURCHASE_STATUSES.indexOf(status) },
    { sql: 'p.purchased_at >=', value: from },
    { sql: 'p.purchased_at <', value: to },
  ]
  return all.flatMap(({ sql, value }) => (value === undefined ? [] : [{ sql, value }]))
}
