import { randomUUID } from 'node:crypto'
import { TillError } from '../../errors.ts'
import type { Pause } from '../cleanup.ts'
import { numberOf } from '../columns.ts'
import { DELETE_OVERLAPS } from '../sql/undo.ts'
import type { Connection, Database } from './connection.ts'

/** The right to write into a running import. */
export interface Lease {
  /** The `seq` of the import. */
  readonly import: number
  readonly store: number
  /** A random name of the owner. Each new owner writes a new name. */
  readonly owner: string
}

// The lease ends 20 s after the last heartbeat, by the database's clock. The owner's process cannot
// be checked, because it may run on another host.
export const IS_ABANDONED = "alive_at < now() - interval '20 seconds'"

/**
 * Renews a lease, and locks its row until the transaction ends. Resolves to 0 if another owner has
 * the import.
 */
export function renewLease(on: Connection, lease: Lease): Promise<number> {
  const sql = 'UPDATE imports SET alive_at = now() WHERE seq = ? AND owner = ?'
  return on.run(sql, lease.import, lease.owner)
}

export async function assertOwned(on: Connection, lease: Lease): Promise<void> {
  if ((await renewLease(on, lease)) === 1) return
  throw new TillError('storage_unavailable', 'The import was interrupted for too long; repeat it')
}

/** Finds the `seq` of the last purchase of a store that reads return. */
export async function findLastPurchase(db: Database, { store }: Lease): Promise<number> {
  const row = await db.find('SELECT last_purchase FROM stores WHERE seq = ?', store)
  return numberOf(row?.last_purchase)
}

/**
 * Deletes abandoned imports. Resolves to false if other imports run, which may be abandoned later.
 */
export async function clearAbandonedImports(db: Database, pause: Pause): Promise<boolean> {
  const rows = await db.all(
    `SELECT seq, store, owner, ${IS_ABANDONED} AS is_abandoned FROM imports
     WHERE owner IS NOT NULL`,
  )
  const abandoned = rows.filter((row) => row.is_abandoned)
  for (const { seq, store, owner } of abandoned) {
    await pause()
    const lease = { import: seq as number, store: store as number, owner: owner as string }
    await clearImport(db, lease, 'abandoned', pause)
  }
  return abandoned.length === rows.length
}

const CLEARED_A_STATEMENT = 20_000

/**
 * Takes an import from its owner. Deletes its rows, and also its record unless the import was
 * undone. Does nothing if the import has ended or has another owner.
 */
export async function clearImport(
  db: Database,
  lease: Lease,
  only?: 'abandoned',
  pause: Pause = async () => {},
): Promise<void> {
  const taken = { ...lease, owner: randomUUID() }
  // Skips an import whose commit is running: the commit locks the row, and may take longer than the
  // lease.
  const condition = only ? `AND ${IS_ABANDONED} FOR UPDATE SKIP LOCKED` : ''
  const changed = await db.run(
    `UPDATE imports SET owner = ?, alive_at = now() WHERE seq IN (
       SELECT seq FROM imports WHERE seq = ? AND owner = ? ${condition})`,
    taken.owner,
    lease.import,
    lease.owner,
  )
  if (changed === 0) return
  try {
    await deleteImport(db, taken, pause)
  } catch (error) {
    // Ends the lease. The next import into the store can then delete this one without waiting.
    const release = "UPDATE imports SET alive_at = 'epoch' WHERE seq = ? AND owner = ?"
    await db.run(release, taken.import, taken.owner).catch(() => {})
    throw error
  }
}

async function deleteImport(db: Database, lease: Lease, pause: Pause): Promise<void> {
  const row = await db.find(FIND_ROWS, lease.import)
  if (!row) return
  const last = Number(row.last)
  for (let from = Number(row.first); from <= last; from += CLEARED_A_STATEMENT) {
    const end = from + CLEARED_A_STATEMENT
    await db.transaction(async (tx) => {
      await assertOwned(tx, lease)
      await tx.run(DELETE_PURCHASES, lease.store, from, end, lease.import)
    })
    await pause()
  }
  await db.transaction(async (tx) => {
    await assertOwned(tx, lease)
    await tx.run('DELETE FROM purchase_changes WHERE store = ?', lease.store)
    await tx.run('DELETE FROM status_changes WHERE import = ?', lease.import)
    await tx.run(DELETE_OVERLAPS, lease.import, lease.import)
    await tx.run(row.is_undone ? END_UNDO : 'DELETE FROM imports WHERE seq = ?', lease.import)
  })
}

/** Finds the range of an import's rows. Uncommitted rows follow the last committed purchase. */
const FIND_ROWS = `
  SELECT i.undone_at IS NOT NULL AS is_undone, p.first, p.last
  FROM imports i JOIN stores s ON s.seq = i.store CROSS JOIN LATERAL (
    SELECT min(p.seq) AS first, max(p.seq) AS last FROM purchases p
    WHERE p.store = s.seq AND p.import = i.seq
      AND p.seq >= coalesce(i.first_purchase, s.last_purchase + 1)
      AND p.seq <= coalesce(i.last_purchase, ${Number.MAX_SAFE_INTEGER})) p
  WHERE i.seq = ?`
const DELETE_PURCHASES = `
  DELETE FROM purchases WHERE store = ? AND seq >= ? AND seq < ? AND import = ?`
const END_UNDO = 'UPDATE imports SET owner = NULL WHERE seq = ?'
