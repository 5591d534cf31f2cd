import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { setImmediate } from 'node:timers/promises'
import {
  judgeRepeat,
  type NewPurchase,
  type Purchase,
  type PurchaseIdentity,
  type PurchaseStatus,
} from '../../domain/purchase.ts'
import { TillError } from '../../errors.ts'
import type { Page, PurchaseImport, PurchasePage, StagedRows, StoreKey } from '../port.ts'
import type { Connection, Row } from './connection.ts'

/**
 * Starts an import. Its rows go straight into `purchases`, slice by slice, and are not seen while the
 * import has an owner: so no lock is held between slices, and the commit is one row. A store's unique
 * index on `imports` lets one import at a time in.
 */
export async function openImport(
  db: Connection,
  key: StoreKey,
  import_id: string,
): Promise<PurchaseImport | undefined> {
  const store = seqOf(db, key)
  const other = db.find('SELECT * FROM imports WHERE store = ? AND owner IS NOT NULL', store)
  if (other && isAlive(other)) return undefined
  if (other) await clearImport(db, other)
  const claimed = db.run(
    `INSERT INTO imports (import_id, store, owner, alive_at, created_at) VALUES (?, ?, ?, ?, ?)
     ON CONFLICT (store) WHERE owner IS NOT NULL DO NOTHING`,
    import_id,
    store,
    OWNER,
    Date.now(),
    new Date().toISOString(),
  )
  if (claimed === 0) return undefined
  const { seq } = db.find('SELECT seq FROM imports WHERE import_id = ?', import_id) as {
    seq: number
  }
  return importInto(db, store, seq)
}

function importInto(db: Connection, store: number, seq: number): PurchaseImport {
  const heartbeat = setInterval(() => keepAlive(db, seq), HEARTBEAT_MS).unref()
  const end = () => clearInterval(heartbeat)
  return {
    async stage(rows) {
      const staged = db.transaction(() => {
        assertOwned(db, seq)
        return stageRows(db, store, seq, rows)
      })
      await setImmediate() // other requests have their turn between slices
      return staged
    },
    async commit() {
      db.transaction(() => {
        assertOwned(db, seq)
        applyChanges(db, store, seq)
        db.run('UPDATE imports SET owner = NULL WHERE seq = ?', seq)
      })
      end()
    },
    async abort() {
      end()
      await clearImport(db, { seq, store })
    },
  }
}

const INSERT = `
  INSERT INTO purchases (store, import, line, transaction_id, sku, purchased_at, user_id, quantity,
    price, currency, status, metadata)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (store, transaction_id) DO NOTHING`

function stageRows(
  db: Connection,
  store: number,
  seq: number,
  rows: readonly NewPurchase[],
): StagedRows {
  const result = { added: 0, skipped: 0, updated: 0 }
  const conflicts: { line: number; field: StagedRows['conflicts'][number]['field'] }[] = []
  for (const row of rows) {
    if (insert(db, store, seq, row)) {
      result.added++
      continue
    }
    const stored = findStored(db, store, seq, row.transaction_id)
    const repeat = judgeRepeat(stored, row)
    if (repeat.outcome === 'conflict') conflicts.push({ line: row.line, field: repeat.field })
    else result[repeat.outcome]++
    if (repeat.outcome === 'updated') stageChange(db, store, seq, row, stored.import === seq)
  }
  return { ...result, conflicts }
}

function insert(db: Connection, store: number, seq: number, row: NewPurchase): boolean {
  const changes = db.run(
    INSERT,
    store,
    seq,
    row.line,
    row.transaction_id,
    row.sku,
    row.purchased_at,
    row.user_id ?? null,
    row.quantity,
    row.price ?? null,
    row.currency ?? null,
    row.status,
    JSON.stringify(row.metadata),
  )
  return changes === 1
}

/** The purchase that has the transaction's id, as this import has left it so far. */
function findStored(
  db: Connection,
  store: number,
  seq: number,
  transaction_id: string,
): PurchaseIdentity & { import: number } {
  const row = db.find(
    `SELECT p.import, p.sku, p.user_id, p.price, p.currency, p.quantity,
       coalesce(c.status, p.status) AS status
     FROM purchases p
     LEFT JOIN purchase_changes c ON c.import = ? AND c.transaction_id = p.transaction_id
     WHERE p.store = ? AND p.transaction_id = ?`,
    seq,
    store,
    transaction_id,
  ) as Row
  return { ...purchaseFields(row), import: row.import as number }
}

// A row of this very import is not seen by anyone yet and is changed in place.
function stageChange(
  db: Connection,
  store: number,
  seq: number,
  row: NewPurchase,
  inPlace: boolean,
): void {
  if (inPlace) {
    db.run(
      'UPDATE purchases SET status = ? WHERE store = ? AND transaction_id = ?',
      row.status,
      store,
      row.transaction_id,
    )
  } else {
    db.run(
      `INSERT INTO purchase_changes (import, store, transaction_id, status) VALUES (?, ?, ?, ?)
       ON CONFLICT (import, transaction_id) DO UPDATE SET status = excluded.status`,
      seq,
      store,
      row.transaction_id,
      row.status,
    )
  }
}

function applyChanges(db: Connection, store: number, seq: number): void {
  db.run(
    `UPDATE purchases SET status = c.status FROM purchase_changes c
     WHERE c.import = ? AND purchases.store = ? AND purchases.transaction_id = c.transaction_id`,
    seq,
    store,
  )
  db.run('DELETE FROM purchase_changes WHERE import = ?', seq)
}

// Whose import it is: an import whose process is gone is cleared by whoever comes next. On the same
// host the process is asked for; from elsewhere (a container on the same volume) the lease decides.
const INSTANCE = randomUUID()
const OWNER = JSON.stringify({ host: hostname(), pid: process.pid, instance: INSTANCE })
const HEARTBEAT_MS = 5_000
const LEASE_MS = 30_000

function isAlive({ owner, alive_at }: Row): boolean {
  const { host, pid, instance } = JSON.parse(owner as string) as {
    host: string
    pid: number
    instance: string
  }
  if (instance === INSTANCE) return true
  if (host === hostname() && (pid === process.pid || !isRunning(pid))) return false
  return Date.now() - (alive_at as number) < LEASE_MS
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as { code?: string }).code === 'EPERM'
  }
}

// A missed beat is made good by the next; a lost import is found by the next slice.
function keepAlive(db: Connection, seq: number): void {
  try {
    db.run('UPDATE imports SET alive_at = ? WHERE seq = ?', Date.now(), seq)
  } catch {}
}

function assertOwned(db: Connection, seq: number): void {
  const row = db.find('SELECT owner FROM imports WHERE seq = ?', seq)
  if (row?.owner === OWNER) return
  throw new TillError('storage_unavailable', 'The import was interrupted for too long; repeat it')
}

/** Takes back what imports of processes that are gone have left behind. */
export async function clearAbandonedImports(db: Connection): Promise<void> {
  const open = db.all('SELECT * FROM imports WHERE owner IS NOT NULL')
  for (const row of open) if (!isAlive(row)) await clearImport(db, row)
}

const CLEARED_A_SLICE = 5_000

async function clearImport(db: Connection, row: Row): Promise<void> {
  const [store, seq] = [row.store as number, row.seq as number]
  const deleteSlice = `
    DELETE FROM purchases WHERE store = ? AND import = ? AND line IN (
      SELECT line FROM purchases WHERE store = ? AND import = ? ORDER BY line LIMIT ?)`
  while (db.run(deleteSlice, store, seq, store, seq, CLEARED_A_SLICE) > 0) await setImmediate()
  db.transaction(() => {
    db.run('DELETE FROM purchase_changes WHERE import = ?', seq)
    db.run('DELETE FROM imports WHERE seq = ?', seq)
  })
}

/** A page of the purchases that are seen: those of imports which have no owner any more. */
export function listPurchases(db: Connection, key: StoreKey, { limit, after }: Page): PurchasePage {
  const [afterImport = 0, afterLine = 0] = after?.split('.').map(Number) ?? []
  const rows = db.all(
    `SELECT p.*, i.import_id FROM purchases p JOIN imports i ON i.seq = p.import
     WHERE p.store = ? AND i.owner IS NULL AND (p.import, p.line) > (?, ?)
     ORDER BY p.import, p.line LIMIT ?`,
    seqOf(db, key),
    afterImport,
    afterLine,
    limit + 1,
  )
  const purchases = rows.slice(0, limit).map((row) => purchaseRecord(row, key.store_id))
  const last = rows[limit - 1]
  return rows.length > limit && last
    ? { purchases, next: `${last.import}.${last.line}` }
    : { purchases }
}

function purchaseRecord(row: Row, store_id: string): Purchase {
  return {
    store_id,
    import_id: row.import_id as string,
    transaction_id: row.transaction_id as string,
    purchased_at: row.purchased_at as number,
    ...purchaseFields(row),
    metadata: JSON.parse(row.metadata as string),
  }
}

function purchaseFields(row: Row): PurchaseIdentity {
  return {
    sku: row.sku as string,
    ...(row.user_id === null ? {} : { user_id: row.user_id as string }),
    quantity: row.quantity as number,
    ...(row.price === null ? {} : { price: row.price as number }),
    ...(row.currency === null ? {} : { currency: row.currency as string }),
    status: row.status as PurchaseStatus,
  }
}

function seqOf(db: Connection, { account_id, store_id }: StoreKey): number {
  const row = db.find(
    'SELECT seq FROM stores WHERE account_id = ? AND store_id = ?',
    account_id,
    store_id,
  )
  if (!row) throw new Error('the store must be inserted before what it holds')
  return row.seq as number
}
