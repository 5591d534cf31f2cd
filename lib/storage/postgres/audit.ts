import { invalidField } from '../../domain/fields.ts'
import type { AuditDialect } from '../sql/audit/dialect.ts'
import { all, find, run } from '../sql/program.ts'
import { AUDIT, numberedEntry } from '../sql/tables.ts'
import { HORIZON } from './horizon.ts'

/** An arbitrary number for the lock of all archive runs: the letters "arch". */
const LOCK = 0x61726368

export const AUDIT_LOG: AuditDialect = {
  *listSettled({ limit, after = '0.0' }) {
    if (limit === 0) {
      const row = yield* find(`SELECT ${HORIZON}::text AS horizon`)
      return { entries: [], position: `${row?.horizon}.0` }
    }
    const [xid, seq] = after.split('.') as [string, string]
    const rows = yield* all(PAGE_OF_SETTLED, xid, seq, limit)
    const last = rows.at(-1)
    const position = last ? `${last.xid}.${last.seq}` : after
    return { entries: rows.map(numberedEntry), position }
  },
  *beginArchive(before) {
    yield* run('SELECT pg_advisory_xact_lock(?)', LOCK)
    if (yield* find(IS_TOO_LATE, before)) {
      throw invalidField('before', 'invalid', 'must be at least one hour ago')
    }
  },
}

const PAGE_OF_SETTLED = `
  SELECT seq, xid::text AS xid, ${AUDIT.list} FROM audit a
  WHERE (a.xid, a.seq) > (CAST(CAST(? AS text) AS xid8), CAST(? AS bigint))
    AND a.xid < ${HORIZON}
  ORDER BY a.xid, a.seq LIMIT ?`

/**
 * Entries of the last hour stay in the log. Other servers read them, up to a minute after a change,
 * to find changes of cached data. The database's clock measures the age of entries.
 */
const IS_TOO_LATE = `
  SELECT 1 WHERE ?::timestamptz > now() - interval '1 hour'`
