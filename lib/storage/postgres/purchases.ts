import { conditionsOf } from '../filter.ts'
import type { Storage } from '../port.ts'
import { purchaseRecord } from '../records.ts'
import type { Database } from './connection.ts'

/** A page of the purchases that are seen: those up to the store's last. */
export function purchaseMethods(db: Database): Pick<Storage, 'listPurchases'> {
  return {
    async listPurchases({ account_id, store_id }, filter, { limit, after = '0' }) {
      const conditions = conditionsOf(filter, 'p.status')
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
