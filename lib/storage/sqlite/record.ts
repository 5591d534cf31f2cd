import type { ImportDetails } from '../../domain/import.ts'
import { compareRepeat, type NewPurchase } from '../../domain/purchase.ts'
import type { RecordedRow, StoreKey, WriteOptions } from '../port.ts'
import { recordedDetails, storedPurchase } from '../recorded.ts'
import { RECORD_IMPORT, SKIP_RECORDING } from '../statements.ts'
import { IMPORT_DETAILS, PURCHASES, purchaseColumns } from '../tables.ts'
import { recordWrite } from './audit.ts'
import { verifyAuthority } from './authority.ts'
import { changeStatus } from './changes.ts'
import type { Connection } from './connection.ts'
import { clearImport, type ImportRow, isAlive } from './leases.ts'
import { packRows } from './packed-rows.ts'
import { statusCode } from './repeats.ts'
import { insertRows } from './rows.ts'
import { seqOfStore } from './stores.ts'
import { userKey } from './user-key.ts'

/** If a committed import has changed a status, the new one may still be in `purchase_changes`. */
export const STATUS = 'coalesce(c.status, p.status)'

export async function recordPurchase(
  db: Connection,
  key: StoreKey,
  import_id: string,
  row: NewPurchase,
  write: WriteOptions,
): Promise<RecordedRow> {
  const store = seqOfStore(db, key)
  const result = await db.write(() => {
    verifyAuthority(db, write.authority)
    const recorded = recordRow(db, key, store, import_id, row, write)
    if (recorded.outcome === 'added' || recorded.outcome === 'updated') recordWrite(db, write)
    return recorded
  })
  if (result.outcome === 'busy') clearIfAbandoned(db, store)
  return result
}

function recordRow(
  db: Connection,
  { store_id }: StoreKey,
  store: number,
  import_id: string,
  row: NewPurchase,
  write: WriteOptions,
): RecordedRow {
  const item = db.find('SELECT seq FROM items WHERE store = ? AND name = ?', store, row.sku)
  if (!item) return { outcome: 'unknown' }
  const found = db.find(FIND_TRANSACTION, store, row.transaction_id)
  if (!found) {
    if (db.find(FIND_DELETED, store, row.transaction_id)) return { outcome: 'skipped' }
    const seq = nextPurchase(db, store)
    if (seq === undefined) return { outcome: 'busy' }
    const added = insertImport(
      db,
      store,
      import_id,
      [seq, seq],
      recordedDetails(row, 'added', write),
    )
    insertRow(db, store, added, seq, row, item.seq as number)
    return { outcome: 'added', purchase: storedPurchase(row, store_id, import_id) }
  }
  if (found.is_busy) return { outcome: 'busy' }
  const stored = PURCHASES.readInto({ store_id }, found)
  const repeat = compareRepeat({ ...stored, is_erased: found.is_erased === 1 }, row)
  if (repeat.outcome === 'conflict') return repeat
  if (repeat.outcome === 'skipped') {
    db.run(SKIP_RECORDING, found.import as number)
    return { outcome: 'skipped', purchase: stored }
  }
  const details = recordedDetails(row, 'updated', write)
  const updated = insertImport(db, store, import_id, NO_ROWS, details)
  changeStatus(db, updated, found.seq as number, statusCode(row.status))
  return { outcome: 'updated', purchase: { ...stored, status: row.status } }
}

const FIND_DELETED =
  'SELECT 1 FROM erased_purchases WHERE store = ? AND transaction_id = ? AND is_deleted'

/**
 * Finds the stored purchase with a transaction id. `is_busy`: a running import has added or changed
 * it. `is_erased`: its user was erased.
 */
const FIND_TRANSACTION = `
  SELECT ${purchaseColumns(STATUS)}, p.import,
    i.owner IS NOT NULL OR ci.owner IS NOT NULL AS is_busy, e.store IS NOT NULL AS is_erased
  FROM transactions tr JOIN purchases p ON p.seq = tr.purchase
  JOIN imports i ON i.seq = p.import JOIN items t ON t.seq = p.item
  LEFT JOIN purchase_changes c ON c.purchase = p.seq LEFT JOIN imports ci ON ci.seq = c.import
  LEFT JOIN erased_purchases e ON e.store = tr.store AND e.transaction_id = tr.transaction_id
  WHERE tr.store = ? AND tr.transaction_id = ?`

/** The next free `seq`, lower than those of a running import; undefined if none is free. */
function nextPurchase(db: Connection, store: number): number | undefined {
  const other = db.find(FIND_OTHER, store)
  const end = other ? (other.first_purchase as number) : Number.MAX_SAFE_INTEGER
  const last = db.find(FIND_LAST, end, store, end)?.last
  const next = Number(last ?? 0) + 1
  return next < end ? next : undefined
}

/**
 * Finds the last `seq` in use. Also reads the ranges of imports: if the last rows of an import were
 * deleted with their user, their `seq` must not be used again.
 */
const FIND_LAST = `
  SELECT max(
    (SELECT coalesce(max(seq), 0) FROM purchases WHERE seq < ?),
    (SELECT coalesce(max(last_purchase), 0) FROM imports WHERE store = ? AND last_purchase < ?)
  ) AS last`

const FIND_OTHER = 'SELECT * FROM imports WHERE store = ? AND owner IS NOT NULL'

const NO_ROWS = [1, 0] as const

function insertImport(
  db: Connection,
  store: number,
  import_id: string,
  [first, last]: readonly [number, number],
  details: Partial<ImportDetails>,
): number {
  const now = new Date()
  db.run(INSERT_IMPORT, import_id, store, now.getTime(), first, last, last, now.toISOString())
  const seq = db.find('SELECT seq FROM imports WHERE import_id = ?', import_id)?.seq as number
  db.run(RECORD_IMPORT, ...IMPORT_DETAILS.sqliteValues(details), seq)
  return seq
}

const INSERT_IMPORT = `
  INSERT INTO imports
    (import_id, store, alive_at, first_purchase, last_purchase, users_indexed, created_at)
  VALUES (?, ?, ?, ?, ?, ?, ?)`

function insertRow(
  db: Connection,
  store: number,
  added: number,
  seq: number,
  row: NewPurchase,
  item: number,
): void {
  insertRows(db, added, seq, packRows(store, [row], new Map([[row.sku, item]])))
  db.run('INSERT INTO transactions VALUES (?, ?, ?)', store, row.transaction_id, seq)
  const { user_id } = row
  if (user_id !== undefined)
    db.run(
      'INSERT INTO purchase_users VALUES (?, ?) ON CONFLICT DO NOTHING',
      userKey(store, user_id),
      seq,
    )
}

/** Deletes the running import of a store in the background, if that import is abandoned. */
function clearIfAbandoned(db: Connection, store: number): void {
  const other = db.find(FIND_OTHER, store) as unknown as ImportRow | undefined
  if (other && !isAlive(other)) clearImport(db, other).catch(() => {})
}
