import { type ArchivePage, archiveInto, splitPage } from '../archive.ts'
import {
  afterIdempotencyRecords,
  changedFingerprints,
  FIRST_IDEMPOTENCY_RECORD,
} from '../fingerprints.ts'
import { recordPage } from '../pages.ts'
import type { AuditMethods, Insertion, WriteOptions } from '../port.ts'
import { auditRecord, idempotencyRecord, maybe, numberedEntry } from '../records.ts'
import { verifyAuthority } from './authority.ts'
import type { Connection } from './connection.ts'
import { assertQuota } from './quota.ts'

/**
 * Runs an insertion unless its idempotency record is there already, and writes the audit entry if it succeeds. Throws
 * when the audit entry's authority does not hold.
 */
export function insertOnce(db: Connection, write: WriteOptions, insert: () => boolean): Insertion {
  const { authority, idempotency } = write
  verifyAuthority(db, authority)
  if (
    idempotency &&
    isRepeated(db, idempotency.account_id, idempotency.key, idempotency.created_at)
  ) {
    return 'repeated'
  }
  if (!insert()) return 'taken'
  assertQuota(db, write.quota)
  recordWrite(db, write)
  return 'inserted'
}

/** Writes what belongs to a change, in the change's own transaction. */
export function recordWrite(db: Connection, { audit, idempotency }: WriteOptions): void {
  if (audit) {
    db.run(
      `INSERT INTO audit (at, actor, action, subject, account_id, request_id)
       VALUES (?, ?, ?, ?, ?, ?)`,
      audit.at,
      audit.actor,
      audit.action,
      audit.subject,
      audit.account_id,
      audit.request_id,
    )
  }
  if (idempotency) {
    db.run('DELETE FROM receipts WHERE expires_at <= ?', idempotency.created_at)
    db.run(
      `INSERT INTO receipts (account_id, key, fingerprint, answer, created_at, expires_at)
       VALUES (?, ?, ?, ?, ?, ?)`,
      idempotency.account_id,
      idempotency.key,
      idempotency.fingerprint,
      idempotency.answer,
      idempotency.created_at,
      idempotency.expires_at,
    )
  }
}

function isRepeated(db: Connection, account_id: string, key: string, now: string): boolean {
  const sql = 'SELECT 1 FROM receipts WHERE account_id = ? AND key = ? AND expires_at > ?'
  return db.find(sql, account_id, key, now) !== undefined
}

export function auditMethods(db: Connection): AuditMethods {
  return {
    async verifyAuthority(authority) {
      verifyAuthority(db, authority)
    },
    async findIdempotencyRecord(account_id, key) {
      const sql = 'SELECT * FROM receipts WHERE account_id = ? AND key = ?'
      return maybe(idempotencyRecord, db.find(sql, account_id, key))
    },
    insertAudit(...writes) {
      return db.write(() => {
        for (const { authority } of writes) verifyAuthority(db, authority)
        for (const write of writes) recordWrite(db, write)
      })
    },
    updateFingerprints(change, { limit, after = FIRST_IDEMPOTENCY_RECORD }) {
      return db.write(() => {
        const rows = db.all(
          `SELECT account_id, key, fingerprint FROM receipts WHERE (account_id, key) > (?, ?)
           ORDER BY account_id, key LIMIT ?`,
          ...(JSON.parse(after) as [string, string]),
          limit,
        )
        const changed = changedFingerprints(rows, change)
        const sql = 'UPDATE receipts SET fingerprint = ? WHERE account_id = ? AND key = ?'
        for (const { fingerprint, account_id, key } of changed) {
          db.run(sql, fingerprint, account_id, key)
        }
        return { updated: changed.length, ...afterIdempotencyRecords(rows, limit) }
      })
    },
    async listIdempotencyRecords(account_id, page) {
      const sql = 'SELECT * FROM receipts WHERE account_id = ? AND key > ? ORDER BY key LIMIT ?'
      const rows = db.all(sql, account_id, page.after ?? '', page.limit + 1)
      return recordPage(rows, page, idempotencyRecord, ({ key }) => key)
    },
    async listAudit(account_id, { limit, after = '0' }) {
      const rows =
        account_id === undefined
          ? db.all('SELECT * FROM audit WHERE seq > ? ORDER BY seq LIMIT ?', after, limit + 1)
          : db.all(
              'SELECT * FROM audit WHERE account_id = ? AND seq > ? ORDER BY seq LIMIT ?',
              account_id,
              after,
              limit + 1,
            )
      const entries = rows.slice(0, limit).map(auditRecord)
      if (rows.length <= limit) return { entries }
      return { entries, next: String(rows[limit - 1]?.seq) }
    },
    archiveAudit(request) {
      return archiveInto(request, (step) => db.transaction(() => archivePage(db, step)))
    },
  }
}

function archivePage(
  db: Connection,
  { before, page, keep, write }: Parameters<ArchivePage>[0],
): Awaited<ReturnType<ArchivePage>> {
  const sql = 'SELECT * FROM audit WHERE seq > ? ORDER BY seq LIMIT ?'
  const rows = db.all(sql, page.after ?? '0', page.limit)
  const { old, ...further } = splitPage(rows.map(numberedEntry), before, page)
  if (old.length === 0) return { archived: 0, ...further }
  keep(old)
  const seqs = old.map(({ seq }) => seq)
  db.run('INSERT INTO audit_archive (last_seq) VALUES (?)', Math.max(...seqs))
  const chosen = 'seq IN (SELECT value FROM json_each(?))'
  db.run(`DELETE FROM audit WHERE ${chosen}`, JSON.stringify(seqs))
  db.run('DELETE FROM audit_archive')
  recordWrite(db, write)
  return { archived: old.length, ...further }
}
