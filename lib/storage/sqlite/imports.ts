import { setImmediate } from 'node:timers/promises'
import type { NewPurchase } from '../../domain/purchase.ts'
import type { PurchaseImport, StagedRows } from '../port.ts'
import { RECORDED_GAP } from '../recorded.ts'
import { sumStaged } from '../staged.ts'
import { RECORD_IMPORT } from '../statements.ts'
import { IMPORT_DETAILS } from '../tables.ts'
import { recordWrite } from './audit.ts'
import { verifyAuthority } from './authority.ts'
import { applyChanges } from './changes.ts'
import { createCheckpoints } from './checkpoints.ts'
import type { Connection } from './connection.ts'
import { createDiskSpaceCheck } from './diskspace.ts'
import { erasePurchases } from './erasure.ts'
import {
  assertOwned,
  clearImport,
  type ImportRow,
  isAlive,
  OWNER,
  renewLease,
  underWay,
} from './leases.ts'
import { createStaging } from './staging.ts'

const HEARTBEAT_MS = 5_000

/**
 * Starts an import. Writes its rows directly into `purchases`, slice by slice. The rows are
 * invisible while the import has an owner. No lock is held between slices, and the commit changes
 * only one row. A unique index on `imports` allows one import into a store at a time.
 */
export async function openImport(
  db: Connection,
  store: number,
  import_id: string,
): Promise<PurchaseImport | undefined> {
  const row = await insertImport(db, store, import_id)
  return row && createImport(db, row)
}

/**
 * Inserts the row of an import that begins, or of an undo, with this process as its owner. Returns
 * undefined while another import or undo runs in the store.
 */
export async function insertImport(
  db: Connection,
  store: number,
  import_id: string,
  undoes: number | null = null,
): Promise<ImportRow | undefined> {
  const other = db.find(FIND_OTHER, store) as unknown as ImportRow | undefined
  if (other) {
    if (isAlive(other)) return undefined
    await clearImport(db, other)
  }
  await applyChanges(db)
  const now = new Date()
  const inserted = await db.transaction(() =>
    db.run(INSERT, import_id, store, OWNER, now.getTime(), store, now.toISOString(), undoes),
  )
  if (inserted === 0) return undefined
  underWay.add(import_id)
  return db.find('SELECT * FROM imports WHERE import_id = ?', import_id) as unknown as ImportRow
}

const FIND_OTHER = 'SELECT * FROM imports WHERE store = ? AND owner IS NOT NULL'

const INSERT = `
  INSERT INTO imports (import_id, store, owner, alive_at, first_purchase, created_at, undoes)
  VALUES (?, ?, ?, ?, ${RECORDED_GAP} + 1 + max(
    (SELECT coalesce(max(seq), 0) FROM purchases),
    (SELECT coalesce(max(last_purchase), 0) FROM imports WHERE store = ?),
    (SELECT coalesce(max(first_purchase), 0) FROM imports WHERE owner IS NOT NULL)), ?, ?)
  ON CONFLICT (store) WHERE owner IS NOT NULL DO NOTHING`

/** Keeps the lease of a running import or undo, and runs its steps. */
export function createSlices(db: Connection, row: ImportRow) {
  const { seq } = row
  // Ignores failures: the next heartbeat tries again, and the next slice notices a lost lease.
  const renew = () => void db.write(() => renewLease(db, seq, OWNER)).catch(() => {})
  const heartbeat = setInterval(renew, HEARTBEAT_MS).unref()
  const checkpoints = createCheckpoints(db)
  const assertDiskSpace = createDiskSpaceCheck(db)

  return {
    /** Runs one step in its own transaction, then yields to the event loop. */
    async run<T>(work: () => T): Promise<T> {
      await assertDiskSpace()
      const result = await db.lazyTransaction(() => {
        assertOwned(db, seq)
        return work()
      })
      await setImmediate()
      await checkpoints.keepUp()
      return result
    },
    finish: () => checkpoints.end(),
    /** Ends the lease of a committed import. */
    release() {
      clearInterval(heartbeat)
      underWay.delete(row.import_id)
    },
    async abort() {
      clearInterval(heartbeat)
      try {
        await checkpoints.end()
        await clearImport(db, { ...row, owner: OWNER })
      } finally {
        underWay.delete(row.import_id)
      }
    },
  }
}

function createImport(db: Connection, row: ImportRow): PurchaseImport {
  const { seq } = row
  const staging = createStaging(db, row.store, seq, row.first_purchase)
  const slices = createSlices(db, row)
  const index = () => slices.run(() => staging.indexSlice())

  return {
    erase: (erasure, write = {}) =>
      slices.run(() => {
        verifyAuthority(db, write.authority)
        const erased = erasePurchases(db, row.store, erasure)
        recordWrite(db, write)
        return erased
      }),
    async stage(rows: readonly NewPurchase[]) {
      const results = [await slices.run(() => staging.append(rows))]
      // Indexes only until the block is no longer full, because `rows` stay in memory until `stage`
      // ends. V8 moves long-lived objects to its old generation, and later rows with them (bench/:
      // 25 MiB).
      while (staging.isBlockFull) results.push(await index())
      return sumStaged(results)
    },
    async finish() {
      const results: StagedRows[] = []
      while (staging.isWaiting) results.push(await index())
      await slices.finish()
      return sumStaged(results)
    },
    async commit(write = {}, details) {
      if (staging.isWaiting) throw new TypeError('finish the import before its commit')
      await db.transaction(() => {
        assertOwned(db, seq)
        verifyAuthority(db, write.authority)
        db.run(COMMIT, seq)
        if (details) db.run(RECORD_IMPORT, ...IMPORT_DETAILS.sqliteValues(details), seq)
        recordWrite(db, write)
      })
      slices.release()
      // Ignores failures, because the import is already committed. The next import then applies the
      // status changes.
      await applyChanges(db).catch(() => {})
    },
    abort: () => slices.abort(),
  }
}

const COMMIT = `
  UPDATE imports SET owner = NULL, last_purchase = p.last, users_indexed = p.last
  FROM (SELECT coalesce(max(seq), 0) AS last FROM purchases) p WHERE imports.seq = ?`
