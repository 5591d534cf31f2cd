import type { Insertion, Trail, TrailVerbs } from '../port.ts'
import { auditRecord, maybe, receiptRecord } from '../records.ts'
import type { Connection } from './connection.ts'

/** Runs an insertion unless its receipt is there already, and writes the trail if it succeeds. */
export function insertOnce(db: Connection, trail: Trail, insert: () => boolean): Insertion {
  const { receipt } = trail
  if (receipt && isRepeated(db, receipt.account_id, receipt.key, receipt.created_at)) {
    return 'repeated'
  }
  if (!insert()) return 'taken'
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
    async findReceipt(account_id, key) {
      const sql = 'SELECT * FROM receipts WHERE account_id = ? AND key = ?'
      return maybe(receiptRecord, db.find(sql, account_id, key))
    },
    insertTrail(...trails) {
      return db.write(() => {
        for (const trail of trails) writeTrail(db, trail)
      })
    },
    async listReceipts(account_id) {
      const sql = 'SELECT * FROM receipts WHERE account_id = ? ORDER BY key'
      return db.all(sql, account_id).map(receiptRecord)
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
  }
}
