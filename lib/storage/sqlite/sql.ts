import { PAGE_OF_AUDIT } from '../sql/audit/audit.ts'
import type { Dialect, Sql } from '../sql/dialect.ts'
import {
  all,
  find,
  insert,
  type Program,
  type Statement,
  type Step,
  type Value,
} from '../sql/program.ts'
import { numberedEntry } from '../sql/tables.ts'
import { EXAMINED_REFUNDS } from '../sql/webhooks/refunds.ts'
import type { Connection } from './connection.ts'
import type { SqliteValue } from './drivers.ts'
import { WEBHOOKS } from './endpoints.ts'
import { readLong } from './purchases/summaries.ts'

/** Runs the programs of `sql/` on a SQLite connection. */
export function sqlOn(db: Connection): Sql {
  const write: Sql['write'] = (program, { isAlone, isLazy } = {}) => {
    const work = () => execute(db, program())
    if (isLazy) return db.lazyTransaction(work)
    return isAlone ? db.transaction(work) : db.write(work)
  }
  return {
    ...DIALECT,
    read: async (program) => execute(db, program),
    write,
    writeOnce: write,
    readLong: (stores, queryOf) => readLong(db, stores, queryOf),
  }
}

const FIND_OWN_CHANGES = `
  SELECT DISTINCT l.purchase, x.seq AS own FROM imports x CROSS JOIN status_changes l
  WHERE x.seq = ? AND l.purchase BETWEEN max(x.first_purchase, ? + 1) AND x.last_purchase
  ORDER BY l.purchase LIMIT ?`

/** Deletes at most 100 records, to be quick if many have expired, as in a restored backup. */
const DELETE_EXPIRED = `
  DELETE FROM idempotency_records WHERE (account_id, key) IN (
    SELECT account_id, key FROM idempotency_records
    WHERE expires_at <= ? ORDER BY expires_at LIMIT 100)`

export const DIALECT: Dialect = {
  forUpdate: '',
  forShare: '',
  bytes: (column) => `lower(hex(${column}))`,
  time: (column) => column,
  lock: () => undefined,
  *lockTable() {},
  *insertAll(table, records) {
    let count = 0
    for (const record of records) count += yield* insert(table, record)
    return count
  },
  deleteExpired: DELETE_EXPIRED,
  webhooks: WEBHOOKS,
  mostConfigured: Number.POSITIVE_INFINITY,
  *listSettled({ limit, after = '0' }) {
    if (limit === 0) {
      const last = yield* find('SELECT coalesce(max(seq), 0) AS seq FROM audit')
      return { entries: [], position: String(last?.seq) }
    }
    const entries = (yield* all(PAGE_OF_AUDIT, after, limit)).map(numberedEntry)
    return { entries, position: String(entries.at(-1)?.seq ?? after) }
  },
  *beginArchive() {},
  changesOfImport: (import_id, after) => ({
    sql: CHANGES_OF_IMPORT,
    values: [import_id, after, import_id, after],
  }),
  isPurchaseOfChange: 'p.seq = c.purchase',
  isChangedAgain: 'l.purchase = c.purchase AND l.before = c.after',
  findOwnChanges: FIND_OWN_CHANGES,
  joinTransaction: `
    CROSS JOIN transactions tr ON tr.store = s.seq AND tr.transaction_id = ?
    CROSS JOIN purchases p ON p.seq = tr.purchase`,
  rows(columns) {
    const fields = Object.keys(columns).map((name) => `json_extract(value, '$.${name}') AS ${name}`)
    return `(SELECT ${fields.join(', ')} FROM json_each(?))`
  },
  each: {
    text: '(SELECT value FROM json_each(?))',
    bigint: '(SELECT value FROM json_each(?))',
  },
}

const FINISHED = `
  SELECT seq FROM imports WHERE import_id = ? AND owner IS NULL AND undone_at IS NULL`

/** The table `purchase_changes` has the statuses that `purchases` does not have yet. */
const CHANGES_OF_IMPORT = `
  SELECT purchase, after FROM status_changes
  WHERE import = (${FINISHED}) AND purchase > CAST(? AS bigint)
  UNION ALL SELECT purchase, status AS after FROM purchase_changes
  WHERE import = (${FINISHED}) AND purchase > CAST(? AS bigint)
  ORDER BY purchase LIMIT ${EXAMINED_REFUNDS}`

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
