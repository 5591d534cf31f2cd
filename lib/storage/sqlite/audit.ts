import type { Table } from '../columns.ts'
import { assertKeyCheck, DELETE_KEY_CHECK, FIND_KEY_CHECK, INSERT_KEY_CHECK } from '../key-check.ts'
import type { Insertion, KeyCheck, WriteOptions } from '../port.ts'
import { PUT_IDEMPOTENCY_RECORD } from '../sql/write.ts'
import { AUDIT, IDEMPOTENCY_RECORDS } from '../tables.ts'
import { verifyAuthority } from './authority.ts'
import type { Connection } from './connection.ts'
import { programs } from './endpoints.ts'
import { assertQuota } from './quota.ts'
import { execute } from './sql.ts'

/**
 * Inserts a record with its audit entry and idempotency record, unless the idempotency key was used
 * already. Throws if a condition of the caller's authority fails.
 */
export function insertOnce<R>(
  db: Connection,
  write: WriteOptions,
  table: Table<R>,
  record: R,
): Insertion {
  const { authority, idempotency, quota } = write
  verifyAuthority(db, authority)
  if (idempotency) {
    const { account_id, key, created_at } = idempotency
    if (db.find(FIND_VALID_RECORD, account_id, key, created_at)) return 'repeated'
  }
  if (db.insert(table, record) === 0) return 'taken'
  assertQuota(db, quota)
  recordWrite(db, write)
  return 'inserted'
}

const FIND_VALID_RECORD =
  'SELECT 1 FROM receipts WHERE account_id = ? AND key = ? AND expires_at > ?'

/**
 * Verifies the master key, and writes the audit entry, webhook endpoints and idempotency record of a
 * change, in its transaction.
 */
export function recordWrite(
  db: Connection,
  { audit, idempotency, endpoints = [], keyChecks = [] }: WriteOptions,
): void {
  for (const check of keyChecks) verifyKeyCheck(db, check)
  if (audit) db.insert(AUDIT, audit)
  if (endpoints.length > 0) execute(db, programs.writeEndpoints(endpoints))
  if (!idempotency) return
  db.run(DELETE_EXPIRED, idempotency.created_at)
  db.run(PUT_IDEMPOTENCY_RECORD, ...IDEMPOTENCY_RECORDS.sqliteValues(idempotency))
}

function verifyKeyCheck(db: Connection, check: KeyCheck): void {
  if (check.isReplaced) db.run(DELETE_KEY_CHECK)
  const [newest] = check.values
  if (newest !== undefined) db.run(INSERT_KEY_CHECK, newest)
  assertKeyCheck(db.find(FIND_KEY_CHECK)?.value, check)
}

/** Deletes at most 100 records, to be quick if many have expired, as in a restored backup. */
const DELETE_EXPIRED = `
  DELETE FROM receipts WHERE (account_id, key) IN (
    SELECT account_id, key FROM receipts WHERE expires_at <= ? ORDER BY expires_at LIMIT 100)`
