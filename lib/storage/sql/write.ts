import { TillError } from '../../errors.ts'
import { lockAuthority, verifyAuthority } from './authority.ts'
import { omit, type Table } from './columns.ts'
import type { Dialect, Sql, WriteMode } from './dialect.ts'
import { find, insert, type Program, run } from './program.ts'
import { assertQuota } from './quota.ts'
import type {
  AuthorizedChange,
  Changed,
  IdempotencyRecord,
  Insertion,
  KeyCheck,
  WriteOptions,
} from './records.ts'
import { AUDIT, IDEMPOTENCY_RECORDS } from './tables.ts'
import { writeEndpoints } from './webhooks/endpoints.ts'

/**
 * Inserts a record with its audit entry and idempotency record, unless the idempotency key was used
 * already. Throws if a condition of the caller's authority fails.
 */
export function insertOnce<R>(
  sql: Sql,
  write: WriteOptions,
  table: Table<R>,
  record: R,
): Promise<Insertion> {
  return sql.write(() => insertWith(sql, write, table, record), shareOf(write))
}

/** Counts a write in the share of its caller's account. */
export function shareOf({ audit }: Pick<WriteOptions, 'audit'>): WriteMode {
  return { account_id: audit?.account_id }
}

// A function of its own: a generator function that is made anew for each call costs 7 µs more.
function* insertWith<R>(
  sql: Sql,
  write: WriteOptions,
  table: Table<R>,
  record: R,
): Program<Insertion> {
  const { audit, authority, idempotency, quota, endpoints = [], keyChecks = [] } = write
  yield* verifyAuthority(sql, authority)
  if (idempotency && (yield* putIdempotencyRecord(sql, idempotency)) === 0) return 'repeated'
  if ((yield* insert(table, record)) === 0) {
    if (idempotency) yield* run(DELETE_IDEMPOTENCY, idempotency.account_id, idempotency.key)
    return 'taken'
  }
  if (audit) yield* insert(AUDIT, audit)
  yield { isAudited: audit !== undefined }
  if (quota) yield* assertQuota(quota)
  for (const check of keyChecks) yield* verifyKeyCheck(sql, check)
  if (endpoints.length > 0) yield* writeEndpoints(sql, endpoints)
  return 'inserted'
}

const DELETE_IDEMPOTENCY = 'DELETE FROM idempotency_records WHERE account_id = ? AND key = ?'

/**
 * Replaces a record by the result of `change`. Concurrent changes run one after the other. If
 * `change` returns its argument as the record, writes nothing, not even the audit entry. Returns the
 * stored record, or undefined if there is none.
 */
export function* changeRecord<R>(
  sql: Dialect,
  { locks, find, update }: StoredRecord<R>,
  change: (current: R) => Changed<R>,
  options: AuthorizedChange,
): Program<R | undefined> {
  const { authority, audit } = options
  if (locks) yield* lockAuthority(sql, authority, ...locks)
  else yield* verifyAuthority(sql, authority)
  const current = yield* find
  if (!current) return undefined
  if (locks) yield* verifyAuthority(sql, authority)
  const { record, data, quota, ...writes } = change(current)
  if (record === current) return current
  yield* update(record, current)
  yield* assertQuota(quota)
  const changed = audit && data ? { audit: { ...audit, data } } : {}
  yield* recordWrite(sql, { ...options, ...writes, ...changed })
  return record
}

export interface StoredRecord<R> {
  /**
   * The names of the advisory locks of a project or store. Its row is locked before the authority is
   * verified: see `verifyAuthority`.
   */
  readonly locks?: readonly string[]
  /** Finds the record, and locks its row. */
  readonly find: Program<R | undefined>
  update(changed: R, current: R): Program<unknown>
}

/**
 * Verifies master keys, and writes audit entries, endpoints and idempotency records in the
 * transaction of their changes. Its commit then calls the listeners for writes.
 */
export function* recordWrite(sql: Dialect, ...writes: readonly WriteOptions[]): Program<void> {
  for (const check of writes.flatMap(({ keyChecks = [] }) => keyChecks)) {
    yield* verifyKeyCheck(sql, check)
  }
  const entries = writes.flatMap(({ audit }) => audit ?? [])
  if (entries.length > 0) yield* sql.insertAll(AUDIT, entries)
  if (entries.length > 0) yield { isAudited: true }
  // A caller's write without an entry changes no cached record.
  else if (writes.some(({ authority }) => !authority)) yield { isAudited: false }
  const endpoints = writes.flatMap((write) => write.endpoints ?? [])
  if (endpoints.length > 0) yield* writeEndpoints(sql, endpoints)
  for (const { idempotency } of writes) {
    if (idempotency) yield* putIdempotencyRecord(sql, idempotency)
  }
}

function* verifyKeyCheck(sql: Dialect, check: KeyCheck): Program<void> {
  if (check.isReplaced) yield* run(DELETE_KEY_CHECK)
  const [newest] = check.values
  if (newest !== undefined) yield* run(INSERT_KEY_CHECK, newest)
  // Waits for a transaction that writes the first check value.
  else yield* sql.lockTable('key_check', 'SHARE')
  assertKeyCheck((yield* find(FIND_KEY_CHECK))?.value, check)
}

/**
 * Inserts an idempotency record, and deletes some expired ones. Returns 0 if its key has a record that
 * has not expired. Of two concurrent requests, the second waits for the first to end.
 */
function* putIdempotencyRecord(sql: Dialect, record: IdempotencyRecord): Program<number> {
  yield* run(sql.deleteExpired, record.created_at)
  return yield* run(PUT_IDEMPOTENCY_RECORD, ...IDEMPOTENCY_RECORDS.values(record))
}

const PUT_IDEMPOTENCY_RECORD = `
  ${IDEMPOTENCY_RECORDS.insertion} ON CONFLICT (account_id, key) DO UPDATE
  SET ${omit(IDEMPOTENCY_RECORDS, 'account_id', 'key').assignments((name) => `excluded.${name}`)}
  WHERE ${IDEMPOTENCY_RECORDS.name}.expires_at <= excluded.created_at`

const FIND_KEY_CHECK = 'SELECT value FROM key_check'
const INSERT_KEY_CHECK =
  'INSERT INTO key_check (id, value) VALUES (1, ?) ON CONFLICT (id) DO NOTHING'
const DELETE_KEY_CHECK = 'DELETE FROM key_check'

/** Throws `master_key_mismatch` unless a key of the writer has the stored check value. */
function assertKeyCheck(stored: unknown, { values }: KeyCheck): void {
  if (stored === undefined || values.includes(stored as string)) return
  const problem = values.length === 0 ? 'is not set' : 'is another key'
  throw new TillError(
    'master_key_mismatch',
    `This database stores secrets only with its master key, and TILLKIT_MASTER_KEY ${problem}`,
  )
}
