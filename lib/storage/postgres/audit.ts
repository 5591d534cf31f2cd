import type { IdempotencyRecord } from '../../domain/idempotency.ts'
import type { Table } from '../columns.ts'
import { assertKeyCheck, DELETE_KEY_CHECK, FIND_KEY_CHECK, INSERT_KEY_CHECK } from '../key-check.ts'
import type { Insertion, KeyCheck, WriteOptions } from '../port.ts'
import { PUT_IDEMPOTENCY_RECORD } from '../sql/write.ts'
import { AUDIT, IDEMPOTENCY_RECORDS } from '../tables.ts'
import { FIND_LOCKED_KEY, lockOf, verifyAuthority } from './authority.ts'
import type { Connection, Database } from './connection.ts'
import { programs } from './endpoints.ts'
import { assertQuota } from './quota.ts'
import { execute } from './sql.ts'
import { insertionOfMany } from './statements.ts'

/**
 * Inserts a record with its audit entry and idempotency record, unless the idempotency key was used
 * already. Throws if a condition of the caller's authority fails. If there is nothing to check but
 * an account key, calls `insert` instead of opening a transaction.
 */
export async function insertOnce<R>(
  db: Database,
  write: WriteOptions,
  table: Table<R>,
  record: R,
  insert = () => insertAudited(db, write, table, record),
): Promise<Insertion> {
  const { authority, idempotency, quota, endpoints = [], keyChecks = [] } = write
  const isPlain = !idempotency && !quota && endpoints.length === 0 && keyChecks.length === 0
  if (isPlain && !authority?.token && !authority?.store) {
    if (await insert()) return 'inserted'
    // Nothing was inserted. Throws here if the account key was revoked; else the name is taken.
    await db.transaction((tx) => verifyAuthority(tx, authority))
    return 'taken'
  }
  return db.transaction(async (tx) => {
    await verifyAuthority(tx, authority)
    if (idempotency && !(await insertIdempotencyRecord(tx, idempotency))) return 'repeated'
    if (await insertAudited(tx, write, table, record)) {
      await assertQuota(tx, quota)
      for (const check of keyChecks) await verifyKeyCheck(tx, check)
      await execute(tx, programs.writeEndpoints(endpoints))
      return 'inserted'
    }
    tx.undo()
    return 'taken'
  })
}

/**
 * Verifies the account key, inserts a record and writes its audit entry in one statement, to save
 * round trips. A revocation locks the key's row. If this statement has to wait for that lock, it
 * reads the row again and finds that the key is revoked.
 */
export async function insertAudited<R>(
  on: Connection,
  { audit, authority }: WriteOptions,
  table: Table<R>,
  record: R,
): Promise<boolean> {
  const key_id = authority?.key_id
  const sql = insertionsInto(table)[key_id === undefined ? 'free' : 'keyed']
  const values = key_id === undefined ? [] : [lockOf.key(key_id), key_id]
  const inserted = audit
    ? await on.run(sql.audited, ...values, ...table.values(record), ...AUDIT.values(audit))
    : await on.run(sql.plain, ...values, ...table.values(record))
  return inserted === 1
}

/**
 * The SQL that inserts into a table. It can also verify the caller's account key, and write an
 * audit entry.
 */
function insertionsInto<R>(table: Table<R>) {
  const known = insertions.get(table)
  if (known) return known
  const insertion = table.insertionFrom('authority')
  const under = (authority: string) => ({
    plain: `WITH authority AS (${authority}) ${insertion}`,
    audited: `WITH authority AS (${authority}), changed AS (${insertion} RETURNING 1)
      ${AUDIT.insertionFrom('changed')}`,
  })
  const made = { free: under('SELECT 1'), keyed: under(FIND_LOCKED_KEY) }
  insertions.set(table, made)
  return made
}

interface Insertions {
  readonly plain: string
  readonly audited: string
}

const insertions = new Map<unknown, { readonly free: Insertions; readonly keyed: Insertions }>()

/**
 * Verifies master keys, and writes audit entries, endpoints and idempotency records in the
 * transaction of their changes.
 */
export async function recordWrite(
  on: Connection,
  ...writes: readonly WriteOptions[]
): Promise<void> {
  for (const check of writes.flatMap(({ keyChecks = [] }) => keyChecks)) {
    await verifyKeyCheck(on, check)
  }
  const entries = writes.flatMap(({ audit }) => audit ?? [])
  if (entries.length > 0) await on.run(INSERT_ENTRIES, entries)
  const endpoints = writes.flatMap((write) => write.endpoints ?? [])
  if (endpoints.length > 0) await execute(on, programs.writeEndpoints(endpoints))
  const records = writes.flatMap(({ idempotency }) => idempotency ?? [])
  const [first, ...others] = records
  if (first && others.length === 0) await insertIdempotencyRecord(on, first)
  else if (first) await on.run(INSERT_IDEMPOTENCY_RECORDS, records)
}

async function verifyKeyCheck(on: Connection, check: KeyCheck): Promise<void> {
  if (check.isReplaced) await on.run(DELETE_KEY_CHECK)
  const [newest] = check.values
  if (newest !== undefined) await on.run(INSERT_KEY_CHECK, newest)
  // Waits for a transaction that writes the first check value.
  else await on.run('LOCK TABLE key_check IN SHARE MODE')
  assertKeyCheck((await on.find(FIND_KEY_CHECK))?.value, check)
}

const INSERT_ENTRIES = insertionOfMany(AUDIT)
/** Inserts many records without checks. Only for a copy, whose target has none of these records. */
const INSERT_IDEMPOTENCY_RECORDS = insertionOfMany(IDEMPOTENCY_RECORDS)

/**
 * Inserts an idempotency record. Returns false if its key has a record that has not expired. Of two
 * concurrent requests, the second waits for the first to end. Also deletes up to ten expired
 * records, except those that other transactions have locked.
 */
async function insertIdempotencyRecord(
  on: Connection,
  record: IdempotencyRecord,
): Promise<boolean> {
  const { account_id, key, created_at } = record
  const values = IDEMPOTENCY_RECORDS.values(record)
  return (await on.run(INSERT_IDEMPOTENCY_RECORD, created_at, account_id, key, ...values)) === 1
}

const INSERT_IDEMPOTENCY_RECORD = `
  WITH expired AS (
    DELETE FROM receipts WHERE (account_id, key) IN (
      SELECT account_id, key FROM receipts
      WHERE expires_at <= ? AND (account_id, key) <> (?, ?)
      ORDER BY expires_at LIMIT 10 FOR UPDATE SKIP LOCKED))
  ${PUT_IDEMPOTENCY_RECORD}`
