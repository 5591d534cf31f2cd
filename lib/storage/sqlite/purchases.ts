import { conditionsOf } from '../filter.ts'
import type { PurchaseMethods } from '../port.ts'
import { erasedPurchaseReads, purchasePage } from '../reads.ts'
import { purchaseColumns } from '../tables.ts'
import type { Connection } from './connection.ts'
import { markErased } from './erasure.ts'
import { openImport } from './imports.ts'
import { seqOfStore } from './stores.ts'

/** A status that a committed import has changed may still wait in `purchase_changes`. */
const STATUS = 'coalesce(c.status, p.status)'
const COLUMNS = purchaseColumns(STATUS)

export function purchaseMethods(db: Connection): PurchaseMethods {
  return {
    ...erasedPurchaseReads(db),
    insertErasedPurchases(store, erased) {
      return db.write(() => markErased(db, seqOfStore(db, store), erased))
    },
    async openImport(store, import_id) {
      return openImport(db, seqOfStore(db, store), import_id)
    },
    /** Lists the purchases of committed imports, which have no owner. */
    async listPurchases(store, filter, page) {
      const seq = seqOfStore(db, store)
      const first = Number(page.after ?? 0) + 1
      const conditions = conditionsOf(filter, STATUS)
      // Reads the range of rows of each import, so that purchases need no index.
      const rows = db.all(
        `SELECT ${COLUMNS} FROM imports i
         CROSS JOIN purchases p ON p.import = i.seq
           AND p.seq BETWEEN max(i.first_purchase, ?) AND i.last_purchase
         CROSS JOIN items t ON t.seq = p.item
         LEFT JOIN purchase_changes c ON c.purchase = p.seq
           AND c.import IN (SELECT seq FROM imports WHERE owner IS NULL)
         WHERE i.store = ? AND i.owner IS NULL AND i.last_purchase >= ?
           ${conditions.map(({ sql }) => `AND ${sql} ?`).join(' ')}
         ORDER BY i.seq, p.seq LIMIT ?`,
        first,
        seq,
        first,
        ...conditions.map(({ value }) => value),
        page.limit + 1,
      )
      return purchasePage(rows, page, store.store_id)
    },
  }
}
