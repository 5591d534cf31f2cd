import type { Dialect, Sql } from '../sql/dialect.ts'
import { memoize } from '../sql/memoize.ts'
import { PAGE_TEXT } from '../sql/pages.ts'
import {
  finding,
  type Program,
  type Query,
  run,
  type Statement,
  type Step,
  type Value,
} from '../sql/program.ts'
import { AUDIT_LOG } from './audit.ts'
import { type Connection, type Database, LONG_MS } from './connection.ts'
import type { Row } from './drivers.ts'
import { WEBHOOKS } from './endpoints.ts'
import { STATUS_CHANGES } from './purchases/status-changes.ts'
import { insertionOfMany } from './statements.ts'

/** Runs the programs of `sql/` on a PostgreSQL database. */
export function sqlOn(db: Database): Sql {
  return {
    ...DIALECT,
    read: (program) => execute(db, program),
    write: (program, { isLong, account_id } = {}) =>
      db.transaction((tx) => execute(tx, program()), isLong && LONG_MS, account_id),
    writeOnce: (program) => execute(db, program()),
    async readLong(stores, queryOf, { signal } = {}) {
      const query = queryOf(stores)
      try {
        return await db.transaction((tx) => readUntil(db, tx, query, signal), LONG_MS)
      } catch (error) {
        signal?.throwIfAborted()
        throw error
      }
    },
  }
}

/** Runs a query, which `signal` cancels. */
async function readUntil(db: Database, tx: Connection, query: Query, signal?: AbortSignal) {
  const found = await tx.find('SELECT pg_backend_pid() AS pid')
  signal?.throwIfAborted()
  let cancelling: Promise<unknown> | undefined
  const cancel = () => {
    cancelling = db.checks.find('SELECT pg_cancel_backend(?)', found?.pid as number).catch(() => {})
  }
  signal?.addEventListener('abort', cancel)
  try {
    return await tx.all(query.sql, ...query.values)
  } finally {
    signal?.removeEventListener('abort', cancel)
    await cancelling // a late cancellation would end the next statement of the connection
  }
}

export const DELETE_EXPIRED = `
  DELETE FROM idempotency_records WHERE (account_id, key) IN (
    SELECT account_id, key FROM idempotency_records WHERE expires_at <= ?
    ORDER BY expires_at LIMIT 10 FOR UPDATE SKIP LOCKED)`

export const DIALECT: Dialect = {
  forUpdate: ' FOR NO KEY UPDATE',
  forShare: ' FOR SHARE',
  bytes: (column) => `encode(${column}, 'hex')`,
  time: (column) => `to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`,
  lock: (changed, shared) => finding(LOCK, changed, shared),
  *lockTable(name, mode) {
    yield* run(`LOCK TABLE ${name} IN ${mode} MODE`)
  },
  *insertAll(table, records) {
    return yield* run(insertionOfAll(table), records)
  },
  deleteExpired: DELETE_EXPIRED,
  webhooks: WEBHOOKS,
  audit: AUDIT_LOG,
  statusChanges: STATUS_CHANGES,
  pageOfText: (query, order, most = PAGE_TEXT) => `
    SELECT * FROM (
      SELECT *, sum(text) OVER (
        ORDER BY place ${order} ROWS BETWEEN UNBOUNDED PRECEDING AND 2 PRECEDING) AS text_before
      FROM (${query}) q) w
    WHERE coalesce(text_before, 0) < ${most} ORDER BY place ${order}`,
  mostConfigured: 32,
  rows(columns) {
    const fields = Object.entries(columns).map(([name, { type }]) => `${name} ${type}`)
    return `(SELECT * FROM json_to_recordset(?) AS c (${fields.join(', ')}))`
  },
  each: {
    text: '(SELECT json_array_elements_text(?))',
    bigint: '(SELECT json_array_elements_text(?)::bigint)',
  },
}

/** An arbitrary number for the advisory locks of authorities: the letters "auth". */
const LOCK_CLASS = 0x61757468

// Hashes the names to numbers. Names with the same hash share one lock.
const LOCK = `
  SELECT CASE WHEN is_exclusive THEN pg_advisory_xact_lock(${LOCK_CLASS}, number)
    ELSE pg_advisory_xact_lock_shared(${LOCK_CLASS}, number) END
  FROM (
    SELECT hashtext(name) AS number, bool_or(is_exclusive) AS is_exclusive FROM (
      SELECT json_array_elements_text(?) AS name, true AS is_exclusive
      UNION ALL SELECT json_array_elements_text(?), false) AS names
    GROUP BY number ORDER BY number) AS locks`

/**
 * Finds a key by its id, if it has all the given scopes. First takes the advisory lock of the key, then the row lock. If the
 * statement waits, its snapshot becomes outdated, but FOR SHARE then reads a changed row again.
 */
export const FIND_LOCKED_KEY = `
  SELECT 1 FROM account_keys
  WHERE (SELECT pg_advisory_xact_lock_shared(${LOCK_CLASS}, hashtext(?))) IS NOT NULL
    AND revoked_at IS NULL AND key_id = ? AND (scopes IS NULL OR NOT EXISTS (
      SELECT json_array_elements_text(?) EXCEPT SELECT json_array_elements_text(scopes))) FOR SHARE`

const insertionOfAll = memoize(insertionOfMany<unknown>)

/** Runs a program, and awaits each step. */
export async function execute<T>(on: Connection, program: Program<T>): Promise<T> {
  let step = program.next()
  while (!step.done) {
    const { value } = step
    step = program.next(await take(on, value))
  }
  return step.value
}

function take(on: Connection, step: Step): unknown {
  if ('sql' in step) return answer(on, step)
  if ('isAudited' in step) return on.notice(step.isAudited)
  return Promise.all(step.map((each) => answer(on, each)))
}

async function answer(on: Connection, { sql, values, returns, take }: Statement): Promise<unknown> {
  if (returns === 'count') return on.run(sql, ...values)
  if (returns === 'row') return on.find(sql, ...values)
  const rows = returns === 'json' ? await readJson(on, sql, values) : await on.all(sql, ...values)
  return take ? take(rows) : rows
}

async function readJson(on: Connection, sql: string, values: readonly Value[]): Promise<Row[]> {
  const found = await on.find(`SELECT json_agg(r) AS rows FROM (${sql}) r`, ...values)
  return (found?.rows ?? []) as Row[]
}
