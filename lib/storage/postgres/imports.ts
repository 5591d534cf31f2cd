import { randomUUID } from 'node:crypto'
import { RECORDED_GAP } from '../recorded.ts'
import type { PurchaseImport, StoreKey } from '../records.ts'
import { verifyAuthority } from '../sql/authority.ts'
import { RECORD_IMPORT } from '../sql/record.ts'
import { recordWrite } from '../sql/write.ts'
import { IMPORT_DETAILS } from '../tables.ts'
import type { Database } from './connection.ts'
import { erasePurchases } from './erasure.ts'
import {
  assertOwned,
  clearImport,
  findLastPurchase,
  IS_ABANDONED,
  type Lease,
  renewLease,
} from './leases.ts'
import { DIALECT, execute } from './sql.ts'
import { createStaging } from './staging.ts'

const HEARTBEAT_MS = 5_000
const MANY_ROWS = 10_000
export const COMMIT_TIMEOUT_MS = 10 * 60_000

/**
 * Starts an import. Writes its rows directly into `purchases`, block by block. Reads leave these
 * rows out, because their `seq` is above `last_purchase` of the store. The commit raises
 * `last_purchase`. No lock is held between blocks. A unique index on `imports` allows one import
 * into a store at a time.
 */
export async function openImport(
  db: Database,
  store: StoreKey,
  import_id: string,
): Promise<PurchaseImport | undefined> {
  const lease = await insertImport(db, store, import_id)
  return lease && createImport(db, lease)
}

/**
 * Inserts the row of an import that begins, or of an undo. Resolves to undefined while another
 * import or undo runs in the store.
 */
export async function insertImport(
  db: Database,
  { account_id, store_id }: StoreKey,
  import_id: string,
  undoes: number | null = null,
): Promise<Lease | undefined> {
  const found = await db.find(FIND_STORE, account_id, store_id)
  if (!found) throw new Error('the store must be inserted before its items and purchases')
  const store = found.seq as number
  if (found.owner !== null) {
    if (!found.is_abandoned) return undefined
    const other = { import: found.import as number, store, owner: found.owner as string }
    await clearImport(db, other, 'abandoned')
  }
  const owner = randomUUID()
  const row = await db.find(INSERT, import_id, store, owner, undoes)
  return row && { store, owner, import: row.seq as number }
}

/** Finds a store's `seq`, and the running import into it, if any. */
const FIND_STORE = `
  SELECT s.seq, i.seq AS import, i.owner, ${IS_ABANDONED} AS is_abandoned
  FROM stores s LEFT JOIN imports i ON i.store = s.seq AND i.owner IS NOT NULL
  WHERE s.account_id = ? AND s.store_id = ?`

const INSERT = `
  INSERT INTO imports (import_id, store, owner, undoes) VALUES (?, ?, ?, ?)
  ON CONFLICT (store) WHERE owner IS NOT NULL DO NOTHING RETURNING seq`

/** Renews a lease periodically until the returned function is called. */
export function keepLease(db: Database, lease: Lease): () => void {
  // Ignores failures: the next heartbeat tries again, and the next block notices a lost lease.
  const renew = () => void renewLease(db, lease).catch(() => {})
  const heartbeat = setInterval(renew, HEARTBEAT_MS).unref()
  return () => clearInterval(heartbeat)
}

async function createImport(db: Database, lease: Lease): Promise<PurchaseImport> {
  const first = (await findLastPurchase(db, lease)) + RECORDED_GAP
  const staging = createStaging(db, lease, first)
  const release = keepLease(db, lease)

  return {
    stage: staging.append,
    advance: staging.advance,
    finish: () => staging.finish(),
    async commit(write = {}, details) {
      if (staging.isWaiting) throw new TypeError('finish the import before its commit')
      const last = staging.lastPurchase
      await db.transaction(
        async (tx) => {
          await assertOwned(tx, lease)
          await tx.run(RECORD_CHANGES, lease.import, lease.store)
          await tx.run(APPLY_CHANGES, lease.store)
          await tx.run('DELETE FROM purchase_changes WHERE store = ?', lease.store)
          await tx.run(COMMIT, first + 1, last, lease.import)
          if (details) await tx.run(RECORD_IMPORT, ...IMPORT_DETAILS.values(details), lease.import)
          // Verifies the authority after the statements above, which may take minutes: once it is
          // verified, revocations have to wait for the commit.
          await execute(tx, verifyAuthority(DIALECT, write.authority))
          await tx.run('UPDATE stores SET last_purchase = ? WHERE seq = ?', last, lease.store)
          await execute(tx, recordWrite(DIALECT, write))
        },
        { timeout: COMMIT_TIMEOUT_MS },
      )
      release()
      if (last - first > MANY_ROWS) await analyze(db)
    },
    erase: (erasure, write = {}) =>
      db.transaction(async (tx) => {
        await execute(tx, verifyAuthority(DIALECT, write.authority))
        await assertOwned(tx, lease)
        const erased = await erasePurchases(tx, lease.store, erasure)
        await execute(tx, recordWrite(DIALECT, write))
        return erased
      }),
    async abort() {
      release()
      await staging.settle()
      await clearImport(db, lease)
    },
  }
}

const COMMIT =
  'UPDATE imports SET owner = NULL, first_purchase = ?, last_purchase = ? WHERE seq = ?'

const RECORD_CHANGES = `
  INSERT INTO status_changes (store, import, purchase, before, after)
  SELECT c.store, ?, c.purchase, p.status, c.status FROM purchase_changes c
  JOIN purchases p ON p.store = c.store AND p.seq = c.purchase WHERE c.store = ?`

const APPLY_CHANGES = `
  UPDATE purchases p SET status = c.status FROM purchase_changes c
  WHERE c.store = ? AND p.store = c.store AND p.seq = c.purchase`

// Updates the planner's statistics. The server itself updates them only after a minute or more.
// Until then, its plans are for a smaller table, and scan all purchases. Ignores failures, because
// the import is already committed.
async function analyze(db: Database): Promise<void> {
  await db.run('ANALYZE purchases').catch(() => {})
}
