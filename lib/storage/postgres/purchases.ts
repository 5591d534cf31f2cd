import { conditionsOf, isScan } from '../filter.ts'
import { EXAMINED, recordPage } from '../pages.ts'
import type { PurchaseMethods } from '../port.ts'
import { erasedPurchaseReads, importReads, purchasePage, storedPurchaseOf } from '../reads.ts'
import { storesWhere } from '../summaries.ts'
import { OWNED, purchaseColumns } from '../tables.ts'
import type { Totalizer } from '../totalizer.ts'
import type { Database } from './connection.ts'
import { markErased } from './erasure.ts'
import { openImport } from './imports.ts'
import { recordPurchase } from './record.ts'
import { countBuyers, summarizePurchases } from './summaries.ts'
import { readTotals } from './totals.ts'
import { undoImport } from './undo.ts'

const STATUS = 'p.status'
export const CREATED_AT = `to_char(i.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`
const COLUMNS = purchaseColumns(STATUS)

/**
 * An SQL condition that limits the purchases `p` to the range of an import's rows. If an import has
 * no range, because an earlier version wrote it, the condition allows all rows.
 */
const WITHIN_IMPORT = `
  AND p.seq >= (SELECT coalesce(max(first_purchase), 0) FROM imports WHERE import_id = ?)
  AND p.seq <= (SELECT coalesce(max(last_purchase), ${Number.MAX_SAFE_INTEGER}) FROM imports
    WHERE import_id = ?)`

/**
 * An SQL condition that selects the committed purchases `p` of a store. They include rows of undone
 * imports that are not deleted yet.
 */
const OF_STORE = `
  p.store = (SELECT seq FROM stores WHERE account_id = ? AND store_id = ?)
    AND p.seq <= (SELECT last_purchase FROM stores WHERE account_id = ? AND store_id = ?)`

const lastExamined = (within: string) => `
  SELECT p.seq::text AS seq FROM purchases p
  WHERE ${OF_STORE} AND p.seq > ? ${within} ORDER BY p.seq LIMIT 1 OFFSET ?`

const AFTER_ALL = '9223372036854775807'

export function purchaseMethods(db: Database, totalizer: Totalizer): PurchaseMethods {
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
      const within = import_id === undefined ? '' : WITHIN_IMPORT
      const { after = '0', limit, examine = EXAMINED } = page
      const owner = [account_id, store_id, account_id, store_id]
      const end = isScan(filter)
        ? await db.find(lastExamined(within), ...owner, after, ...range, examine - 1)
        : undefined
      const last = end?.seq as string | undefined
      const rows = await db.all(
        `SELECT ${COLUMNS}
         FROM purchases p JOIN imports i ON i.seq = p.import JOIN items t ON t.seq = p.item
         WHERE ${OF_STORE} AND i.undone_at IS NULL AND p.seq > ? AND p.seq <= CAST(? AS bigint)
           ${within}
           ${conditions.map(({ sql }) => `AND ${sql} ?`).join(' ')}
         ORDER BY p.seq LIMIT ?`,
        ...owner,
        after,
        last ?? AFTER_ALL,
        ...range,
        ...conditions.map(({ value }) => value),
        limit + 1,
      )
      return purchasePage(rows, page, store_id, last)
    },
    async findTransactions(stores, transaction_id, filter, limit) {
      const selected = storesWhere(stores)
      const conditions = conditionsOf(filter, STATUS)
      const rows = await db.all(
        `SELECT ${COLUMNS}, s.store_id FROM stores s
         JOIN purchases p ON p.store = s.seq AND p.transaction_id = ? AND p.seq <= s.last_purchase
         JOIN imports i ON i.seq = p.import JOIN items t ON t.seq = p.item
         WHERE i.undone_at IS NULL AND ${selected.sql}
           ${conditions.map(({ sql }) => `AND ${sql} ?`).join(' ')}
         ORDER BY s.seq LIMIT ?`,
        ...[transaction_id, ...selected.values, ...conditions.map(({ value }) => value), limit],
      )
      return rows.map(storedPurchaseOf)
    },
    async listOwned({ account_id, store_id }, user_id, page, now) {
      const rows = await db.all(
        LIST_OWNED,
        account_id,
        store_id,
        account_id,
        store_id,
        user_id,
        page.after ?? '',
        now,
        page.limit + 1,
      )
      return recordPage(rows, page, OWNED.read, ({ sku }) => sku)
    },
    summarizePurchases: (stores, filter, by, most) =>
      summarizePurchases(db, stores, filter, by, most),
    readTotals: (store, query) => readTotals(db, store, query, totalizer.wake),
    async completeTotals({ account_id, store_id }) {
      const row = await db.find(FIND_STORE, account_id, store_id)
      await totalizer.run(row?.seq as number)
    },
    async findPurchaseVersion({ account_id, store_id }) {
      const row = await db.find(FIND_VERSION, account_id, store_id)
      return `${row?.version}.${row?.last}`
    },
    countBuyers: (store, from) => countBuyers(db, store, from),
  }
}

const FIND_STORE = 'SELECT seq FROM stores WHERE account_id = ? AND store_id = ?'

const FIND_VERSION = `
  SELECT coalesce(v.version, 0)::text AS version, s.last_purchase::text AS last
  FROM stores s LEFT JOIN purchase_versions v ON v.store = s.seq
  WHERE s.account_id = ? AND s.store_id = ?`

const LIST_OWNED = `
  SELECT t.name AS sku, sum(p.quantity) AS quantity, min(p.purchased_at) AS first_purchased_at,
    max(p.purchased_at) AS last_purchased_at
  FROM purchases p JOIN imports i ON i.seq = p.import JOIN items t ON t.seq = p.item
  WHERE ${OF_STORE} AND i.undone_at IS NULL AND p.user_id = ? AND p.status = 0 AND t.name > ?
    AND (p.expires_at IS NULL OR p.expires_at > ?)
  GROUP BY t.name ORDER BY t.name LIMIT ?`
