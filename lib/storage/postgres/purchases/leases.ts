import type { Sql } from '../../sql/dialect.ts'
import { run } from '../../sql/program.ts'
import { columnBefore, STATUS_BEFORE, settingAll } from '../../sql/purchases/fills.ts'
import { type ImportDialect, renewLease } from '../../sql/purchases/imports.ts'
import { RECORDED_GAP } from '../../sql/purchases/recorded.ts'
import type { Database } from '../connection.ts'
import { createImport } from './imports.ts'

// The lease ends 20 s after the last heartbeat, by the database's clock.
const IS_EXPIRED = "i.alive_at < now() - interval '20 seconds'"

const CLEARED_A_STATEMENT = 20_000

export function importDialect(db: Database, sql: Sql): ImportDialect {
  const dialect: ImportDialect = {
    now: 'now()',
    longAgo: "'epoch'",
    isExpired: IS_EXPIRED,
    // The commit of an import locks its row, and may take longer than the lease.
    ifExpired: `AND ${IS_EXPIRED} FOR UPDATE SKIP LOCKED`,
    columns: '',
    values: '',
    first: `s.last_purchase + ${RECORDED_GAP} + 1`,
    // KEY SHARE waits for a recording, and then reads the counter that it has raised. Unlike SHARE,
    // it does not block the commit of an import, for which this statement may wait.
    lock: 'FOR KEY SHARE',
    ifApplied: '',
    createImport: (started, leases) => createImport(db, started, leases),
    findRows: FIND_ROWS,
    deleteSlice: (lease, from) =>
      sql.write(function* () {
        if (!(yield* renewLease(dialect, lease))) return undefined
        const end = from + CLEARED_A_STATEMENT
        yield* run(DELETE_PURCHASES, lease.store, from, end, lease.import)
        return end
      }),
    deletions: [DELETE_CHANGES, DELETE_STATUS_CHANGES, DELETE_OVERLAPS, DELETE_LATER_OVERLAPS],
    *commitUndo(lease, undone) {
      yield* run(RESTORE, undone)
      yield* run(MARK_DELETED, lease.store, undone)
      yield* run('DELETE FROM imports WHERE seq = ?', lease.import)
    },
  }
  return dialect
}

/** An import that an earlier version began has no `first_purchase` before its commit. */
const FIND_ROWS = `
  SELECT i.undone_at IS NOT NULL AS is_undone, p.first, p.last
  FROM imports i JOIN stores s ON s.seq = i.store CROSS JOIN LATERAL (
    SELECT min(p.seq) AS first, max(p.seq) AS last FROM purchases p
    WHERE p.store = s.seq AND p.import = i.seq
      AND p.seq >= coalesce(i.first_purchase, s.last_purchase + 1)
      AND p.seq <= coalesce(i.last_purchase, ${Number.MAX_SAFE_INTEGER})) p
  WHERE i.seq = ?`
const DELETE_PURCHASES = `
  WITH gone AS (
    DELETE FROM purchases WHERE store = $1 AND seq >= $2 AND seq < $3 AND import = $4
    RETURNING seq),
  changes AS (
    DELETE FROM status_changes WHERE store = $1 AND purchase >= $2 AND purchase < $3
      AND purchase IN (SELECT seq FROM gone))
  DELETE FROM deliveries WHERE store = $1 AND purchase >= $2 AND purchase < $3
    AND purchase IN (SELECT seq FROM gone)`
const DELETE_CHANGES = `
  DELETE FROM purchase_changes WHERE store = (SELECT store FROM imports WHERE seq = ?)`
const DELETE_STATUS_CHANGES = 'DELETE FROM status_changes WHERE import = ?'
const DELETE_OVERLAPS = 'DELETE FROM import_overlaps WHERE import = ?'
const DELETE_LATER_OVERLAPS = 'DELETE FROM import_overlaps WHERE earlier = ?'

const RESTORE = `
  UPDATE purchases p SET status = ${STATUS_BEFORE}, ${settingAll(columnBefore)} FROM status_changes c
  WHERE c.import = ? AND p.store = c.store AND p.seq = c.purchase`

// Marks the erased purchases of the import as deleted. Their transaction ids stay stored: a later
// import of the same file skips them, and does not restore their users.
const MARK_DELETED = `
  UPDATE erased_purchases e SET is_deleted = TRUE FROM purchases p
  WHERE e.store = ? AND p.store = e.store AND p.transaction_id = e.transaction_id AND p.import = ?`
