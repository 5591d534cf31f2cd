import { PURCHASE_STATUSES, type PurchaseStatus } from '../../../domain/purchase.ts'
import { numberOf, type Row } from '../columns.ts'
import type { Refund } from './records.ts'

const REFUND_STATUSES: readonly PurchaseStatus[] = ['refunded', 'cancelled']
const REFUND_CODES = REFUND_STATUSES.map((each) => PURCHASE_STATUSES.indexOf(each))

/** The SQL for whether the column `after` holds the number of `refunded` or `cancelled`. */
export const IS_REFUND = `after IN (${REFUND_CODES.join(', ')})`

/** The most changes of an import that one page examines. */
export const EXAMINED_REFUNDS = 5_000

/** Makes a refund from a row of a query. The column `status` holds the number of the status. */
export function refundOf({ purchase, transaction_id, user_id, sku, status }: Row): Refund {
  return {
    cursor: String(purchase),
    transaction_id: transaction_id as string,
    ...(user_id !== null && { user_id: user_id as string }),
    sku: sku as string,
    status: PURCHASE_STATUSES[numberOf(status)] as PurchaseStatus,
  }
}
