import type { PurchaseFilter } from '../../domain/query.ts'
import { conditionsOf, isScan } from '../filter.ts'
import { EXAMINED, recordPage } from '../pages.ts'
import type { FilteredPage, PurchaseMethods } from '../port.ts'
import { erasedPurchaseReads, importReads, purchasePage, storedPurchaseOf } from '../reads.ts'
import { storesWhere } from '../summaries.ts'
import { OWNED, purchaseColumns } from '../tables.ts'
import type { Totalizer } from '../totalizer.ts'
import type { Connection } from './connection.ts'
import type { SqliteValue } from './drivers.ts'
import { markErased } from './erasure.ts'
import { openImport } from './imports.ts'
import type { UserIndexer } from './indexer.ts'
import { recordPurchase, STATUS } from './record.ts'
import { seqOfStore } from './stores.ts'
import { countBuyers, summarizePurchases } from './summaries.ts'
import { readTotals } from './totals.ts'
import { undoImport } from './undo.ts'
import { userKey } from './user-key.ts'

const COLUMNS = purchaseColumns(STATUS)

export function purchaseMethods(
  db: Connection,
  users: UserIndexer,
  totalizer: Totalizer,
  importThreadRows: number | undefined,
): PurchaseMethods {
  return {
    ...importReads(db, 'i.created_at'),
    ...erasedPurchaseReads(db),
    insertErasedPurchases(store, erased) {
      return db.write(() => markErased(db, seqOfStore(db, store), erased))
    },
    async openImport(store, import_id) {
      return openImport(db, seqOfStore(db, store), import_id, importThreadRows)
    },
    async undoImport(store, undo, write) {
      return undoImport(db, seqOfStore(db, store), undo, write)
    },
    recordPurchase: (store, import_id, purchase, write = {}) =>
      recordPurchase(db, store, import_id, purchase, write),
    async listPurchases(store, { user_id, ...filter }, page) {
      const seq = seqOfStore(db, store)
      const first = Number(page.after ?? 0) + 1
      const last = user_id === undefined ? lastExamined(db, seq, first, filter, page) : undefined
      const found =
        user_id === undefined
          ? purchasesOfStore(seq, first, last ?? Number.MAX_SAFE_INTEGER, filter)
          : purchasesOfUser(COLUMNS, seq, user_id, first, filter)
      if (user_id !== undefined) users.wake()
      const rows = db.all(`${found.sql} LIMIT ?`, ...found.values, page.limit + 1)
      return purchasePage(rows, page, store.store_id, last)
    },
    async findTransactions(stores, transaction_id, filter, limit) {
      const selected = storesWhere(stores)
      const { sql, values } = conditionsAfter(filter)
      const rows = db.all(
        `SELECT ${COLUMNS}, s.store_id FROM stores s
         CROSS JOIN transactions tr ON tr.store = s.seq AND tr.transaction_id = ?
         CROSS JOIN purchases p ON p.seq = tr.purchase CROSS JOIN imports i ON i.seq = p.import
         ${JOINS} AND ${selected.sql} ${sql} ORDER BY s.seq LIMIT ?`,
        ...[transaction_id, ...selected.values, ...values, limit],
      )
      return rows.map(storedPurchaseOf)
    },
    async listOwned(store, user_id, page, now) {
      const filter = { status: 'purchased' } as const
      const columns = 'p.seq AS seq, t.name, p.quantity, p.purchased_at, p.expires_at'
      const found = purchasesOfUser(columns, seqOfStore(db, store), user_id, 1, filter)
      users.wake()
      const rows = db.all(
        `SELECT name AS sku, sum(quantity) AS quantity, min(purchased_at) AS first_purchased_at,
           max(purchased_at) AS last_purchased_at
         FROM (${found.sql}) WHERE name > ? AND (expires_at IS NULL OR expires_at > ?)
         GROUP BY name ORDER BY name LIMIT ?`,
        ...found.values,
        page.after ?? '',
        now,
        page.limit + 1,
      )
      return recordPage(rows, page, OWNED.read, ({ sku }) => sku)
    },
    summarizePurchases: (stores, filter, by, most) =>
      summarizePurchases(db, stores, filter, by, most),
    readTotals: async (store, query) =>
      readTotals(db, seqOfStore(db, store), query, totalizer.wake),
    completeTotals: async (store) => totalizer.run(seqOfStore(db, store)),
    async findPurchaseVersion(store) {
      const seq = seqOfStore(db, store)
      const row = db.find(FIND_VERSION, seq, seq)
      return `${row?.version}.${row?.last}`
    },
    countBuyers: (store, from) => countBuyers(db, store, from),
    indexUsers: () => users.run(),
  }
}

const FIND_VERSION = `
  SELECT coalesce((SELECT version FROM purchase_versions WHERE store = ?), 0) AS version, (
    SELECT last_purchase FROM imports WHERE store = ? AND owner IS NULL
    ORDER BY last_purchase DESC LIMIT 1) AS last`

interface Query {
  readonly sql: string
  readonly values: readonly SqliteValue[]
}

/** Joins purchases `p` with their items and changed statuses. Only committed imports `i` count. */
const JOINS = `
  CROSS JOIN items t ON t.seq = p.item
  LEFT JOIN purchase_changes c ON c.purchase = p.seq
    AND EXISTS (SELECT 1 FROM imports ci WHERE ci.seq = c.import AND ci.owner IS NULL)
  WHERE i.owner IS NULL`

/**
 * The `seq` of the last purchase that this page may examine. Undefined if the page may examine all
 * remaining purchases.
 */
function lastExamined(
  db: Connection,
  store: number,
  first: number,
  filter: PurchaseFilter,
  { examine = EXAMINED }: FilteredPage,
): number | undefined {
  if (!isScan(filter)) return undefined
  const { import_id = null } = filter
  const row = db.find(LAST_EXAMINED, first, store, first, import_id, import_id, examine - 1)
  return row?.seq as number | undefined
}

const LAST_EXAMINED = `
  SELECT p.seq FROM imports i
    CROSS JOIN purchases p ON p.import = i.seq
      AND p.seq BETWEEN max(i.first_purchase, ?) AND i.last_purchase
  WHERE i.owner IS NULL AND i.store = ? AND i.last_purchase >= ?
    AND (? IS NULL OR i.import_id = ?)
  ORDER BY i.last_purchase, i.seq, p.seq LIMIT 1 OFFSET ?`

/** Reads the range of rows of each import. Purchases therefore need no index by store. */
function purchasesOfStore(
  store: number,
  first: number,
  last: number,
  filter: PurchaseFilter,
): Query {
  const { sql, values } = conditionsAfter(filter)
  return {
    sql: `SELECT ${COLUMNS} FROM imports i
      CROSS JOIN purchases p ON p.import = i.seq
        AND p.seq BETWEEN max(i.first_purchase, ?) AND min(i.last_purchase, ?)
      ${JOINS} AND i.store = ? AND i.last_purchase >= ? ${sql}
      ORDER BY i.last_purchase, i.seq, p.seq`,
    values: [first, last, store, first, ...values],
  }
}

/** Reads the indexed purchases of a user, and scans the rows that are not indexed yet. */
function purchasesOfUser(
  columns: string,
  store: number,
  user_id: string,
  first: number,
  filter: PurchaseFilter,
): Query {
  const { sql, values } = conditionsAfter(filter)
  const ofUser = [store, user_id, ...values]
  // Selects `u.purchase`, the column of the index, instead of the equal `p.seq`. SQLite then knows
  // that the rows are already sorted, and the query takes 0.76 of the time.
  const indexed = columns.replace('p.seq', 'u.purchase')
  return {
    sql: `SELECT ${indexed} FROM purchase_users u
        CROSS JOIN purchases p ON p.seq = u.purchase
        CROSS JOIN imports i ON i.seq = p.import AND u.purchase <= i.users_indexed
        ${JOINS} AND u.user_key = ? AND u.purchase >= ? AND i.store = ? AND p.user_id = ? ${sql}
      UNION ALL
      SELECT ${columns} FROM imports i
        CROSS JOIN purchases p ON p.import = i.seq
          AND p.seq BETWEEN max(i.first_purchase, i.users_indexed + 1, ?) AND i.last_purchase
        ${JOINS} AND i.last_purchase > i.users_indexed AND i.store = ? AND p.user_id = ? ${sql}
      ORDER BY 1`,
    values: [userKey(store, user_id), first, ...ofUser, first, ...ofUser],
  }
}

function conditionsAfter(filter: PurchaseFilter): Query {
  const conditions = conditionsOf(filter, STATUS)
  return {
    sql: conditions.map(({ sql }) => `AND ${sql} ?`).join(' '),
    values: conditions.map(({ value }) => value),
  }
}
