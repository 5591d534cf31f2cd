import { randomUUID } from 'node:crypto'
import { TillError } from '../../errors.ts'
import type { Pause } from '../cleanup.ts'
import { numberOf } from '../records.ts'
import type { Connection, Database } from './connection.ts'

/** An import under way, as those name it who may write into it. */
export interface Lease {
  /** The import's number. */
  readonly import: number
  readonly store: number
  /** Whoever comes to own the import writes a name of his own there. */
  readonly owner: string
}

// An import whose process is gone is cleared by whoever comes next, once it has not been heard of
// for so long, by the database's clock. No host or process is asked for: servers are anywhere.
export const LEASE_TIME = "interval '20 seconds'"

/**
 * Tells that the import is alive; 0 when it is another's by now. Keeps it until the transaction
 * ends.
 */
export function renewLease(on: Connection, lease: Lease): Promise<number> {
  const sql = 'UPDATE imports SET alive_at = now() WHERE seq = $1 AND owner = $2'
  return on.run(sql, lease.import, lease.owner)
}

export async function assertOwned(on: Connection, lease: Lease): Promise<void> {
  if ((await renewLease(on, lease)) === 1) return
  throw new TillError('storage_unavailable', 'The import was interrupted for too long; repeat it')
}

/** The number of the last purchase of the store that is seen. */
export async function lastPurchase(db: Database, { store }: Lease): Promise<number> {
  const row = await db.find('SELECT last_purchase FROM stores WHERE seq = $1', store)
  return numberOf(row?.last_purchase)
}

/**
 * Clears what processes that are gone have left of imports that never ended. False when others are
 * under way, which may be abandoned later.
 */
export async function clearAbandonedImports(db: Database, pause: Pause): Promise<boolean> {
  const rows = await db.all(
    `SELECT seq, store, owner, alive_at < now() - ${LEASE_TIME} AS abandoned FROM imports
     WHERE owner IS NOT NULL`,
  )
  const abandoned = rows.filter((row) => row.abandoned)
  for (const { seq, store, owner } of abandoned) {
    await pause()
    const lease = { import: seq as number, store: store as number, owner: owner as string }
    await clearImport(db, lease, 'abandoned', pause)
  }
  return abandoned.length === rows.length
}

const CLEARED_A_STATEMENT = 20_000

/**
 * Takes an import over, so that no one can commit what is half deleted, and deletes it. One that
 * has ended meanwhile, or is another's, is left alone.
 */
export async function clearImport(
  db: Database,
  lease: Lease,
  only?: 'abandoned',
  pause: Pause = async () => {},
): Promise<void> {
  const taken = { ...lease, owner: randomUUID() }
  // A commit that takes long is not dead: it holds its row.
  const isTakeable = only ? `AND alive_at < now() - ${LEASE_TIME} FOR UPDATE SKIP LOCKED` : ''
  const changed = await db.run(
    `UPDATE imports SET owner = $1, alive_at = now() WHERE seq IN (
       SELECT seq FROM imports WHERE seq = $2 AND owner = $3 ${isTakeable})`,
    taken.owner,
    lease.import,
    lease.owner,
  )
  if (changed === 0) return
  try {
    await deleteImport(db, taken, pause)
  } catch (error) {
    // Whoever comes next need not wait for the lease.
    const release = "UPDATE imports SET alive_at = 'epoch' WHERE seq = $1 AND owner = $2"
    await db.run(release, taken.import, taken.owner).catch(() => {})
    throw error
  }
}

async function deleteImport(db: Database, lease: Lease, pause: Pause): Promise<void> {
  const row = await db.find('SELECT max(seq) AS last FROM purchases WHERE store = $1', lease.store)
  const last = Number(row?.last)
  for (let from = await lastPurchase(db, lease); from < last; from += CLEARED_A_STATEMENT) {
    await db.transaction(async (tx) => {
      await assertOwned(tx, lease)
      await tx.run(
        'DELETE FROM purchases WHERE store = $1 AND seq > $2 AND seq <= $3',
        lease.store,
        from,
        from + CLEARED_A_STATEMENT,
      )
    })
    await pause()
  }
  await db.transaction(async (tx) => {
    await assertOwned(tx, lease)
    await tx.run('DELETE FROM purchase_changes WHERE store = $1', lease.store)
    await tx.run('DELETE FROM imports WHERE seq = $1', lease.import)
  })
}
