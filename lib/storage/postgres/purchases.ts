import { conditionsOf } from '../filter.ts'
import { recordPage } from '../pages.ts'
import type { PurchaseMethods } from '../port.ts'
import { erasedPurchaseReads, importReads, purchasePage } from '../reads.ts'
import { OWNED, purchaseColumns } from '../tables.ts'
import type { Database } from './connection.ts'
import { markErased } from './erasure.ts'
import { openImport } from './imports.ts'
import { recordPurchase } from './record.ts'
import { summarizePurchases } from './summaries.ts'
import { undoImport } from './undo.ts'

const STATUS = 'p.status'
export const CREATED_AT = `to_char(i.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`
const COLUMNS = purchaseColumns(STATUS)

/**
 * The range of an import's rows. An import of an earlier version has no range, so this covers all
 * rows.
 */
const WITHIN_IMPORT = `
  AND p.seq >= (SELECT coalesce(max(first_purchase), 0) FROM imports WHERE import_id = ?)
  AND p.seq <= (SELECT coalesce(max(last_purchase), ${Number.MAX_SAFE_INTEGER}) FROM imports
    WHERE import_id = ?)`

/** The purchases `p` up to the store's last visible one, without those of undone imports `i`. */
const OF_STORE = `
  p.store = (SELECT seq FROM stores WHERE account_id = ? AND store_id = ?)
    AND p.seq <= (SELECT last_purchase FROM stores WHERE account_id = ? AND store_id = ?)
    AND i.undone_at IS NULL`

export function purchaseMethods(db: Database): PurchaseMethods {
  return {
    ...importReads(db, CREATED_AT),
    ...erasedPurchaseReads(db),
    async insertErasedPurchases(store, erased) {
      await markErased(db, store, erased)
    },
    openImport: (store, import_id) => openImport(db, store, import_id),
    undoImport: (store, undo, write) => undoImport(db, store, undo, write),
    recordPurchase: (store, import_id, purchase, write = {}) =>
      recordPurchase(db, store, import_id, purchase, write),
    async listPurchases({ account_id, store_id }, filter, page) {
      const conditions = conditionsOf(filter, STATUS)
      const { import_id } = filter
      const range = import_id === undefined ? [] : [import_id, import_id]
      const rows = await db.all(
        `SELECT ${COLUMNS}
         FROM purchases p JOIN imports i ON i.seq = p.import JOIN items t ON t.seq = p.item
         WHERE ${OF_STORE} AND p.seq > ? ${import_id === undefined ? '' : WITHIN_IMPORT}
           ${conditions.map(({ sql }) => `AND ${sql} ?`).join(' ')}
         ORDER BY p.seq LIMIT ?`,
        account_id,
        store_id,
        account_id,
        store_id,
        page.after ?? '0',
        ...range,
        ...conditions.map(({ value }) => value),
        page.limit + 1,
      )
      return purchasePage(rows, page, store_id)
    },
    async listOwned({ account_id, store_id }, user_id, page) {
      const rows = await db.all(
        LIST_OWNED,
        account_id,
        store_id,
        account_id,
        store_id,
        user_id,
        page.after ?? '',
        page.limit + 1,
      )
      return recordPage(rows, page, OWNED.read, ({ sku }) => sku)
    },
    summarizePurchases: (stores, filter, by) => summarizePurchases(db, stores, filter, by),
  }
}

const LIST_OWNED = `
  SELECT t.name AS sku, sum(p.quantity) AS quantity, min(p.purchased_at) AS first_purchased_at,
    max(p.purchased_at) AS last_purchased_at
  FROM purchases p JOIN imports i ON i.seq = p.import JOIN items t ON t.seq = p.item
  WHERE ${OF_STORE} AND p.user_id = ? AND p.status = 0 AND t.name > ?
  GROUP BY t.name ORDER BY t.name LIMIT ?`
