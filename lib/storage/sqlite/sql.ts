import type { Table } from '../sql/columns.ts'
import type { Dialect, Sql } from '../sql/dialect.ts'
import { memoize } from '../sql/memoize.ts'
import { insert, type Program, run, type Statement, type Step, type Value } from '../sql/program.ts'
import { AUDIT_LOG } from './audit.ts'
import type { Connection } from './connection.ts'
import type { SqliteValue } from './drivers.ts'
import { WEBHOOKS } from './endpoints.ts'
import { STATUS_CHANGES } from './purchases/status-changes.ts'
import { readLong } from './purchases/summaries.ts'

/** Runs the programs of `sql/` on a SQLite connection. */
export function sqlOn(db: Connection): Sql {
  const write: Sql['write'] = (program, { isAlone, isLazy, account_id } = {}) => {
    const work = () => execute(db, program())
    if (isLazy) return db.lazyTransaction(work)
    return isAlone ? db.transaction(work) : db.write(work, account_id)
  }
  return {
    ...DIALECT,
    read: async (program) => execute(db, program),
    write,
    writeOnce: write,
    readLong: (stores, queryOf, options) => readLong(db, stores, queryOf, options),
  }
}

/** Deletes at most 100 records, to be quick if many have expired, as in a restored backup. */
const DELETE_EXPIRED = `
  DELETE FROM idempotency_records WHERE (account_id, key) IN (
    SELECT account_id, key FROM idempotency_records
    WHERE expires_at <= ? ORDER BY expires_at LIMIT 100)`

/** From here on, one statement for all records takes half of the time: 8 µs an audit entry, not 15. */
const MANY = 10

export const DIALECT: Dialect = {
  forUpdate: '',
  forShare: '',
  bytes: (column) => `lower(hex(${column}))`,
  time: (column) => column,
  lock: () => undefined,
  *lockTable() {},
  *insertAll(table, records) {
    if (records.length >= MANY) return yield* run(insertionOfMany(table), records)
    let count = 0
    for (const record of records) count += yield* insert(table, record)
    return count
  },
  deleteExpired: DELETE_EXPIRED,
  webhooks: WEBHOOKS,
  audit: AUDIT_LOG,
  statusChanges: STATUS_CHANGES,
  pageOfText: (query) => query,
  mostConfigured: Number.POSITIVE_INFINITY,
  rows: (columns) => rowsOf(Object.keys(columns)),
  each: {
    text: '(SELECT value FROM json_each(?))',
    bigint: '(SELECT value FROM json_each(?))',
  },
}

function rowsOf(fields: readonly string[]): string {
  const values = fields.map((name) => `json_extract(value, '$.${name}') AS ${name}`)
  return `(SELECT ${values.join(', ')} FROM json_each(?))`
}

const insertionOfMany = memoize(({ fields, insertionFrom }: Table<unknown>) =>
  // Without WHERE, SQLite would read ON CONFLICT as the condition of a join.
  insertionFrom(`${rowsOf(fields)} r WHERE true`, (field) => `r.${field}`),
)

/** Runs a program in one turn of the event loop. */
export function execute<T>(db: Connection, program: Program<T>): T {
  let step = program.next()
  while (!step.done) {
    const { value } = step
    step = program.next(take(db, value))
  }
  return step.value
}

function take(db: Connection, step: Step): unknown {
  if ('sql' in step) return answer(db, step)
  if ('isAudited' in step) return db.notice(step.isAudited)
  return step.map((each) => answer(db, each))
}

function answer(db: Connection, { sql, values, returns, take }: Statement): unknown {
  const stored = values.map(storedValue)
  if (take) return db.some(take, sql, ...stored)
  if (returns === 'count') return db.run(sql, ...stored)
  return returns === 'row' ? db.find(sql, ...stored) : db.all(sql, ...stored)
}

function storedValue(value: Value): SqliteValue {
  if (typeof value === 'boolean') return Number(value)
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return value
  return JSON.stringify(value)
}
