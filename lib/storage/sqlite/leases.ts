import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { setImmediate } from 'node:timers/promises'
import { TillError } from '../../errors.ts'
import type { Pause } from '../cleanup.ts'
import { DELETE_OVERLAPS } from '../sql/undo.ts'
import { applyChanges } from './changes.ts'
import type { Connection } from './connection.ts'
import { makeDiskSpace } from './diskspace.ts'
import { isDiskFull } from './drivers.ts'
import { deleteUserEntry } from './users.ts'

/** The row of a running import. */
export interface ImportRow {
  readonly seq: number
  readonly import_id: string
  readonly store: number
  /** The process that runs the import, as JSON. */
  readonly owner: string
  /** When the last heartbeat was written, in Unix milliseconds. */
  readonly alive_at: number
  readonly first_purchase: number
  readonly last_purchase: number | null
  readonly undone_at: string | null
}

/** Tells the storages of all processes and threads apart. */
const PROCESS = { host: hostname(), pid: process.pid, instance: randomUUID() }
/** The name that this thread writes as the owner of its imports. */
export const OWNER = JSON.stringify(PROCESS)
/** The name that this thread writes as the owner of imports that it deletes. */
const CLEARING = JSON.stringify({ ...PROCESS, clearing: true })

const LEASE_MS = 30_000

/**
 * Whether the owner of an import may still write. A process on this host that has ended may not.
 * Otherwise the lease decides: the owner may be another thread, or run in another container with the
 * same volume. If the clock jumps, a running import may lose its lease, and fails.
 */
export function isAlive({ owner, alive_at }: ImportRow): boolean {
  const { host, pid } = JSON.parse(owner)
  if (host === hostname() && !isRunning(pid)) return false
  return Math.abs(Date.now() - alive_at) < LEASE_MS
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as { code?: string }).code === 'EPERM'
  }
}

/** Renews a lease. Returns 0 if another owner has the import. */
export function renewLease(db: Connection, seq: number, owner: string): number {
  const sql = 'UPDATE imports SET alive_at = ? WHERE seq = ? AND owner = ?'
  return db.run(sql, Date.now(), seq, owner)
}

/** Throws if the import has another owner than this thread, or than the given one. */
export function assertOwned(db: Connection, seq: number, owner = OWNER): void {
  const row = db.find('SELECT owner FROM imports WHERE seq = ?', seq)
  if (row?.owner === owner) return
  throw new TillError('storage_unavailable', 'The import was interrupted for too long; repeat it')
}

/**
 * Deletes abandoned imports, and applies waiting status changes. Resolves to false if other imports
 * run, which may be abandoned later.
 */
export async function clearAbandonedImports(db: Connection, pause: Pause): Promise<boolean> {
  let others = 0
  const rows = db.all('SELECT * FROM imports WHERE owner IS NOT NULL') as unknown as ImportRow[]
  for (const row of rows) {
    if (isAlive(row)) others++
    else await clearImport(db, row, pause)
  }
  await applyChanges(db, pause)
  return others === 0
}

/**
 * Takes an import from its owner, and deletes its rows. Also deletes its record, except that of an
 * undone import, which lists still show. Does nothing if the import has ended or has another owner.
 */
export async function clearImport(
  db: Connection,
  row: ImportRow,
  pause: Pause = setImmediate,
): Promise<void> {
  const { seq, owner } = row
  const taken = await db.transaction(() => db.run(TAKE_OVER, CLEARING, Date.now(), seq, owner))
  if (taken !== 1) return
  try {
    await deleteImport(db, row, pause)
  } catch (error) {
    // Ends the lease: the next import into the store tries again at once.
    await db.transaction(() => db.run(END_LEASE, seq, CLEARING)).catch(() => {})
    throw error
  }
}

const END_LEASE = 'UPDATE imports SET alive_at = 0 WHERE seq = ? AND owner = ?'

const TAKE_OVER = 'UPDATE imports SET owner = ?, alive_at = ? WHERE seq = ? AND owner = ?'

const SLICE_ROWS = 2_000
/** If a slice takes longer, the next one is smaller. 2,000 rows may block others for 1 s. */
const SLICE_MS = 50
const MIN_SLICE_ROWS = 125

async function deleteImport(
  db: Connection,
  { seq, store, first_purchase, last_purchase, undone_at }: ImportRow,
  pause: Pause,
): Promise<void> {
  if (undone_at !== null) await applyChanges(db, pause)
  const end = last_purchase ?? Number.MAX_SAFE_INTEGER
  let size = SLICE_ROWS
  const deleteSlice = (from: number) =>
    db.lazyTransaction(() => {
      if (renewLease(db, seq, CLEARING) === 0) return undefined // another process has taken over
      const rows = db.all(FIND_PURCHASES, from, end, seq, size)
      const hasErased = db.find('SELECT 1 FROM erased_purchases WHERE store = ?', store)
      for (const row of rows as unknown as DeletedRow[]) {
        const key = [store, row.transaction_id] as const
        if (hasErased && db.run(KEEP_ERASED, ...key, row.seq) === 1) db.run(MARK_DELETED, ...key)
        else db.run(DELETE_TRANSACTION, ...key, row.seq)
        if (row.user_id !== null) deleteUserEntry(db, store, row.user_id, row.seq)
        db.run('DELETE FROM purchases WHERE seq = ?', row.seq)
      }
      return rows.at(-1)?.seq as number | undefined
    })
  /** Deletes a slice of rows, or a smaller one if the disk has no space for its WAL. */
  const deleteWithinSpace = async (from: number): Promise<number | undefined> => {
    await makeDiskSpace(db)
    try {
      const start = performance.now()
      const last = await deleteSlice(from)
      const isFast = performance.now() - start < SLICE_MS
      size = isFast ? Math.min(2 * size, SLICE_ROWS) : Math.max(Math.ceil(size / 2), MIN_SLICE_ROWS)
      return last
    } catch (error) {
      if (!isDiskFull(error) || size === 1) throw error
      size = Math.ceil(size / 10)
      return deleteWithinSpace(from)
    }
  }
  let last = await deleteWithinSpace(first_purchase)
  while (last !== undefined) {
    await pause()
    last = await deleteWithinSpace(last)
  }
  while (await db.lazyTransaction(() => deleteStatusChanges(db, seq))) await pause()
  await db.transaction(() => {
    if (db.run(undone_at === null ? DELETE_IMPORT : END_UNDO, seq, CLEARING) === 0) return
    db.run('DELETE FROM purchase_changes WHERE import = ?', seq)
    db.run(DELETE_OVERLAPS, seq, seq)
    db.run(DELETE_UNDO, seq)
  })
}

/**
 * Deletes a batch of rows of `status_changes` that belong to an import. Returns their number: 0 when
 * none is left, or when another process has begun to delete the import.
 */
function deleteStatusChanges(db: Connection, seq: number): number {
  if (renewLease(db, seq, CLEARING) === 0) return 0
  return db.run(DELETE_STATUS_CHANGES, seq, seq, SLICE_ROWS)
}

const DELETE_STATUS_CHANGES = `
  DELETE FROM status_changes WHERE import = ? AND purchase IN (
    SELECT purchase FROM status_changes WHERE import = ? LIMIT ?)`
const DELETE_IMPORT = 'DELETE FROM imports WHERE seq = ? AND owner = ?'
const END_UNDO = 'UPDATE imports SET owner = NULL, last_purchase = 0 WHERE seq = ? AND owner = ?'
/** Deletes the import that holds the status changes of an undo, once all of them are applied. */
const DELETE_UNDO = `
  DELETE FROM imports WHERE undoes = ? AND owner IS NULL
    AND NOT EXISTS (SELECT 1 FROM purchase_changes c WHERE c.import = imports.seq)`

interface DeletedRow {
  readonly seq: number
  readonly transaction_id: string
  readonly user_id: string | null
}

const FIND_PURCHASES = `
  SELECT seq, transaction_id, user_id FROM purchases WHERE seq BETWEEN ? AND ? AND import = ?
  ORDER BY seq LIMIT ?`
// Keeps the ids of erased purchases, so importing their file again does not restore the users.
const KEEP_ERASED = `
  UPDATE transactions SET purchase = 0 WHERE store = ? AND transaction_id = ? AND purchase = ?
    AND (store, transaction_id) IN (SELECT store, transaction_id FROM erased_purchases)`
const MARK_DELETED =
  'UPDATE erased_purchases SET is_deleted = 1 WHERE store = ? AND transaction_id = ?'
const DELETE_TRANSACTION =
  'DELETE FROM transactions WHERE store = ? AND transaction_id = ? AND purchase = ?'
