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
import { verifyAuthority } from './authority.ts'
import type { Connection } from './connection.ts'
import { findNeeded, writeEndpoints } from './endpoints.ts'
import { assertQuota } from './quota.ts'

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
  if (endpoints.length > 0) writeEndpoints(db, endpoints)
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

export function auditMethods(db: Connection): AuditMethods {
  return {
    ...auditReads(db),
    async verifyAuthority(authority) {
      verifyAuthority(db, authority)
    },
    async listSettled({ limit, after = '0' }) {
      if (limit === 0) {
        const last = db.find('SELECT coalesce(max(seq), 0) AS seq FROM audit')
        return { entries: [], position: String(last?.seq) }
      }
      const entries = db.all(PAGE_OF_AUDIT, after, limit).map(numberedEntry)
      return { entries, position: String(entries.at(-1)?.seq ?? after) }
    },
    insertAudit(...writes) {
      return db.write(() => {
        for (const { authority } of writes) verifyAuthority(db, authority)
        for (const write of writes) recordWrite(db, write)
      })
    },
    updateFingerprints(change, { limit, after = FIRST_IDEMPOTENCY_RECORD }) {
      return db.write(() => {
        const [account_id, key] = JSON.parse(after) as [string, string]
        const rows = db.all(PAGE_OF_FINGERPRINTS, account_id, key, limit)
        const changed = changedFingerprints(rows, change)
        for (const { fingerprint, account_id, key } of changed) {
          db.run(UPDATE_FINGERPRINT, fingerprint, account_id, key)
        }
        return { updated: changed.length, ...afterIdempotencyRecords(rows, limit) }
      })
    },
    replaceIdempotencyRecord(key, by, write = {}) {
      return db.write(() => {
        verifyAuthority(db, write.authority)
        db.run(DELETE_IDEMPOTENCY_RECORD, by.account_id, key)
        db.run(INSERT_NEW_IDEMPOTENCY_RECORD, ...IDEMPOTENCY_RECORDS.sqliteValues(by))
        recordWrite(db, write)
      })
    },
    archiveAudit(request) {
      return archiveInto(request, (step) => db.transaction(() => archivePage(db, step)))
    },
    async pseudonymizeAudit(account_id, user, page, write = {}) {
      const { limit, after = '0' } = page
      const rows = db.all(PAGE_OF_AUDIT_OF_ACCOUNT, account_id, after, limit + 1)
      const { records, ...further } = pseudonymizedPage(rows, page, user)
      if (records.length > 0) {
        await db.write(() => {
          verifyAuthority(db, write.authority)
          db.run(BEGIN_PSEUDONYM, pseudonymOf(user))
          for (const { actor, subject, seq } of records) {
            db.run(PSEUDONYMIZE_ENTRY, actor, subject, seq)
          }
          db.run(END_PSEUDONYM)
          recordWrite(db, write)
        })
      }
      return { changed: records.length, ...further }
    },
  }
}

const UPDATE_FINGERPRINT = 'UPDATE receipts SET fingerprint = ? WHERE account_id = ? AND key = ?'

function archivePage(
  db: Connection,
  { before, page, keep, stopped_before, write }: Parameters<ArchivePage>[0],
): Awaited<ReturnType<ArchivePage>> {
  const rows = db.all(PAGE_OF_AUDIT, page.after ?? '0', page.limit)
  const needed = findNeeded(db, stopped_before)
  const { old, ...further } = splitPage(rows.map(numberedEntry), before, page, needed)
  if (old.length === 0) return { archived: 0, ...further }
  keep(old)
  const seqs = old.map(({ seq }) => seq)
  db.run(BEGIN_ARCHIVE, Math.max(...seqs))
  db.run(DELETE_ENTRIES, JSON.stringify(seqs))
  db.run(END_ARCHIVE)
  recordWrite(db, write)
  return { archived: old.length, ...further }
}

const DELETE_ENTRIES = 'DELETE FROM audit WHERE seq IN (SELECT value FROM json_each(?))'
