import type { ImportDetails } from '../../domain/import.ts'
import { compareRepeat, type NewPurchase, PURCHASE_STATUSES } from '../../domain/purchase.ts'
import { numberOf } from '../columns.ts'
import type { RecordedRow, StoreKey, WriteOptions } from '../port.ts'
import { recordedDetails, storedPurchase } from '../recorded.ts'
import { RECORD_IMPORT, SKIP_RECORDING } from '../statements.ts'
import { IMPORT_DETAILS, PURCHASES, purchaseColumns } from '../tables.ts'
import { recordWrite } from './audit.ts'
import { lockAuthority, lockOf, verifyAuthority } from './authority.ts'
import type { Database, Transaction } from './connection.ts'
import { clearAbandonedImports } from './leases.ts'
import { COLUMNS } from './staging.ts'

/**
 * Locks the running import, then the store. The commit of an import uses the same order, which
 * prevents a deadlock. Until this transaction ends, the running import cannot write a block,
 * because a block needs the lock of the import. No other import can start, because its row needs
 * the lock of the store.
 */
export async function recordPurchase(
  db: Database,
  store: StoreKey,
  import_id: string,
  row: NewPurchase,
  write: WriteOptions,
): Promise<RecordedRow> {
  const { account_id, store_id } = store
  const result = await db.transaction(async (tx): Promise<RecordedRow> => {
    const other = await tx.find(LOCK_IMPORT, account_id, store_id)
    await lockAuthority(tx, write.authority, lockOf.store(store))
    const locked = await tx.find(LOCK_STORE, account_id, store_id)
    if (!locked) throw new Error('the store must be inserted before its items and purchases')
    await verifyAuthority(tx, write.authority)
    if (await tx.find(FIND_NEW_IMPORT, locked.seq as number, (other?.seq as number) ?? 0)) {
      return { outcome: 'busy' }
    }
    const recorded = await recordRow(tx, store_id, locked.seq as number, import_id, row, write)
    if (recorded.outcome === 'added' || recorded.outcome === 'updated') await recordWrite(tx, write)
    return recorded
  })
  // An import of a server that died blocks this purchase until that import is deleted.
  if (result.outcome === 'busy') clearAbandonedImports(db, async () => {}).catch(() => {})
  return result
}

const LOCK_IMPORT = `
  SELECT i.seq FROM stores s JOIN imports i ON i.store = s.seq AND i.owner IS NOT NULL
  WHERE s.account_id = ? AND s.store_id = ? FOR UPDATE OF i`
const LOCK_STORE = 'SELECT seq FROM stores WHERE account_id = ? AND store_id = ? FOR UPDATE'
const FIND_NEW_IMPORT = 'SELECT 1 FROM imports WHERE store = ? AND owner IS NOT NULL AND seq <> ?'

async function recordRow(
  tx: Transaction,
  store_id: string,
  store: number,
  import_id: string,
  row: NewPurchase,
  write: WriteOptions,
): Promise<RecordedRow> {
  const item = await tx.find(FIND_ITEM, row.transaction_id, store, row.sku)
  if (!item) return { outcome: 'unknown' }
  if (item.is_deleted) return { outcome: 'skipped' }
  const found = await tx.find(FIND_TRANSACTION, store, row.transaction_id)
  if (!found) {
    const next = await tx.find(NEXT_PURCHASE, store)
    if (!next) return { outcome: 'busy' }
    const seq = numberOf(next.last_purchase)
    const details = recordedDetails(row, 'added', write)
    const added = await insertImport(tx, store, import_id, [seq, seq], details)
    await insertRow(tx, store, added, seq, row, item.seq as number)
    return { outcome: 'added', purchase: storedPurchase(row, store_id, import_id) }
  }
  if (found.is_busy) return { outcome: 'busy' }
  const stored = PURCHASES.readInto({ store_id }, found)
  const repeat = compareRepeat({ ...stored, is_erased: item.is_deleted === false }, row)
  if (repeat.outcome === 'conflict') return repeat
  if (repeat.outcome === 'skipped') {
    await tx.run(SKIP_RECORDING, found.import as number)
    return { outcome: 'skipped', purchase: stored }
  }
  const details = recordedDetails(row, 'updated', write)
  const updated = await insertImport(tx, store, import_id, NO_ROWS, details)
  const status = PURCHASE_STATUSES.indexOf(row.status)
  await tx.run(RECORD_CHANGE, updated, status, store, found.seq as string)
  await tx.run(UPDATE_STATUS, status, store, found.seq as string)
  return { outcome: 'updated', purchase: { ...stored, status: row.status } }
}

/** Finds an item by its SKU. If the purchase was erased, `is_deleted` is not null. */
const FIND_ITEM = `
  SELECT seq, (SELECT is_deleted FROM erased_purchases e
    WHERE e.store = items.store AND e.transaction_id = ?) AS is_deleted
  FROM items WHERE store = ? AND name = ?`

/**
 * Finds the stored purchase with a transaction id. `is_busy`: a running import has added or changed
 * it.
 */
const FIND_TRANSACTION = `
  SELECT ${purchaseColumns('p.status')}, p.import, i.owner IS NOT NULL OR EXISTS (
    SELECT 1 FROM purchase_changes c WHERE c.store = p.store AND c.purchase = p.seq) AS is_busy
  FROM purchases p JOIN imports i ON i.seq = p.import JOIN items t ON t.seq = p.item
  WHERE p.store = ? AND p.transaction_id = ?`

const RECORD_CHANGE = `
  INSERT INTO status_changes (store, import, purchase, before, after)
  SELECT store, ?, seq, status, ?::smallint FROM purchases WHERE store = ? AND seq = ?`
const UPDATE_STATUS = 'UPDATE purchases SET status = ? WHERE store = ? AND seq = ?'

const NO_ROWS = [1, 0] as const

async function insertImport(
  tx: Transaction,
  store: number,
  import_id: string,
  [first, last]: readonly [number, number],
  details: Partial<ImportDetails>,
): Promise<number> {
  const seq = (await tx.find(INSERT_IMPORT, import_id, store, first, last))?.seq as number
  await tx.run(RECORD_IMPORT, ...IMPORT_DETAILS.values(details), seq)
  return seq
}

const INSERT_IMPORT = `
  INSERT INTO imports (import_id, store, first_purchase, last_purchase) VALUES (?, ?, ?, ?)
  RETURNING seq`

async function insertRow(
  tx: Transaction,
  store: number,
  added: number,
  seq: number,
  row: NewPurchase,
  item: number,
): Promise<void> {
  const { metadata } = row
  await tx.run(
    INSERT,
    store,
    added,
    seq,
    row.purchased_at,
    row.price ?? null,
    item,
    row.quantity,
    PURCHASE_STATUSES.indexOf(row.status),
    row.expires_at ?? null,
    row.transaction_id,
    row.user_id ?? null,
    row.currency ?? null,
    Object.keys(metadata).length > 0 ? metadata : null,
  )
}

/**
 * Takes the next `seq` for a purchase of a store, unless a row of a running import already has it.
 */
const NEXT_PURCHASE = `
  UPDATE stores s SET last_purchase = last_purchase + 1 WHERE seq = ? AND NOT EXISTS (
    SELECT 1 FROM purchases p WHERE p.store = s.seq AND p.seq = s.last_purchase + 1)
  RETURNING last_purchase`

const INSERT = `
  INSERT INTO purchases (${COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
