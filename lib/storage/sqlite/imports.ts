import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { setImmediate } from 'node:timers/promises'
import type { NewPurchase } from '../../domain/purchase.ts'
import { TillError } from '../../errors.ts'
import type { Pause } from '../cleanup.ts'
import type { PurchaseImport, StagedRows } from '../port.ts'
import { sumStaged } from '../staged.ts'
import { recordWrite } from './audit.ts'
import { verifyAuthority } from './authority.ts'
import { createCheckpoints } from './checkpoints.ts'
import type { Connection, Row } from './connection.ts'
import { isDiskFull } from './drivers.ts'
import { createRoomCheck, makeRoom } from './room.ts'
import { createStaging } from './staging.ts'

/**
 * Starts an import. Its rows go straight into `purchases`, slice by slice, and are not seen while
 * the import has an owner: so no lock is held between slices, and the commit is one row. A unique
 * index on `imports` lets one import at a time into a store.
 */
export async function openImport(
  db: Connection,
  store: number,
  import_id: string,
): Promise<PurchaseImport | undefined> {
  const other = db.find('SELECT * FROM imports WHERE store = ? AND owner IS NOT NULL', store)
  if (other && isAlive(other)) return undefined
  if (other) await clearImport(db, other)
  await applyChanges(db)
  const claimed = await db.transaction(() =>
    db.run(
      `INSERT INTO imports (import_id, store, owner, alive_at, first_purchase, created_at)
     VALUES (?, ?, ?, ?, (SELECT coalesce(max(seq), 0) + 1 FROM purchases), ?)
     ON CONFLICT (store) WHERE owner IS NOT NULL DO NOTHING`,
      import_id,
      store,
      OWNER,
      Date.now(),
      new Date().toISOString(),
    ),
  )
  if (claimed === 0) return undefined
  const row = db.find('SELECT * FROM imports WHERE import_id = ?', import_id) as Row
  underWay.add(import_id)
  return createImport(db, row)
}

function createImport(db: Connection, row: Row): PurchaseImport {
  const { seq, store, first_purchase } = numbersOf(row)
  const staging = createStaging(db, store, seq, first_purchase)
  const heartbeat = setInterval(() => keepAlive(db, seq), HEARTBEAT_MS).unref()
  const checkpoints = createCheckpoints(db)
  const assertRoom = createRoomCheck(db)

  /** One step of the import in a transaction of its own; then others have their turn. */
  const slice = async <T>(work: () => T): Promise<T> => {
    await assertRoom()
    const result = await db.lazyTransaction(() => {
      assertOwned(db, seq)
      return work()
    })
    await setImmediate()
    await checkpoints.keepUp()
    return result
  }

  const index = () => slice(() => staging.indexSlice())

  return {
    async stage(rows: readonly NewPurchase[]) {
      const results = [await slice(() => staging.append(rows))]
      // No more than needed at a time: rows that were alive for long would make V8 place those
      // after them among the long-lived ones (bench/: 25 MiB).
      while (staging.isBlockFull) results.push(await index())
      return sumStaged(results)
    },
    async finish() {
      const results: StagedRows[] = []
      while (staging.isWaiting) results.push(await index())
      await checkpoints.end()
      return sumStaged(results)
    },
    async commit(write = {}) {
      if (staging.isWaiting) throw new TypeError('finish the import before its commit')
      await db.transaction(() => {
        assertOwned(db, seq)
        verifyAuthority(db, write.authority)
        db.run(
          `UPDATE imports SET owner = NULL, last_purchase = (SELECT coalesce(max(seq), 0) FROM purchases)
           WHERE seq = ?`,
          seq,
        )
        recordWrite(db, write)
      })
      clearInterval(heartbeat)
      underWay.delete(row.import_id)
      // It is done, whatever becomes of this: on a full disk the changes wait for the next import.
      await applyChanges(db).catch(() => {})
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

const CHANGED_A_SLICE = 2_000

/** Moves the changes of imports that are done into the purchases. They are seen already. */
async function applyChanges(db: Connection, pause: Pause = setImmediate): Promise<void> {
  const applySlice = () =>
    db.transaction(() => {
      const changes = db.all(
        `SELECT c.purchase, c.status FROM purchase_changes c JOIN imports i ON i.seq = c.import
         WHERE i.owner IS NULL LIMIT ?`,
        CHANGED_A_SLICE,
      )
      for (const { purchase, status } of changes as { purchase: number; status: number }[]) {
        db.run('UPDATE purchases SET status = ? WHERE seq = ?', status, purchase)
        db.run('DELETE FROM purchase_changes WHERE purchase = ?', purchase)
      }
      return changes.length
    })
  while (db.find('SELECT 1 FROM purchase_changes')) {
    if ((await applySlice()) === 0) return
    await pause()
  }
}

// Whose import it is: an import whose process is gone is cleared by whoever comes next. On the same
// host the process is asked for; from elsewhere (a container on the same volume) the lease decides.
const INSTANCE = randomUUID()
const OWNER = JSON.stringify({ host: hostname(), pid: process.pid, instance: INSTANCE })
const CLEARING = JSON.stringify({ ...JSON.parse(OWNER), clearing: true })
/** The imports of this process that go on, or are being cleared, by their ids. */
const underWay = new Set<unknown>()
const HEARTBEAT_MS = 5_000
const LEASE_MS = 30_000

interface Owner {
  readonly host: string
  readonly pid: number
  readonly instance: string
}

function ownerOf(row: Row): Owner {
  return JSON.parse(row.owner as string) as Owner
}

function isAlive(row: Row): boolean {
  const { host, pid, instance } = ownerOf(row)
  // No lease: what a full disk kept from being cleared would keep others out until it ends.
  if (instance === INSTANCE) return underWay.has(row.import_id)
  if (host === hostname() && (pid === process.pid || !isRunning(pid))) return false
  return isBeating(row)
}

/**
 * The last beats of other processes' imports, and when this one first saw them; the latest of them,
 * since those that end well are never heard of again. One forgotten has its lease anew.
 */
const beats = new Map<unknown, { readonly alive_at: unknown; readonly seenAt: number }>()
const MAX_BEATS = 1_000

/** Whether the lease goes on, by the time that passes here: the clock of the machine may jump. */
function isBeating({ import_id, alive_at }: Row): boolean {
  const last = beats.get(import_id)
  if (last !== undefined && last.alive_at === alive_at)
    return performance.now() - last.seenAt < LEASE_MS
  beats.delete(import_id) // to be the newest again
  beats.set(import_id, { alive_at, seenAt: performance.now() })
  if (beats.size > MAX_BEATS) beats.delete(beats.keys().next().value)
  return true
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
  const sql = 'UPDATE imports SET alive_at = ? WHERE seq = ?'
  db.write(() => db.run(sql, Date.now(), seq)).catch(() => {})
}

function assertOwned(db: Connection, seq: number): void {
  const row = db.find('SELECT owner FROM imports WHERE seq = ?', seq)
  if (row?.owner === OWNER) return
  throw new TillError('storage_unavailable', 'The import was interrupted for too long; repeat it')
}

/**
 * Puts right what processes that are gone have left: rows of imports that never ended, changes.
 * False when other processes have imports under way, which may be abandoned later.
 */
export async function clearAbandonedImports(db: Connection, pause: Pause): Promise<boolean> {
  let others = 0
  for (const row of db.all('SELECT * FROM imports WHERE owner IS NOT NULL')) {
    if (!isAlive(row)) await clearImport(db, row, pause)
    else if (ownerOf(row).instance !== INSTANCE) others++
  }
  await applyChanges(db, pause)
  return others === 0
}

const CLEARED_A_SLICE = 2_000
/** Slices get smaller while they take longer: others wait for each (2,000 rows: up to 1 s). */
const SLICE_MS = 50
const MIN_SLICE = 125

/**
 * Takes an import over from its owner, who can then not commit what is half deleted, and deletes
 * it. One that its owner has ended meanwhile is left alone.
 */
async function clearImport(db: Connection, row: Row, pause: Pause = setImmediate): Promise<void> {
  const taken = await db.transaction(() =>
    db.run(
      'UPDATE imports SET owner = ?, alive_at = ? WHERE seq = ? AND owner = ?',
      CLEARING,
      Date.now(),
      row.seq as number,
      row.owner as string,
    ),
  )
  beats.delete(row.import_id)
  if (taken === 0) return
  underWay.add(row.import_id)
  try {
    await deleteImport(db, row, pause)
  } finally {
    underWay.delete(row.import_id)
  }
}

async function deleteImport(db: Connection, row: Row, pause: Pause): Promise<void> {
  const { seq, store, first_purchase } = numbersOf(row)
  let size = CLEARED_A_SLICE
  const clearSlice = (from: number) =>
    db.lazyTransaction(() => {
      const alive = 'UPDATE imports SET alive_at = ? WHERE seq = ? AND owner = ?'
      if (db.run(alive, Date.now(), seq, CLEARING) === 0) return undefined // another clears it
      const rows = db.all(
        'SELECT seq, transaction_id FROM purchases WHERE seq >= ? AND import = ? ORDER BY seq LIMIT ?',
        from,
        seq,
        size,
      ) as { seq: number; transaction_id: string }[]
      for (const { seq: purchase, transaction_id } of rows) {
        db.run(
          'DELETE FROM transactions WHERE store = ? AND transaction_id = ? AND purchase = ?',
          store,
          transaction_id,
          purchase,
        )
        db.run('DELETE FROM purchases WHERE seq = ?', purchase)
      }
      return rows.at(-1)?.seq
    })
  /** In smaller slices while the WAL has no room for more. */
  const clearWithRoom = async (from: number): Promise<number | undefined> => {
    await makeRoom(db)
    try {
      const start = performance.now()
      const last = await clearSlice(from)
      const isFast = performance.now() - start < SLICE_MS
      size = isFast ? Math.min(2 * size, CLEARED_A_SLICE) : Math.max(Math.ceil(size / 2), MIN_SLICE)
      return last
    } catch (error) {
      if (!isDiskFull(error) || size === 1) throw error
      size = Math.ceil(size / 10)
      return clearWithRoom(from)
    }
  }
  let last = await clearWithRoom(first_purchase)
  while (last !== undefined) {
    await pause()
    last = await clearWithRoom(last)
  }
  await db.transaction(() => {
    const isOwn = db.run('DELETE FROM imports WHERE seq = ? AND owner = ?', seq, CLEARING) === 1
    if (isOwn) db.run('DELETE FROM purchase_changes WHERE import = ?', seq)
  })
}

function numbersOf(row: Row): { seq: number; store: number; first_purchase: number } {
  return row as { seq: number; store: number; first_purchase: number }
}
