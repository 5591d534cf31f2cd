import { invalidField } from '../../domain/fields.ts'
import type { IdempotencyRecord } from '../../domain/idempotency.ts'
import type { TillError } from '../../errors.ts'
import { type ArchivePage, archiveInto, splitPage } from '../archive.ts'
import type { Table } from '../columns.ts'
import {
  afterIdempotencyRecords,
  changedFingerprints,
  FIRST_IDEMPOTENCY_RECORD,
} from '../fingerprints.ts'
import { assertKeyCheck, DELETE_KEY_CHECK, FIND_KEY_CHECK, INSERT_KEY_CHECK } from '../key-check.ts'
import type { AuditMethods, Insertion, KeyCheck, WriteOptions } from '../port.ts'
import { pseudonymizedPage, pseudonymOf } from '../pseudonym.ts'
import { auditReads } from '../reads.ts'
import {
  BEGIN_ARCHIVE,
  BEGIN_PSEUDONYM,
  DELETE_IDEMPOTENCY_RECORD,
  END_ARCHIVE,
  END_PSEUDONYM,
  INSERT_NEW_IDEMPOTENCY_RECORD,
  PAGE_OF_AUDIT,
  PAGE_OF_AUDIT_OF_ACCOUNT,
  PAGE_OF_FINGERPRINTS,
  PSEUDONYMIZE_ENTRY,
  PUT_IDEMPOTENCY_RECORD,
} from '../statements.ts'
import { AUDIT, IDEMPOTENCY_RECORDS, numberedEntry } from '../tables.ts'
import { FIND_LOCKED_KEY, lockOf, verifyAuthority } from './authority.ts'
import type { Connection, Database, Transaction } from './connection.ts'
import { findNeeded, writeEndpoints } from './endpoints.ts'
import { assertQuota } from './quota.ts'
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
      await writeEndpoints(tx, endpoints)
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
  if (endpoints.length > 0) await writeEndpoints(on, endpoints)
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

export function auditMethods(db: Database): AuditMethods {
  return {
    ...auditReads(db),
    verifyAuthority(authority) {
      return db.transaction((tx) => verifyAuthority(tx, authority))
    },
    async listSettled({ limit, after = '0.0' }) {
      if (limit === 0) {
        const row = await db.find('SELECT pg_snapshot_xmin(pg_current_snapshot())::text AS xmin')
        return { entries: [], position: `${row?.xmin}.0` }
      }
      const [xid, seq] = after.split('.') as [string, string]
      const rows = await db.all(PAGE_OF_SETTLED, xid, seq, limit)
      const last = rows.at(-1)
      const position = last ? `${last.xid}.${last.seq}` : after
      return { entries: rows.map(numberedEntry), position }
    },
    insertAudit(...writes) {
      return db.transaction(async (tx) => {
        for (const { authority } of writes) await verifyAuthority(tx, authority)
        await recordWrite(tx, ...writes)
      })
    },
    updateFingerprints(change, { limit, after = FIRST_IDEMPOTENCY_RECORD }) {
      return db.transaction(async (tx) => {
        const [account_id, key] = JSON.parse(after) as [string, string]
        const rows = await tx.all(`${PAGE_OF_FINGERPRINTS} FOR UPDATE`, account_id, key, limit)
        const changed = changedFingerprints(rows, change)
        if (changed.length > 0) await tx.run(UPDATE_FINGERPRINTS, changed)
        return { updated: changed.length, ...afterIdempotencyRecords(rows, limit) }
      })
    },
    replaceIdempotencyRecord(key, by, write = {}) {
      return db.transaction(async (tx) => {
        await verifyAuthority(tx, write.authority)
        await tx.run(DELETE_IDEMPOTENCY_RECORD, by.account_id, key)
        await tx.run(INSERT_NEW_IDEMPOTENCY_RECORD, ...IDEMPOTENCY_RECORDS.values(by))
        await recordWrite(tx, write)
      })
    },
    archiveAudit(request) {
      return archiveInto(request, (step) => db.transaction((tx) => archivePage(tx, step)))
    },
    async pseudonymizeAudit(account_id, user, page, write = {}) {
      const { limit, after = '0' } = page
      const rows = await db.all(PAGE_OF_AUDIT_OF_ACCOUNT, account_id, after, limit + 1)
      const { records, ...further } = pseudonymizedPage(rows, page, user)
      if (records.length > 0) {
        await db.transaction(async (tx) => {
          await verifyAuthority(tx, write.authority)
          await tx.run(BEGIN_PSEUDONYM, pseudonymOf(user))
          for (const { actor, subject, seq } of records) {
            await tx.run(PSEUDONYMIZE_ENTRY, actor, subject, seq)
          }
          await tx.run(END_PSEUDONYM)
          await recordWrite(tx, write)
        })
      }
      return { changed: records.length, ...further }
    },
  }
}

// All transactions with ids below the snapshot's xmin have ended and write no more entries.
const PAGE_OF_SETTLED = `
  SELECT seq, xid::text AS xid, ${AUDIT.list} FROM audit a
  WHERE (a.xid, a.seq) > (CAST(CAST(? AS text) AS xid8), CAST(? AS bigint))
    AND a.xid < pg_snapshot_xmin(pg_current_snapshot())
  ORDER BY a.xid, a.seq LIMIT ?`

const UPDATE_FINGERPRINTS = `
  UPDATE receipts r SET fingerprint = n.fingerprint
  FROM json_to_recordset(?) AS n (account_id text, key text, fingerprint text)
  WHERE r.account_id = n.account_id AND r.key = n.key`

async function archivePage(
  tx: Transaction,
  { before, page, keep, stopped_before, write }: Parameters<ArchivePage>[0],
): ReturnType<ArchivePage> {
  await tx.exec('LOCK TABLE audit_archive IN EXCLUSIVE MODE') // only one archive run at a time
  if (await tx.find(IS_TOO_LATE, before)) throw tooLate()
  const rows = await tx.all(PAGE_OF_AUDIT, page.after ?? '0', page.limit)
  const needed = await findNeeded(tx, stopped_before)
  const { old, ...further } = splitPage(rows.map(numberedEntry), before, page, needed)
  if (old.length === 0) return { archived: 0, ...further }
  keep(old)
  const seqs = old.map(({ seq }) => seq)
  await tx.run(BEGIN_ARCHIVE, Math.max(...seqs))
  await tx.run(DELETE_ENTRIES, seqs)
  await tx.run(END_ARCHIVE)
  await recordWrite(tx, write)
  return { archived: old.length, ...further }
}

/**
 * Entries of the last hour stay in the log. Other servers read them, up to a minute after a change,
 * to find changes of cached data. The database's clock measures the age of entries.
 */
const IS_TOO_LATE = `
  SELECT 1 WHERE ?::timestamptz > now() - interval '1 hour'`

function tooLate(): TillError {
  return invalidField('before', 'invalid', 'must be at least one hour ago')
}

const DELETE_ENTRIES =
  'DELETE FROM audit WHERE seq IN (SELECT value::bigint FROM json_array_elements_text(?) AS value)'
