import { PURCHASE_FIELDS, type Purchase } from '../domain/purchase.ts'
import { EXPORT_COLUMN, EXPORT_MARK, formatRow, guard } from './write.ts'

/** The header line of a file of exported purchases. */
export const PURCHASE_HEADER = formatRow([...PURCHASE_FIELDS, EXPORT_COLUMN])

/** Formats a purchase as a row of an export that is safe to open in a spreadsheet. */
export function formatPurchase(purchase: Purchase): string {
  const { transaction_id, user_id = '', metadata } = purchase
  const cells = {
    ...purchase,
    transaction_id: guard(transaction_id),
    user_id: guard(user_id),
    metadata: Object.keys(metadata).length === 0 ? '' : JSON.stringify(metadata),
  }
  return formatRow([...PURCHASE_FIELDS.map((field) => String(cells[field] ?? '')), EXPORT_MARK])
}
