import { PURCHASE_STATUSES, type Purchase, type PurchaseStatus } from '../../domain/purchase.ts'
import type { PurchaseFilter } from '../../domain/query.ts'
import type { Storage } from '../port.ts'
import { numberOf } from '../records.ts'
import type { Database } from './connection.ts'
import type { Row } from './drivers.ts'

/** A page of the purchases that are seen: those up to the store's last. */
export function purchaseVerbs(db: Database): Pick<Storage, 'listPurchases'> {
  return {
    async listPurchases({ account_id, store_id }, filter, { limit, after = '0' }) {
      const conditions = conditionsOf(filter)
      const rows = await db.all(
        `SELECT p.seq, i.import_id, p.transaction_id, t.name AS sku, p.purchased_at, p.user_id,
           p.quantity, p.price, p.currency, p.status, p.metadata
         FROM purchases p JOIN imports i ON i.seq = p.import JOIN items t ON t.seq = p.item
         WHERE p.store = (SELECT seq FROM stores WHERE account_id = $1 AND store_id = $2)
           AND p.seq > $3
           AND p.seq <= (SELECT last_purchase FROM stores WHERE account_id = $1 AND store_id = $2)
           ${conditions.map(({ sql }, index) => `AND ${sql} $${index + 5}`).join(' ')}
         ORDER BY p.seq LIMIT $4`,
        account_id,
        store_id,
        after,
        limit + 1,
        ...conditions.map(({ value }) => value),
      )
      const purchases = rows.slice(0, limit).map((row) => purchaseRecord(row, store_id))
      const last = rows[limit - 1]
      return rows.length > limit && last ? { purchases, next: String(last.seq) } : { purchases }
    },
  }
}

/** A condition for each part of the filter that is there. */
function conditionsOf({ user_id, sku, status, from, to }: PurchaseFilter) {
  const all: { sql: string; value: string | number | undefined }[] = [
    { sql: 'p.user_id =', value: user_id },
    { sql: 't.name =', value: sku },
    { sql: 'p.status =', value: status && PURCHASE_STATUSES.indexOf(status) },
    { sql: 'p.purchased_at >=', value: from },
    { sql: 'p.purchased_at <', value: to },
  ]
  return all.flatMap(({ sql, value }) => (value === undefined ? [] : [{ sql, value }]))
}

function purchaseRecord(row: Row, store_id: string): Purchase {
  return {
    store_id,
    import_id: row.import_id as string,
    transaction_id: row.transaction_id as string,
    sku: row.sku as string,
    purchased_at: numberOf(row.purchased_at),
    ...(row.user_id === null ? {} : { user_id: row.user_id as string }),
    quantity: row.quantity as number,
    ...(row.price === null ? {} : { price: numberOf(row.price) }),
    ...(row.currency === null ? {} : { currency: row.currency as string }),
    status: PURCHASE_STATUSES[row.status as number] as PurchaseStatus,
    metadata: (row.metadata ?? {}) as Purchase['metadata'],
  }
}
