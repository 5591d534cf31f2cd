import { PURCHASE_STATUSES, type PurchaseStatus } from '../domain/purchase.ts'
import { numberOf, type Row } from './columns.ts'
import { recordPage } from './pages.ts'
import type { Page, RecordPage, Refund } from './port.ts'

const REFUND_STATUSES: readonly PurchaseStatus[] = ['refunded', 'cancelled']
const REFUND_CODES = REFUND_STATUSES.map((each) => PURCHASE_STATUSES.indexOf(each))

/** Whether a status takes a purchase back. */
export function isRefundStatus(status: PurchaseStatus): boolean {
  return REFUND_STATUSES.includes(status)
}

/** Whether the column `after` has the code of a status that takes a purchase back. */
export const IS_REFUND = `after IN (${REFUND_CODES.join(', ')})`

/** A page of rows with `purchase`, `transaction_id`, `user_id`, `sku` and a code as `status`. */
export function refundPage(rows: readonly Row[], page: Page): RecordPage<Refund> {
  const refundOf = ({ purchase, transaction_id, user_id, sku, status }: Row): Refund => ({
    cursor: String(purchase),
    transaction_id: transaction_id as string,
    ...(user_id !== null && { user_id: user_id as string }),
    sku: sku as string,
    status: PURCHASE_STATUSES[numberOf(status)] as PurchaseStatus,
  })
  return recordPage(rows, page, refundOf, ({ purchase }) => purchase)
}
