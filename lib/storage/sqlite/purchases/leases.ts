import { createPause } from '../../sql/cleanup.ts'
import { run } from '../../sql/program.ts'
import { STATUS_BEFORE } from '../../sql/purchases/fills.ts'
import { type ImportDialect, type Lease, renewLease } from '../../sql/purchases/imports.ts'
import { RECORDED_GAP } from '../../sql/purchases/recorded.ts'
import type { Connection } from '../connection.ts'
import { makeDiskSpace } from '../disk-space.ts'
import { WEBHOOKS } from '../endpoints.ts'
import { execute } from '../sql.ts'
import { userKey } from '../user-key.ts'
import { applyChanges, IF_APPLIED } from './changes.ts'
import { createImport, createSlices } from './imports.ts'
import { DELETE_USER_ENTRY } from './user-index.ts'

// The lease ends 30 s after the last heartbeat. If the clock jumps, a running import may lose its
// lease, and fails.
const IS_EXPIRED = `abs(${WEBHOOKS.clock} - i.alive_at) >= 30000`

/** The most rows of a slice; fewer if the disk is nearly full, because a slice needs WAL space. */
const SLICE_ROWS = 2_000
const SMALL_SLICE_ROWS = 100
/** The most bytes that the WAL needs for `SLICE_ROWS` rows: each may change some pages. */
const SLICE_BYTES = 32 * 2 ** 20
/** A slice of deletions ends after this time. 2,000 rows may take a second. */
const SLICE_MS = 30

export function importDialect(db: Connection): ImportDialect {
  const dialect: ImportDialect = {
    now: WEBHOOKS.clock,
    longAgo: '0',
    isExpired: IS_EXPIRED,
    ifExpired: `AND ${IS_EXPIRED}`,
    columns: ', alive_at, created_at',
    values: `, ${WEBHOOKS.clock}, strftime('%Y-%m-%dT%H:%M:%fZ', 'now')`,
    first: FIRST_PURCHASE,
    lock: '',
    createImport: (started, leases) => createImport(db, started, leases),
    applyChanges: (pause) => applyChanges(db, pause),
    ifApplied: IF_APPLIED,
    findRows: FIND_ROWS,
    async deleteSlice(lease, from, last) {
      const isSpacious = (await makeDiskSpace(db)) >= SLICE_BYTES
      const most = isSpacious ? SLICE_ROWS : SMALL_SLICE_ROWS
      return db.lazyTransaction(() => {
        if (!execute(db, renewLease(dialect, lease))) return undefined
        const deleted = deleteRows(db, lease, from, last, most)
        if (deleted !== undefined) return deleted + 1
        if (deleteChanges(db, lease, most) > 0) return from
        return REFERENCES.some((sql) => db.run(sql, lease.import, most) > 0) ? from : undefined
      })
    },
    deletions: [DELETE_UNDO],
    async prepareUndo(lease, undone) {
      const runSlice = createSlices(db, lease)
      const values = [lease.import, undone, lease.import, SLICE_ROWS]
      const pause = createPause()
      let added: number
      do {
        added = await runSlice(() => db.run(ADD_CHANGES, ...values))
        await pause()
      } while (added === SLICE_ROWS)
    },
    *commitUndo(lease) {
      yield* run('UPDATE imports SET owner = NULL, last_purchase = 0 WHERE seq = ?', lease.import)
    },
  }
  return dialect
}

const FIRST_PURCHASE = `${RECORDED_GAP} + 1 + max(
  (SELECT coalesce(max(seq), 0) FROM purchases),
  (SELECT coalesce(max(last_purchase), 0) FROM imports WHERE store = s.seq),
  (SELECT coalesce(max(first_purchase), 0) FROM imports WHERE owner IS NOT NULL))`

// At least one slice, because the slice after the last row deletes status changes.
const FIND_ROWS = `
  SELECT undone_at IS NOT NULL AS is_undone, first_purchase AS first,
    max(coalesce(last_purchase + 1, ${Number.MAX_SAFE_INTEGER}), first_purchase) AS last
  FROM imports WHERE seq = ?`

/**
 * Deletes the rows of an import among the first purchases from a `seq` on, which may be those of
 * other imports. Returns the `seq` of the last purchase that it has read.
 */
function deleteRows(db: Connection, lease: Lease, from: number, last: number, most: number) {
  const { store } = lease
  const end = performance.now() + SLICE_MS
  const hasErased = db.find('SELECT 1 FROM erased_purchases WHERE store = ?', store)
  const hasWaiting = db.find(FIND_WAITING, store, from)
  const hasChanges = db.find(FIND_CHANGE, from, last)
  const rows = db.all(FIND_PURCHASES, from, last, most) as unknown as FoundRow[]
  let read: number | undefined
  for (const { seq, transaction_id, user_id, import: owner } of rows) {
    read = seq
    if (owner !== lease.import) continue
    const key = [store, transaction_id] as const
    if (hasErased && db.run(KEEP_ERASED, ...key, seq) === 1) db.run(MARK_DELETED, ...key)
    else db.run(DELETE_TRANSACTION, ...key, seq)
    if (user_id !== null) db.run(DELETE_USER_ENTRY, userKey(store, user_id), seq)
    if (hasWaiting) db.run('DELETE FROM deliveries WHERE store = ? AND purchase = ?', store, seq)
    if (hasChanges) db.run('DELETE FROM status_changes WHERE purchase = ?', seq)
    db.run('DELETE FROM purchases WHERE seq = ?', seq)
    if (performance.now() > end) break
  }
  return read
}

interface FoundRow {
  readonly seq: number
  readonly import: number
  readonly transaction_id: string
  readonly user_id: string | null
}

const FIND_WAITING = 'SELECT 1 FROM deliveries WHERE store = ? AND purchase >= ? LIMIT 1'
const FIND_CHANGE = 'SELECT 1 FROM status_changes WHERE purchase BETWEEN ? AND ? LIMIT 1'
const FIND_PURCHASES = `
  SELECT seq, import, transaction_id, user_id FROM purchases WHERE seq BETWEEN ? AND ?
  ORDER BY seq LIMIT ?`
// Keeps the ids of erased purchases, so importing their file again does not restore the users.
const KEEP_ERASED = `
  UPDATE transactions SET purchase = 0 WHERE store = ? AND transaction_id = ? AND purchase = ?
    AND (store, transaction_id) IN (SELECT store, transaction_id FROM erased_purchases)`
const MARK_DELETED =
  'UPDATE erased_purchases SET is_deleted = 1 WHERE store = ? AND transaction_id = ?'
const DELETE_TRANSACTION =
  'DELETE FROM transactions WHERE store = ? AND transaction_id = ? AND purchase = ?'

/** Deletes changes that an import has not committed. Returns how many. */
function deleteChanges(db: Connection, lease: Lease, most: number): number {
  const changes = db.all(FIND_CHANGES, lease.import, most)
  for (const { purchase, user_id } of changes as unknown as FoundChange[]) {
    if (user_id !== null) db.run(DELETE_USER_ENTRY, userKey(lease.store, user_id), purchase)
    db.run('DELETE FROM purchase_changes WHERE purchase = ?', purchase)
  }
  return changes.length
}

interface FoundChange {
  readonly purchase: number
  readonly user_id: string | null
}

const FIND_CHANGES = 'SELECT purchase, user_id FROM purchase_changes WHERE import = ? LIMIT ?'

/** Deletes what refers to an import, a slice at a time. The parameters are its `seq` and a limit. */
const REFERENCES = [
  `DELETE FROM status_changes WHERE (import, purchase) IN (
    SELECT import, purchase FROM status_changes WHERE import = ? LIMIT ?)`,
  `DELETE FROM import_overlaps WHERE (import, earlier) IN (
    SELECT import, earlier FROM import_overlaps WHERE import = ? LIMIT ?)`,
  `DELETE FROM import_overlaps WHERE (import, earlier) IN (
    SELECT import, earlier FROM import_overlaps WHERE earlier = ? LIMIT ?)`,
]

/** Deletes the import that holds the status changes of an undo, once all of them are applied. */
const DELETE_UNDO = `
  DELETE FROM imports WHERE owner IS NULL
    AND import_id = (SELECT 'undo:' || x.import_id FROM imports x WHERE x.seq = ?)
    AND NOT EXISTS (SELECT 1 FROM purchase_changes c WHERE c.import = imports.seq)`

/**
 * Adds the previous values of the next purchases that the import changed. Compares the
 * import too: SQLite may have given the `seq` of a deleted purchase to one of another import.
 */
const ADD_CHANGES = `
  INSERT INTO purchase_changes (purchase, import, status, filled)
  SELECT c.purchase, ?, ${STATUS_BEFORE}, c.filled FROM status_changes c CROSS JOIN purchases p
  WHERE c.import = ? AND p.seq = c.purchase AND p.import <> c.import AND c.purchase > (
    SELECT coalesce(max(purchase), 0) FROM purchase_changes WHERE import = ?)
  ORDER BY c.purchase LIMIT ?`
