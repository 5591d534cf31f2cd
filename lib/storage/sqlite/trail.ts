import { type ArchivePage, archiveInto, splitPage } from '../archive.ts'
import { afterReceipts, changedFingerprints, FIRST_RECEIPT } from '../fingerprints.ts'
import { recordPage } from '../pages.ts'
import type { Insertion, Trail, TrailVerbs } from '../port.ts'
import { auditRecord, maybe, numberedEntry, receiptRecord } from '../records.ts'
import { verifyAuthority } from './authority.ts'
import type { Connection } from './connection.ts'
import { assertQuota } from './quota.ts'

/**
 * Runs an insertion unless its receipt is there already, and writes the trail if it succeeds. Throws
 * when the trail's authority does not hold.
 */
export function insertOnce(db: Connection, trail: Trail, insert: () => boolean): Insertion {
  const { authority, receipt } = trail
  verifyAuthority(db, authority)
  if (receipt && isRepeated(db, receipt.account_id, receipt.key, receipt.created_at)) {
    return 'repeated'
  }
  if (!insert()) return 'taken'
  assertQuota(db, trail.quota)
  writeTrail(db, trail)
  return 'inserted'
}

/** Writes what belongs to a change, in the change's own transaction. */
export function writeTrail(db: Connection, { audit, receipt }: Trail): void {
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
  if (receipt) {
    db.run('DELETE FROM receipts WHERE expires_at <= ?', receipt.created_at)
    db.run(
      `INSERT INTO receipts (account_id, key, fingerprint, answer, created_at, expires_at)
       VALUES (?, ?, ?, ?, ?, ?)`,
      receipt.account_id,
      receipt.key,
      receipt.fingerprint,
      receipt.answer,
      receipt.created_at,
      receipt.expires_at,
    )
  }
}

function isRepeated(db: Connection, account_id: string, key: string, now: string): boolean {
  const sql = 'SELECT 1 FROM receipts WHERE account_id = ? AND key = ? AND expires_at > ?'
  return db.find(sql, account_id, key, now) !== undefined
}

export function trailVerbs(db: Connection): TrailVerbs {
  return {
    async verifyAuthority(authority) {
      verifyAuthority(db, authority)
    },
    async findReceipt(account_id, key) {
      const sql = 'SELECT * FROM receipts WHERE account_id = ? AND key = ?'
      return maybe(receiptRecord, db.find(sql, account_id, key))
    },
    insertTrail(...trails) {
      return db.write(() => {
        for (const { authority } of trails) verifyAuthority(db, authority)
        for (const trail of trails) writeTrail(db, trail)
      })
    },
    updateFingerprints(change, { limit, after = FIRST_RECEIPT }) {
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
        return { updated: changed.length, ...afterReceipts(rows, limit) }
      })
    },
    async listReceipts(account_id, page) {
      const sql = 'SELECT * FROM receipts WHERE account_id = ? AND key > ? ORDER BY key LIMIT ?'
      const rows = db.all(sql, account_id, page.after ?? '', page.limit + 1)
      return recordPage(rows, page, receiptRecord, ({ key }) => key)
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
  { before, page, keep, trail }: Parameters<ArchivePage>[0],
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
  writeTrail(db, trail)
  return { archived: old.length, ...further }
}
