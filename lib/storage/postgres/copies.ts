import { PURCHASE_STATUSES, type StoredPurchase } from '../../domain/purchase.ts'
import { numberOf } from '../columns.ts'
import { byImport, copiedTwice, type ImportGroup, importRow } from '../copied.ts'
import type { CopyMethods, StatusChange, StoreKey } from '../port.ts'
import { copyReads } from '../reads.ts'
import { DELETE_UNFINISHED, FIND_ANYTHING, FIND_UNFINISHED } from '../statements.ts'
import { IMPORT_OVERLAPS, IMPORT_ROWS, STATUS_CHANGES } from '../tables.ts'
import { unfinishedError } from '../unfinished.ts'
import type { Connection, Database, Transaction } from './connection.ts'
import { isUniqueViolation } from './drivers.ts'
import { createItemLookup } from './lookup.ts'
import { CREATED_AT } from './purchases.ts'
import { COLUMNS, entryOf, lineOf } from './staging.ts'
import { insertionOfMany } from './statements.ts'

export function copyMethods(db: Database): CopyMethods {
  const insertMany = async (sql: string, records: readonly object[]) => {
    await db.run(sql, records as object[])
  }
  return {
    ...copyReads(db, CREATED_AT, 'p.store = c.store AND p.seq = c.purchase'),
    beginCopy() {
      return db.transaction(async (tx) => {
        // Waits for the transactions that write these tables. Until they commit, this transaction
        // cannot see their rows.
        await tx.exec('LOCK TABLE accounts, signing_keys, audit, unfinished_copy IN EXCLUSIVE MODE')
        if (await tx.find(FIND_UNFINISHED)) return true
        if (await tx.find(FIND_ANYTHING)) return false
        await tx.run('INSERT INTO unfinished_copy DEFAULT VALUES')
        return true
      })
    },
    async endCopy() {
      await db.run(DELETE_UNFINISHED)
    },
    insertImports: (imports) => insertMany(INSERT_IMPORTS, imports.map(importRow)),
    async insertPurchases(store, purchases) {
      try {
        await db.transaction((tx) => insertPurchases(tx, store, purchases))
      } catch (error) {
        throw isUniqueViolation(error) ? copiedTwice() : error
      }
    },
    insertStatusChanges: (changes) =>
      insertMany(
        INSERT_STATUS_CHANGES,
        changes.map((each) => ({ ...each, ...codesOf(each) })),
      ),
    insertOverlaps: (overlaps) => insertMany(INSERT_OVERLAPS, overlaps),
  }
}

/** Throws when the database is an unfinished copy. */
export async function assertWhole(on: Connection): Promise<void> {
  if (await on.find(FIND_UNFINISHED)) throw unfinishedError()
}

function codesOf({ before, after }: StatusChange) {
  return { before: PURCHASE_STATUSES.indexOf(before), after: PURCHASE_STATUSES.indexOf(after) }
}

const INSERT_IMPORTS = insertionOfMany(IMPORT_ROWS)

async function insertPurchases(
  tx: Transaction,
  { account_id, store_id }: StoreKey,
  purchases: readonly StoredPurchase[],
): Promise<void> {
  const found = await tx.find(LOCK_STORE, account_id, store_id)
  if (!found) throw new Error('the store must be inserted before its items and purchases')
  const store = found.seq as number
  const groups = byImport(purchases)
  const imports = await findImports(tx, groups)
  const itemsOf = createItemLookup(tx, store)
  const lines: string[] = []
  const ranges: object[] = []
  let last = numberOf(found.last_purchase)
  for (const { import_id, rows } of groups) {
    const items = await itemsOf(rows)
    const seq = imports.get(import_id) as number
    const first = last + 1
    for (const row of rows) {
      lines.push(lineOf({ store, import: seq }, ++last, entryOf(row, items.get(row.sku) as number)))
    }
    ranges.push({ seq, first, last })
  }
  await tx.copy(`purchases (${COLUMNS})`, lines)
  await tx.run(EXTEND_IMPORTS, ranges)
  await tx.run('UPDATE stores SET last_purchase = ? WHERE seq = ?', last, store)
}

async function findImports(tx: Transaction, groups: readonly ImportGroup[]) {
  const rows = await tx.all(
    FIND_IMPORTS,
    groups.map(({ import_id }) => import_id),
  )
  return new Map(rows.map(({ import_id, seq }) => [import_id as string, seq as number]))
}

const LOCK_STORE = `
  SELECT seq, last_purchase FROM stores WHERE account_id = ? AND store_id = ? FOR UPDATE`
const FIND_IMPORTS = `
  SELECT import_id, seq FROM imports WHERE import_id IN (SELECT json_array_elements_text(?))`
const EXTEND_IMPORTS = `
  UPDATE imports i SET last_purchase = r.last,
    first_purchase = CASE i.last_purchase WHEN 0 THEN r.first ELSE i.first_purchase END
  FROM json_to_recordset(?) AS r (seq integer, first bigint, last bigint) WHERE i.seq = r.seq`

// The LATERAL join prevents a scan of all purchases: the planner has no statistics for new rows.
const INSERT_STATUS_CHANGES = `
  INSERT INTO status_changes (store, import, purchase, before, after)
  SELECT i.store, i.seq, p.seq, r.before, r.after
  FROM json_to_recordset(?) AS r (${STATUS_CHANGES.typedFields})
  JOIN imports i ON i.import_id = r.import_id
  CROSS JOIN LATERAL (
    SELECT seq FROM purchases
    WHERE store = i.store AND transaction_id = r.transaction_id LIMIT 1) p
  ON CONFLICT DO NOTHING`

const INSERT_OVERLAPS = `
  INSERT INTO import_overlaps (import, earlier, rows)
  SELECT i.seq, e.seq, r.rows FROM json_to_recordset(?) AS r (${IMPORT_OVERLAPS.typedFields})
  JOIN imports i ON i.import_id = r.import_id JOIN imports e ON e.import_id = r.earlier_id
  ON CONFLICT DO NOTHING`
