import type { Row } from '../sql/columns.ts'
import type { OpenTransaction } from '../sql/records.ts'
import type { Database } from './connection.ts'
import { endSilentSessions } from './frozen.ts'

/**
 * The transactions of other databases of the server that have an id. A snapshot has the ids of all
 * databases, but those transactions cannot write into this database. Any role may read these columns.
 */
const FOREIGN = `
  SELECT backend_xid FROM pg_stat_activity
  WHERE backend_xid IS NOT NULL AND datname <> current_database()
  UNION ALL SELECT transaction FROM pg_prepared_xacts WHERE database <> current_database()`

/**
 * The open transactions that may have written into this database, as `o.xid`. A transaction that is
 * in neither view counts too. The views are read only if a transaction is open: NOT IN is no join.
 */
const OPEN = `
  (SELECT xid FROM pg_snapshot_xip(pg_current_snapshot()) xid WHERE xid::xid NOT IN (${FOREIGN})
    ORDER BY xid LIMIT 1) o`

/**
 * All transactions of this database with lower ids have ended, and write no more entries. The ids of
 * a snapshot do not include the transaction that reads it.
 */
export const HORIZON = `(
  SELECT least((SELECT xid FROM ${OPEN}), pg_snapshot_xmax(pg_current_snapshot()),
    pg_current_xact_id_if_assigned()))`

const OLDEST = `
  SELECT o.xid::text, s.pid, s.application_name, p.gid,
    extract(epoch FROM clock_timestamp() - coalesce(s.xact_start, p.prepared)) AS seconds
  FROM ${OPEN} LEFT JOIN pg_stat_activity s ON s.backend_xid = o.xid::xid
  LEFT JOIN pg_prepared_xacts p ON p.transaction = o.xid::xid`

/**
 * Returns a function that finds the oldest open transaction, after it has ended the silent sessions
 * of frozen servers. Only its own role, and a member of
 * `pg_read_all_stats`, may see when a session began its transaction. For all others, the age counts
 * from the first call that found the transaction.
 */
export function createTransactionWatch(
  db: Pick<Database, 'find'>,
): () => Promise<OpenTransaction | undefined> {
  let found: { readonly xid: unknown; readonly at: number } | undefined
  return async () => {
    await endSilentSessions(db)
    let row = await db.find(OLDEST)
    // A transaction that ended after the snapshot was taken is in neither view, and in no later snapshot.
    for (let last: unknown; isUnseen(row) && row.xid !== last; row = await db.find(OLDEST)) {
      last = row.xid
    }
    if (row?.xid !== found?.xid) found = row && { xid: row.xid, at: performance.now() }
    if (!row || !found) return undefined
    const { pid, application_name, gid, seconds } = row
    const sinceFound = (performance.now() - found.at) / 1000
    const session = isUnseen(row)
      ? `transaction ${row.xid}`
      : `process ${pid} (${application_name})`
    return {
      holder: gid ? `prepared transaction ${gid}` : session,
      seconds: seconds === null ? sinceFound : Number(seconds),
    }
  }
}

/** Whether a transaction of `OLDEST` is in neither view. */
function isUnseen(row: Row | undefined): row is Row {
  return row !== undefined && row.pid === null && row.gid === null
}
