import { invalidField } from '../../domain/fields.ts'
import type { Table } from '../columns.ts'
import { memoize } from '../memoize.ts'
import type { WriteOptions } from '../records.ts'
import { EXAMINED_REFUNDS } from '../refunds.ts'
import { lockOf } from '../sql/authority.ts'
import type { Dialect, Sql } from '../sql/dialect.ts'
import { all, find, finding, type Program, run, type Statement, type Step } from '../sql/program.ts'
import { PUT_IDEMPOTENCY_RECORD as PUT } from '../sql/write.ts'
import { AUDIT, IDEMPOTENCY_RECORDS, numberedEntry } from '../tables.ts'
import type { Connection, Database } from './connection.ts'
import { WEBHOOKS } from './endpoints.ts'
import { insertionOfMany } from './statements.ts'
import { LONG } from './summaries.ts'

/** Runs the programs of `sql/` on a PostgreSQL database. */
export function sqlOn(db: Database): Sql {
  return {
    ...DIALECT,
    read: (program) => execute(db, program),
    write: (program, { isLong } = {}) =>
      db.transaction((tx) => execute(tx, program()), isLong && LONG),
    writeOnce: (program) => execute(db, program()),
    readLong(stores, queryOf) {
      const { sql, values } = queryOf(stores)
      return db.transaction((tx) => tx.all(sql, ...values), LONG)
    },
    notice: (isAudited) => db.notice(isAudited),
  }
}

const COUNT_CHANGED = `
  SELECT count(*) AS n FROM (
    SELECT l.purchase FROM imports x JOIN status_changes l ON l.store = x.store
      AND l.purchase BETWEEN x.first_purchase AND x.last_purchase
    WHERE x.seq = ?
    UNION
    SELECT l.purchase FROM status_changes c JOIN status_changes l
      ON l.store = c.store AND l.purchase = c.purchase AND l.before = c.after
    WHERE c.import = ?) changed`

export const DIALECT: Dialect = {
  forUpdate: ' FOR NO KEY UPDATE',
  forShare: ' FOR SHARE',
  greatest: 'greatest',
  bytes: (column) => `encode(${column}, 'hex')`,
  time: (column) => `to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`,
  lock: (changed, shared) => finding(LOCK, changed, shared),
  *lockTable(name, mode) {
    yield* run(`LOCK TABLE ${name} IN ${mode} MODE`)
  },
  *insertAll(table, records) {
    return yield* run(insertionOfAll(table), records)
  },
  insertAudited,
  insertsAlone: true,
  *putIdempotencyRecord(record) {
    const { account_id, key, created_at } = record
    const values = IDEMPOTENCY_RECORDS.values(record)
    return yield* run(PUT_IDEMPOTENCY_RECORD, created_at, account_id, key, ...values)
  },
  webhooks: WEBHOOKS,
  mostConfigured: 32,
  *listSettled({ limit, after = '0.0' }) {
    if (limit === 0) {
      const row = yield* find('SELECT pg_snapshot_xmin(pg_current_snapshot())::text AS xmin')
      return { entries: [], position: `${row?.xmin}.0` }
    }
    const [xid, seq] = after.split('.') as [string, string]
    const rows = yield* all(PAGE_OF_SETTLED, xid, seq, limit)
    const last = rows.at(-1)
    const position = last ? `${last.xid}.${last.seq}` : after
    return { entries: rows.map(numberedEntry), position }
  },
  *beginArchive(before) {
    yield* run('LOCK TABLE audit_archive IN EXCLUSIVE MODE')
    if (yield* find(IS_TOO_LATE, before)) {
      throw invalidField('before', 'invalid', 'must be at least one hour ago')
    }
  },
  changesOfImport: (import_id, after) => ({
    sql: CHANGES_OF_IMPORT,
    values: [import_id, after],
  }),
  isPurchaseOfChange: 'p.store = c.store AND p.seq = c.purchase',
  countChanged: COUNT_CHANGED,
  joinTransaction: 'JOIN purchases p ON p.store = s.seq AND p.transaction_id = ?',
  rows(columns) {
    const fields = Object.entries(columns).map(([name, { type }]) => `${name} ${type}`)
    return `(SELECT * FROM json_to_recordset(?) AS c (${fields.join(', ')}))`
  },
  each: {
    text: '(SELECT json_array_elements_text(?))',
    bigint: '(SELECT json_array_elements_text(?)::bigint)',
  },
}

const CHANGES_OF_IMPORT = `
  SELECT store, purchase, after FROM status_changes
  WHERE import = (SELECT seq FROM imports WHERE import_id = ? AND undone_at IS NULL)
    AND purchase > CAST(? AS bigint)
  ORDER BY purchase LIMIT ${EXAMINED_REFUNDS}`

// All transactions with ids below the snapshot's xmin have ended and write no more entries.
const PAGE_OF_SETTLED = `
  SELECT seq, xid::text AS xid, ${AUDIT.list} FROM audit a
  WHERE (a.xid, a.seq) > (CAST(CAST(? AS text) AS xid8), CAST(? AS bigint))
    AND a.xid < pg_snapshot_xmin(pg_current_snapshot())
  ORDER BY a.xid, a.seq LIMIT ?`

/**
 * Entries of the last hour stay in the log. Other servers read them, up to a minute after a change,
 * to find changes of cached data. The database's clock measures the age of entries.
 */
const IS_TOO_LATE = `
  SELECT 1 WHERE ?::timestamptz > now() - interval '1 hour'`

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
 * Finds a key by its id. First takes the advisory lock of the key, then the row lock. If the
 * statement waits, its snapshot becomes outdated, but FOR SHARE then reads a changed row again.
 */
export const FIND_LOCKED_KEY = `
  SELECT 1 FROM account_keys
  WHERE (SELECT pg_advisory_xact_lock_shared(${LOCK_CLASS}, hashtext(?))) IS NOT NULL
    AND revoked_at IS NULL AND key_id = ? FOR SHARE`

/**
 * Verifies the account key, inserts a record and writes its audit entry in one statement, to save
 * round trips. A revocation locks the key's row. If this statement has to wait for that lock, it
 * reads the row again and finds that the key is revoked.
 */
export function* insertAudited<R>(
  { audit, authority }: WriteOptions,
  table: Table<R>,
  record: R,
): Program<boolean> {
  const key_id = authority?.key_id
  const sql = insertionsInto(table)[key_id === undefined ? 'free' : 'keyed']
  const values = key_id === undefined ? [] : [lockOf.key(key_id), key_id]
  values.push(...(table.values(record) as string[]))
  const inserted = audit
    ? yield* run(sql.audited, ...values, ...AUDIT.values(audit))
    : yield* run(sql.plain, ...values)
  return inserted === 1
}

/**
 * The SQL that inserts into a table. It can also verify the caller's account key, and write an
 * audit entry.
 */
const insertionsInto = memoize((table: Pick<Table<unknown>, 'insertionFrom'>) => {
  const insertion = table.insertionFrom('authority')
  const under = (authority: string) => ({
    plain: `WITH authority AS (${authority}) ${insertion}`,
    audited: `WITH authority AS (${authority}), changed AS (${insertion} RETURNING 1)
      ${AUDIT.insertionFrom('changed')}`,
  })
  return { free: under('SELECT 1'), keyed: under(FIND_LOCKED_KEY) }
})

const insertionOfAll = memoize(insertionOfMany<unknown>)

const PUT_IDEMPOTENCY_RECORD = `
  WITH expired AS (
    DELETE FROM idempotency_records WHERE (account_id, key) IN (
      SELECT account_id, key FROM idempotency_records
      WHERE expires_at <= ? AND (account_id, key) <> (?, ?)
      ORDER BY expires_at LIMIT 10 FOR UPDATE SKIP LOCKED))
  ${PUT}`

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
  const rows = await on.all(sql, ...values)
  return take ? take(rows) : rows
}
