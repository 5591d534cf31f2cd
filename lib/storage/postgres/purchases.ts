import { conditionsOf } from '../filter.ts'
import type { PurchaseMethods } from '../port.ts'
import { erasedPurchaseReads, purchasePage } from '../reads.ts'
import { purchaseColumns } from '../tables.ts'
import type { Database } from './connection.ts'
import { markErased } from './erasure.ts'
import { openImport } from './imports.ts'

const STATUS = 'p.status'
const COLUMNS = purchaseColumns(STATUS)

export function purchaseMethods(db: Database): PurchaseMethods {
  return {
    ...erasedPurchaseReads(db),
    async insertErasedPurchases(store, erased) {
      await markErased(db, store, erased)
    },
    openImport: (store, import_id) => openImport(db, store, import_id),
    /** Lists the purchases up to the store's last visible one. */
    async listPurchases({ account_id, store_id }, filter, page) {
      const conditions = conditionsOf(filter, STATUS)
      const rows = await db.all(
        `SELECT ${COLUMNS}
         FROM purchases p JOIN imports i ON i.seq = p.import JOIN items t ON t.seq = p.item
         WHERE p.store = (SELECT seq FROM stores WHERE account_id = ? AND store_id = ?)
           AND p.seq > ?
           AND p.seq <= (SELECT last_purchase FROM stores WHERE account_id = ? AND store_id = ?)
           ${conditions.map(({ sql }) => `AND ${sql} ?`).join(' ')}
         ORDER BY p.seq LIMIT ?`,
        account_id,
        store_id,
        page.after ?? '0',
        account_id,
        store_id,
        ...conditions.map(({ value }) => value),
        page.limit + 1,
      )
      return purchasePage(rows, page, store_id)
    },
  }
}
