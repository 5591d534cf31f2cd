import type { PurchaseFilter } from '../../domain/query.ts'
import { conditionsOf } from '../filter.ts'
import type { Page, StoredPurchasePage } from '../port.ts'
import { purchaseRecord } from '../records.ts'
import type { Connection } from './connection.ts'

/** What an import that is done has changed may still wait to be moved. */
const STATUS = 'coalesce(c.status, p.status)'

/** A page of the purchases that are seen: those of imports which have no owner any more. */
export function listPurchases(
  db: Connection,
  store: number,
  store_id: string,
  filter: PurchaseFilter,
  { limit, after }: Page,
): StoredPurchasePage {
  const first = Number(after ?? 0) + 1
  const conditions = conditionsOf(filter, STATUS)
  // Driven by the store's imports, each a range of rows: no index on purchases is needed.
  const rows = db.all(
    `SELECT p.seq, i.import_id, p.transaction_id, t.name AS sku, p.purchased_at, p.user_id,
       p.quantity, p.price, p.currency, ${STATUS} AS status, p.metadata
     FROM imports i
     CROSS JOIN purchases p ON p.import = i.seq
       AND p.seq BETWEEN max(i.first_purchase, ?) AND i.last_purchase
     CROSS JOIN items t ON t.seq = p.item
     LEFT JOIN purchase_changes c ON c.purchase = p.seq
       AND c.import IN (SELECT seq FROM imports WHERE owner IS NULL)
     WHERE i.store = ? AND i.owner IS NULL AND i.last_purchase >= ?
       ${conditions.map(({ sql }) => `AND ${sql} ?`).join(' ')}
     ORDER BY i.seq, p.seq LIMIT ?`,
    first,
    store,
    first,
    ...conditions.map(({ value }) => value),
    limit + 1,
  )
  const purchases = rows.slice(0, limit).map((row) => purchaseRecord(row, store_id))
  const last = rows[limit - 1]
  return rows.length > limit && last ? { purchases, next: String(last.seq) } : { purchases }
}
