import type { AuditEntry } from '../../domain/audit.ts'
import type { Receipt } from '../../domain/receipt.ts'
import type { Insertion, Trail, TrailVerbs } from '../port.ts'
import { auditRecord, maybe, receiptRecord } from '../records.ts'
import type { Connection, Database } from './connection.ts'
import type { PostgresValue } from './drivers.ts'

/**
 * Inserts one row unless the trail's receipt is there already, and writes the trail with it. `sql`
 * inserts nothing where the row's name is taken.
 */
export async function insertOnce(
  db: Database,
  { audit, receipt }: Trail,
  sql: string,
  ...values: PostgresValue[]
): Promise<Insertion> {
  const insert = async (on: Connection) => (await runAudited(on, audit, sql, ...values)) === 1
  if (!receipt) return (await insert(db)) ? 'inserted' : 'taken'
  return db.transaction(async (tx) => {
    if (!(await insertReceipt(tx, receipt))) return 'repeated'
    if (await insert(tx)) return 'inserted'
    tx.undo()
    return 'taken'
  })
}

/**
 * Runs a change and writes its entry of the audit log with it: one statement, one way there and
 * back.
 */
async function runAudited(
  on: Connection,
  audit: AuditEntry | undefined,
  sql: string,
  ...values: PostgresValue[]
): Promise<number> {
  if (!audit) return on.run(sql, ...values)
  const entry = [
    audit.at,
    audit.actor,
    audit.action,
    audit.subject,
    audit.account_id,
    audit.request_id,
  ]
  const places = entry.map((_, index) => `$${values.length + index + 1}`)
  return on.run(
    `WITH changed AS (${sql} RETURNING 1)
     INSERT INTO audit (at, actor, action, subject, account_id, request_id)
     SELECT ${places.join()} FROM changed`,
    ...values,
    ...entry,
  )
}

/** Writes what belongs to changes that are made already, in their own transaction. */
export async function writeTrail(on: Connection, ...trails: readonly Trail[]): Promise<void> {
  const entries = trails.flatMap(({ audit }) => audit ?? [])
  if (entries.length > 0) await on.run(INSERT_ENTRIES, entries)
  for (const { receipt } of trails) if (receipt) await insertReceipt(on, receipt)
}

// The rows of a function come in their order, and are numbered in it.
const INSERT_ENTRIES = `
  INSERT INTO audit (at, actor, action, subject, account_id, request_id)
  SELECT * FROM json_to_recordset($1)
    AS r (at text, actor text, action text, subject text, account_id text, request_id text)`

/**
 * False when the key has a receipt that is not expired; of two at once, the second waits for what
 * becomes of the first. Clears a few expired ones, more than it adds; those that others clear or
 * replace at the moment are theirs.
 */
async function insertReceipt(on: Connection, receipt: Receipt): Promise<boolean> {
  const inserted = await on.run(
    `WITH expired AS (
       DELETE FROM receipts WHERE (account_id, key) IN (
         SELECT account_id, key FROM receipts
         WHERE expires_at <= $5 AND (account_id, key) <> ($1, $2)
         ORDER BY expires_at LIMIT 10 FOR UPDATE SKIP LOCKED))
     INSERT INTO receipts AS known (account_id, key, fingerprint, answer, created_at, expires_at)
     VALUES ($1, $2, $3, $4, $5, $6)
     ON CONFLICT (account_id, key) DO UPDATE SET fingerprint = excluded.fingerprint,
       answer = excluded.answer, created_at = excluded.created_at, expires_at = excluded.expires_at
     WHERE known.expires_at <= excluded.created_at`,
    receipt.account_id,
    receipt.key,
    receipt.fingerprint,
    receipt.answer,
    receipt.created_at,
    receipt.expires_at,
  )
  return inserted === 1
}

export function trailVerbs(db: Database): TrailVerbs {
  return {
    async findReceipt(account_id, key) {
      const sql = 'SELECT * FROM receipts WHERE account_id = $1 AND key = $2'
      return maybe(receiptRecord, await db.find(sql, account_id, key))
    },
    insertTrail(...trails) {
      return db.transaction((tx) => writeTrail(tx, ...trails))
    },
    async listReceipts(account_id) {
      const sql = 'SELECT * FROM receipts WHERE account_id = $1 ORDER BY key'
      return (await db.all(sql, account_id)).map(receiptRecord)
    },
    async listAudit(account_id, { limit, after = '0' }) {
      const rows =
        account_id === undefined
          ? await db.all(
              'SELECT * FROM audit WHERE seq > $1 ORDER BY seq LIMIT $2',
              after,
              limit + 1,
            )
          : await db.all(
              'SELECT * FROM audit WHERE account_id = $1 AND seq > $2 ORDER BY seq LIMIT $3',
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
