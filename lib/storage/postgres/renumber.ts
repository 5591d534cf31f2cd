import { type Database, LONG_MS } from './connection.ts'

// Whether a transaction id comes from another server: this server has assigned only lower ones.
const IS_FOREIGN = 'xid >= pg_snapshot_xmax(pg_current_snapshot())'

const FIND_FOREIGN = `
  SELECT 1 FROM audit WHERE ${IS_FOREIGN}
  UNION ALL SELECT 1 FROM webhook_endpoints WHERE read_${IS_FOREIGN} LIMIT 1`

/**
 * Moves each webhook endpoint whose position has a transaction id of another server to just before
 * the first entry that it has not read.
 */
const MOVE_POSITIONS = `
  UPDATE webhook_endpoints e SET read_xid = pg_current_xact_id(), read_rest = '',
    read_seq = coalesce((SELECT min(a.seq) - 1 FROM audit a WHERE a.project_id = e.project_id
      AND (a.xid, a.seq) > (e.read_xid, e.read_seq)), ${Number.MAX_SAFE_INTEGER})
  WHERE read_${IS_FOREIGN}`

const RENUMBER = `UPDATE audit SET xid = pg_current_xact_id() WHERE ${IS_FOREIGN}`

/**
 * Gives the audit entries of a restored dump the id of the current transaction. A dump keeps the
 * transaction ids of the server that wrote it. Without this change, readers would wait until this
 * server reaches those ids. A webhook endpoint may receive some messages again.
 */
export async function renumberRestored(db: Database): Promise<void> {
  if (!(await db.find(FIND_FOREIGN))) return
  await db.transaction(async (tx) => {
    await tx.exec('LOCK TABLE audit IN SHARE ROW EXCLUSIVE MODE')
    await tx.run(MOVE_POSITIONS)
    await tx.run('UPDATE webhook_endpoints SET started = NULL, started_by = NULL')
    await tx.exec('ALTER TABLE audit DISABLE TRIGGER USER')
    await tx.run(RENUMBER)
    await tx.exec('ALTER TABLE audit ENABLE TRIGGER USER')
  }, LONG_MS)
}
