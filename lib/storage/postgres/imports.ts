import { randomUUID } from 'node:crypto'
import type { PurchaseImport, Storage, StoreKey } from '../port.ts'
import { recordWrite } from './audit.ts'
import { verifyAuthority } from './authority.ts'
import type { Database } from './connection.ts'
import type { Row } from './drivers.ts'
import {
  assertOwned,
  clearImport,
  LEASE_TIME,
  type Lease,
  lastPurchase,
  renewLease,
} from './leases.ts'
import { createStaging } from './staging.ts'

const HEARTBEAT_MS = 5_000
const MANY_ROWS = 10_000
const COMMIT_TIMEOUT_MS = 10 * 60_000

/**
 * Imports write straight into `purchases`, block by block, behind the last purchase that is seen:
 * so no lock is held between blocks, and the commit moves one number. A unique index on `imports`
 * lets one import at a time into a store.
 */
export function importMethods(db: Database): Pick<Storage, 'openImport'> {
  return {
    async openImport(key, import_id) {
      const { store, other } = await findStore(db, key)
      if (other && !other.isAbandoned) return undefined
      if (other)
        await clearImport(db, { import: other.import, store, owner: other.owner }, 'abandoned')
      const lease = { store, owner: randomUUID() }
      const row = await db.find(
        `INSERT INTO imports (import_id, store, owner) VALUES ($1, $2, $3)
         ON CONFLICT (store) WHERE owner IS NOT NULL DO NOTHING RETURNING seq`,
        import_id,
        lease.store,
        lease.owner,
      )
      return row && createImport(db, { ...lease, import: row.seq as number })
    },
  }
}

/** A store's number, and the import under way there. */
async function findStore(db: Database, { account_id, store_id }: StoreKey) {
  const row = await db.find(
    `SELECT s.seq, i.seq AS import, i.owner, i.alive_at < now() - ${LEASE_TIME} AS abandoned
     FROM stores s LEFT JOIN imports i ON i.store = s.seq AND i.owner IS NOT NULL
     WHERE s.account_id = $1 AND s.store_id = $2`,
    account_id,
    store_id,
  )
  if (!row) throw new Error('the store must be inserted before what it holds')
  const other = row.owner === null ? undefined : underWay(row)
  return { store: row.seq as number, other }
}

function underWay(row: Row) {
  return {
    import: row.import as number,
    owner: row.owner as string,
    isAbandoned: row.abandoned as boolean,
  }
}

async function createImport(db: Database, lease: Lease): Promise<PurchaseImport> {
  const first = await lastPurchase(db, lease)
  const staging = createStaging(db, lease, first)
  // A missed beat is made good by the next; a lost import is found by the next block.
  const beat = () => void renewLease(db, lease).catch(() => {})
  const heartbeat = setInterval(beat, HEARTBEAT_MS).unref()

  return {
    stage: (rows) => staging.append(rows),
    finish: () => staging.finish(),
    async commit(write = {}) {
      if (staging.isWaiting) throw new TypeError('finish the import before its commit')
      await db.transaction(
        async (tx) => {
          await assertOwned(tx, lease)
          await tx.run(
            `UPDATE purchases p SET status = c.status FROM purchase_changes c
             WHERE c.store = $1 AND p.store = c.store AND p.seq = c.purchase`,
            lease.store,
          )
          await tx.run('DELETE FROM purchase_changes WHERE store = $1', lease.store)
          await tx.run('UPDATE imports SET owner = NULL WHERE seq = $1', lease.import)
          // Not before: a commit may take minutes, and a revocation would wait as long.
          await verifyAuthority(tx, write.authority)
          const last = staging.lastPurchase
          await tx.run('UPDATE stores SET last_purchase = $1 WHERE seq = $2', last, lease.store)
          await recordWrite(tx, write)
        },
        { timeout: COMMIT_TIMEOUT_MS },
      )
      clearInterval(heartbeat)
      if (staging.lastPurchase - first > MANY_ROWS) await analyze(db)
    },
    async abort() {
      clearInterval(heartbeat)
      await staging.settle()
      await clearImport(db, lease)
    },
  }
}

// Else plans made for a smaller table would read it whole until the server looks by itself, a
// minute or more. What it misses it does not owe: the import is done.
async function analyze(db: Database): Promise<void> {
  await db.run('ANALYZE purchases').catch(() => {})
}
