import { PURCHASE_STATUSES } from '../../domain/purchase.ts'
import type { PurchaseFilter } from '../../domain/query.ts'
import type { Query } from './program.ts'
import type { CurrentColumns } from './purchases/fills.ts'

/**
 * Whether a list with this filter must examine purchases that do not match it, because there is no
 * index for the filter.
 */
export function isScan({ sku, status, from, to, user_id }: PurchaseFilter): boolean {
  return user_id === undefined && [sku, status, from, to].some((each) => each !== undefined)
}

/**
 * The SQL conditions for the given fields of a filter, each after an AND. In the query, `p` is the
 * table of purchases, `t` that of items and `i` that of imports.
 */
export function conditionsAfter(
  { user_id, sku, status, import_id, from, to, undelivered }: PurchaseFilter,
  current: Pick<CurrentColumns, 'status' | 'user_id'>,
): Query {
  const all = [
    { sql: `${current.user_id} =`, value: user_id },
    { sql: 't.name =', value: sku },
    { sql: `${current.status} =`, value: status && PURCHASE_STATUSES.indexOf(status) },
    { sql: 'i.import_id =', value: import_id },
    { sql: 'p.purchased_at >=', value: from },
    { sql: 'p.purchased_at <', value: to },
  ]
  const given = all.filter(({ value }) => value !== undefined)
  return {
    sql: given.map(({ sql }) => `AND ${sql} ?`).join(' ') + (undelivered ? IS_WAITING : ''),
    values: given.map(({ value }) => value as string | number),
  }
}

const IS_WAITING = `
  AND EXISTS (SELECT 1 FROM deliveries w WHERE w.store = i.store AND w.purchase = p.seq)`
