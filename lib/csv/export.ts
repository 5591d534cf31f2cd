import { PURCHASE_FIELDS, type Purchase } from '../domain/purchase.ts'
import { EXPORT_COLUMN, EXPORT_MARK, formatRow, guard } from './write.ts'

/** The header line of a file of exported purchases. */
export const PURCHASE_HEADER = formatRow([...PURCHASE_FIELDS, EXPORT_COLUMN])

/** Formats a purchase as a row of an export that is safe to open in a spreadsheet. */
export function formatPurchase(purchase: Purchase): string {
  const {
    transaction_id,
    sku,
    purchased_at,
    user_id,
    quantity,
    price,
    currency,
    status,
    metadata,
  } = purchase
  return formatRow([
    guard(transaction_id),
    sku,
    purchased_at,
    guard(user_id ?? ''),
    String(quantity),
    price === undefined ? '' : String(price),
    currency ?? '',
    status,
    Object.keys(metadata).length === 0 ? '' : JSON.stringify(metadata),
    EXPORT_MARK,
  ])
}
