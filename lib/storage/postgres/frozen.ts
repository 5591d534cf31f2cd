import type { Connection, Database } from './connection.ts'

/** A wait for a lock of a frozen server must end before its `lock_timeout` of 10 s. */
const SILENT_SECONDS = 7
const WATCH_MS = 2_000

/**
 * Ends the sessions of other servers that are silent in the middle of a COPY. No timeout of
 * PostgreSQL ends them: it handles no cancellation while a COPY waits for its client. A role may end
 * its own sessions. A COPY of tillkit has at most 1 MiB, and takes less than a second.
 */
const END_SILENT = `
  SELECT pg_terminate_backend(pid) FROM pg_stat_activity
  WHERE datname = current_database() AND usename = current_user AND application_name = 'tillkit'
    AND state = 'active' AND wait_event = 'ClientRead'
    AND query_start < clock_timestamp() - interval '${SILENT_SECONDS} seconds'`

/** Ends the silent sessions of other servers once. */
export async function endSilentSessions({ find }: Pick<Connection, 'find'>): Promise<void> {
  await find(END_SILENT)
}

/**
 * Ends silent sessions every 2 s while a statement of this process runs: it may wait for one of
 * them. Ignores failures, because the statement itself reports a lost database. Returns a function
 * that stops.
 */
export function watchSilentSessions(db: Pick<Database, 'checks' | 'poolState'>): () => void {
  const look = () => {
    if (db.poolState().inUse > 0) void endSilentSessions(db.checks).catch(() => {})
  }
  const timer = setInterval(look, WATCH_MS).unref()
  return () => clearInterval(timer)
}
