import type { StoredPurchase } from '../../domain/purchase.ts'
import { byImport, copiedTwice, importRow } from '../copied.ts'
import type { CopyMethods } from '../port.ts'
import { copyReads } from '../reads.ts'
import { DELETE_UNFINISHED, FIND_ANYTHING, FIND_UNFINISHED } from '../statements.ts'
import { IMPORT_OVERLAPS, IMPORT_ROWS, STATUS_CHANGES } from '../tables.ts'
import { unfinishedError } from '../unfinished.ts'
import { applyChanges } from './changes.ts'
import type { Connection } from './connection.ts'
import { createItemLookup } from './lookup.ts'
import { packRows } from './packed-rows.ts'
import { insertRows } from './rows.ts'
import { seqOfStore } from './stores.ts'
import { createUserBlock } from './users.ts'

export function copyMethods(db: Connection): CopyMethods {
  const reads = copyReads(db, 'i.created_at', 'p.seq = c.purchase')
  /** Does not fsync: `endCopy` makes all copied records durable. */
  const insert = (sql: string, values: readonly Parameters<Connection['run']>[1][][]) =>
    db.lazyTransaction(() => {
      for (const each of values) db.run(sql, ...each)
    })
  return {
    ...reads,
    beginCopy() {
      return db.write(() => {
        if (db.find(FIND_UNFINISHED)) return true
        if (db.find(FIND_ANYTHING)) return false
        db.run('INSERT INTO unfinished_copy (began_at) VALUES (?)', new Date().toISOString())
        return true
      })
    },
    endCopy() {
      return db.write(() => void db.run(DELETE_UNFINISHED))
    },
    insertImports: (imports) =>
      insert(
        INSERT_IMPORT,
        imports.map((each) => IMPORT_ROWS.sqliteValues(importRow(each))),
      ),
    async insertPurchases(store, purchases) {
      const seq = seqOfStore(db, store)
      await db.lazyTransaction(() => insertPurchases(db, seq, purchases))
    },
    async listStatusChanges(page) {
      await applyChanges(db)
      return reads.listStatusChanges(page)
    },
    insertStatusChanges: (changes) =>
      insert(
        INSERT_STATUS_CHANGE,
        changes.map((each) => STATUS_CHANGES.sqliteValues(each)),
      ),
    insertOverlaps: (overlaps) =>
      insert(
        INSERT_OVERLAP,
        overlaps.map((each) => IMPORT_OVERLAPS.sqliteValues(each)),
      ),
  }
}

/** Throws when the database is an unfinished copy. */
export function assertWhole(db: Connection): void {
  if (db.find(FIND_UNFINISHED)) throw unfinishedError()
}

const INSERT_IMPORT = `
  INSERT INTO imports (alive_at, ${IMPORT_ROWS.list}, store)
  SELECT 0, ${IMPORT_ROWS.names.map(() => '?').join()}, seq FROM stores
  WHERE account_id = ? AND store_id = ? ON CONFLICT (import_id) DO NOTHING`

function insertPurchases(
  db: Connection,
  store: number,
  purchases: readonly StoredPurchase[],
): void {
  const first = (db.find('SELECT max(seq) AS last FROM purchases')?.last as number) + 1
  const itemsOf = createItemLookup(db, store)
  const users = createUserBlock(db)
  let next = first
  for (const { import_id, rows } of byImport(purchases)) {
    const { seq } = db.find('SELECT seq FROM imports WHERE import_id = ?', import_id) as Numbered
    const packed = packRows(store, rows, itemsOf(rows))
    insertRows(db, seq, next, packed)
    users.addRows(packed, next)
    const last = next + rows.length - 1
    db.run(EXTEND_IMPORT, next, last, last, seq)
    next = last + 1
  }
  const added = db.run(INDEX_TRANSACTIONS, store, first, next - 1)
  if (added < purchases.length) throw copiedTwice()
  while (users.size > 0) users.writeSlice()
}

type Numbered = { readonly seq: number }

const EXTEND_IMPORT = `
  UPDATE imports SET first_purchase = iif(last_purchase = 0, ?, first_purchase),
    last_purchase = ?, users_indexed = ? WHERE seq = ?`
const INDEX_TRANSACTIONS = `
  INSERT INTO transactions (store, transaction_id, purchase)
  SELECT ?, transaction_id, seq FROM purchases WHERE seq BETWEEN ? AND ? ORDER BY transaction_id
  ON CONFLICT DO NOTHING`

const INSERT_STATUS_CHANGE = `
  INSERT INTO status_changes (import, purchase, before, after)
  SELECT i.seq, t.purchase, column3, column4 FROM (VALUES (?, ?, ?, ?))
  CROSS JOIN imports i ON i.import_id = column1
  CROSS JOIN transactions t ON t.store = i.store AND t.transaction_id = column2
  WHERE true ON CONFLICT DO NOTHING`

const INSERT_OVERLAP = `
  INSERT INTO import_overlaps (import, earlier, rows)
  SELECT i.seq, e.seq, column3 FROM (VALUES (?, ?, ?))
  CROSS JOIN imports i ON i.import_id = column1 CROSS JOIN imports e ON e.import_id = column2
  WHERE true ON CONFLICT DO NOTHING`
