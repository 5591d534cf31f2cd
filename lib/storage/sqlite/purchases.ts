import { PURCHASE_STATUSES, type Purchase, type PurchaseStatus } from '../../domain/purchase.ts'
import type { PurchaseFilter } from '../../domain/query.ts'
import type { Page, PurchasePage } from '../port.ts'
import type { Connection, Row } from './connection.ts'

/** A page of the purchases that are seen: those of imports which have no owner any more. */
export function listPurchases(
  db: Connection,
  store: number,
  store_id: string,
  filter: PurchaseFilter,
  { limit, after }: Page,
): PurchasePage {
  const first = Number(after ?? 0) + 1
  const conditions = conditionsOf(filter)
  // Driven by the store's imports, each a range of rows: no index on purchases is needed.
  const rows = db.all(
    `SELECT p.seq, i.import_id, p.transaction_id, t.name AS sku, p.purchased_at, p.user_id,
       p.quantity, p.price, p.currency, coalesce(c.status, p.status) AS status, p.metadata
     FROM imports i
     CROSS JOIN purchases p ON p.import = i.seq
       AND p.seq BETWEEN max(i.first_purchase, ?) AND i.last_purchase
     CROSS JOIN items t ON t.seq = p.item
     LEFT JOIN purchase_changes c ON c.purchase = p.seq
       AND c.import IN (SELECT seq FROM imports WHERE owner IS NULL)
     WHERE i.store = ? AND i.owner IS NULL AND i.last_purchase >= ?
       ${conditions.map(({ sql }) => `AND ${sql}`).join(' ')}
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

/** A condition for each part of the filter that is there. */
function conditionsOf({ user_id, sku, status, from, to }: PurchaseFilter) {
  const all: { sql: string; value: string | number | undefined }[] = [
    { sql: 'p.user_id = ?', value: user_id },
    { sql: 't.name = ?', value: sku },
    { sql: 'coalesce(c.status, p.status) = ?', value: status && PURCHASE_STATUSES.indexOf(status) },
    { sql: 'p.purchased_at >= ?', value: from },
    { sql: 'p.purchased_at < ?', value: to },
  ]
  return all.flatMap(({ sql, value }) => (value === undefined ? [] : [{ sql, value }]))
}

function purchaseRecord(row: Row, store_id: string): Purchase {
  return {
    store_id,
    import_id: row.import_id as string,
    transaction_id: row.transaction_id as string,
    sku: row.sku as string,
    purchased_at: row.purchased_at as number,
    ...(row.user_id === null ? {} : { user_id: row.user_id as string }),
    quantity: row.quantity as number,
    ...(row.price === null ? {} : { price: row.price as number }),
    ...(row.currency === null ? {} : { currency: row.currency as string }),
    status: PURCHASE_STATUSES[row.status as number] as PurchaseStatus,
    metadata: row.metadata === null ? {} : JSON.parse(row.metadata as string),
  }
}
