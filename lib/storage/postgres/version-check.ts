import type { AuditAction } from '../../domain/audit.ts'
import type { Connection } from './connection.ts'
import type { Row } from './drivers.ts'

/** The result of a check. Data that was read after the check is true at it, or newer. */
export interface Version {
  /** A `pg_snapshot`. */
  readonly snapshot: string
  /** The start time of the server. After a failover it differs. */
  readonly server: string
  /** The greatest `seq` in the audit log. */
  readonly last: string
  /** The time by the clock of the database, in Unix seconds. */
  readonly at: number
}

/** An audit entry of a change. */
export interface Change {
  readonly action: AuditAction
  readonly account_id: string
  readonly store_id: string
  readonly subject: string
}

export interface Checked {
  /** Undefined on a replica, whose data may be older than an acknowledged write. */
  readonly version: Version | undefined
  /** The changes since the previous version; undefined if not all of them are known. */
  readonly changes: readonly Change[] | undefined
}

/**
 * Finds the changes that were committed after a version, exactly: no change of before is in the
 * result, and none is missing. Each change has an audit entry in its own transaction.
 */
export async function checkVersion(
  db: Pick<Connection, 'find'>,
  previous: Version = FIRST,
): Promise<Checked> {
  const { snapshot, last } = previous
  const row = (await db.find(CHECK, snapshot, last)) as Row
  const version = versionOf(row)
  const changes = (row.changes ?? []) as readonly Change[]
  const isKnown = changes.length < MOST_CHANGES && follows(version, previous)
  return {
    version: row.is_replica ? undefined : version,
    changes: isKnown && !row.is_replica ? changes : undefined,
  }
}

function versionOf(row: Row): Version {
  return {
    snapshot: row.snapshot as string,
    server: row.server as string,
    last: row.last as string,
    at: row.at as number,
  }
}

const FIRST: Version = { snapshot: '1:1:', server: '', last: '9223372036854775807', at: 0 }

/**
 * Seconds after which a version is too old. `audit archive` then may have removed entries of
 * changes since.
 */
const MAX_AGE = 60

/** Whether the entries that a check found can be complete. */
function follows(version: Version, previous: Version): boolean {
  const age = version.at - previous.at
  return version.server === previous.server && age >= 0 && age <= MAX_AGE
}

const MOST_CHANGES = 100

/**
 * Three index scans find the entries that the previous snapshot did not see: of transactions that
 * began after it, of those that were open, and of all after a crash. PostgreSQL may use transaction
 * ids of before a crash again, but numbers of a sequence only if their transactions were lost.
 *
 * A transaction that stays open for hours does not lengthen the scans. A range from `xmin` on would
 * include all entries since its start. ORDER BY keeps the planner from a sequential scan.
 *
 * A restored dump has transaction ids of another server. The upper limit excludes those.
 */
const CHECK = `
  SELECT pg_current_snapshot()::text AS snapshot, pg_postmaster_start_time()::text AS server,
    pg_is_in_recovery() AS is_replica, extract(epoch FROM now())::float8 AS at,
    (SELECT coalesce(max(seq), 0) FROM audit) AS last,
    (SELECT json_agg(c) FROM (
      ${entriesWhere(
        `xid >= pg_snapshot_xmax($1::pg_snapshot)
          AND xid < pg_snapshot_xmax(pg_current_snapshot())`,
        'xid',
      )}
      UNION ALL ${entriesWhere('xid = ANY (ARRAY(SELECT pg_snapshot_xip($1::pg_snapshot)))', 'xid')}
      UNION ALL ${entriesWhere('seq > $2', 'seq')}) c) AS changes`

function entriesWhere(condition: string, order: string): string {
  return `(SELECT action, account_id, store_id, subject FROM audit
    WHERE ${condition} ORDER BY ${order} LIMIT ${MOST_CHANGES})`
}
