import type { IdempotencyRecord } from '../../domain/idempotency.ts'
import { type ArchivePage, archiveInto, splitPage } from '../archive.ts'
import {
  afterIdempotencyRecords,
  changedFingerprints,
  FIRST_IDEMPOTENCY_RECORD,
} from '../fingerprints.ts'
import { recordPage } from '../pages.ts'
import type { AuditMethods, Insertion, WriteOptions } from '../port.ts'
import { auditRecord, idempotencyRecord, maybe, numberedEntry } from '../records.ts'
import { findLockedKey, verifyAuthority } from './authority.ts'
import type { Connection, Database, Transaction } from './connection.ts'
import type { PostgresValue } from './drivers.ts'
import { assertQuota } from './quota.ts'

/**
 * Inserts one row unless the audit entry's idempotency record is there already, and writes the audit entry with it. `sql`
 * inserts what it selects `FROM authority`, and nothing where the row's name is taken. Throws when
 * the audit entry's authority does not hold.
 */
export async function insertOnce(
  db: Database,
  write: WriteOptions,
  sql: string,
  ...values: PostgresValue[]
): Promise<Insertion> {
  const { idempotency, authority, quota } = write
  if (!idempotency && !quota && !authority?.token && !authority?.store) {
    if ((await runAudited(db, write, sql, values)) === 1) return 'inserted'
    await db.transaction((tx) => verifyAuthority(tx, authority)) // else the name is taken
    return 'taken'
  }
  return db.transaction(async (tx) => {
    await verifyAuthority(tx, authority)
    if (idempotency && !(await insertIdempotencyRecord(tx, idempotency))) return 'repeated'
    if ((await runAudited(tx, write, sql, values)) === 1) {
      await assertQuota(tx, quota)
      return 'inserted'
    }
    tx.undo()
    return 'taken'
  })
}

/**
 * Runs an insertion under an account key and writes its entry of the audit log with it: one
 * statement, one round trip. A revocation updates the key's row: whoever has waited for its lock
 * finds it revoked.
 */
async function runAudited(
  on: Connection,
  { audit, authority }: WriteOptions,
  sql: string,
  values: readonly PostgresValue[],
): Promise<number> {
  const all = [...values]
  const place = (value: PostgresValue) => `$${all.push(value)}`
  const key = authority?.key_id
  const lock = key === undefined ? 'SELECT 1' : findLockedKey(key, place)
  if (!audit) return on.run(`WITH authority AS (${lock}) ${sql}`, ...all)
  const { at, actor, action, subject, account_id, request_id } = audit
  const entry = [at, actor, action, subject, account_id, request_id].map(place)
  return on.run(
    `WITH authority AS (${lock}), changed AS (${sql} RETURNING 1)
     INSERT INTO audit (at, actor, action, subject, account_id, request_id)
     SELECT ${entry.join()} FROM changed`,
    ...all,
  )
}

/** Writes what belongs to changes that are made already, in their own transaction. */
export async function recordWrite(
  on: Connection,
  ...writes: readonly WriteOptions[]
): Promise<void> {
  const entries = writes.flatMap(({ audit }) => audit ?? [])
  if (entries.length > 0) await on.run(INSERT_ENTRIES, entries)
  const idempotencyRecords = writes.flatMap(({ idempotency }) => idempotency ?? [])
  const [first, ...others] = idempotencyRecords
  if (first && others.length === 0) await insertIdempotencyRecord(on, first)
  else if (first) await on.run(INSERT_IDEMPOTENCY_RECORDS, idempotencyRecords)
}

// The rows of a function come in their order, and are numbered in it.
const INSERT_ENTRIES = `
  INSERT INTO audit (at, actor, action, subject, account_id, request_id)
  SELECT * FROM json_to_recordset($1)
    AS r (at text, actor text, action text, subject text, account_id text, request_id text)`

// Of a copy, whose target has none of them.
const INSERT_IDEMPOTENCY_RECORDS = `
  INSERT INTO receipts (account_id, key, fingerprint, answer, created_at, expires_at)
  SELECT account_id, key, fingerprint, answer, created_at, expires_at FROM json_to_recordset($1)
    AS r (account_id text, key text, fingerprint text, answer text, created_at text,
      expires_at text)`

/**
 * False when the key has a idempotency record that is not expired; of two at once, the second waits for what
 * becomes of the first. Clears a few expired ones, more than it adds; those that others clear or
 * replace at the moment are theirs.
 */
async function insertIdempotencyRecord(
  on: Connection,
  idempotency: IdempotencyRecord,
): Promise<boolean> {
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
    idempotency.account_id,
    idempotency.key,
    idempotency.fingerprint,
    idempotency.answer,
    idempotency.created_at,
    idempotency.expires_at,
  )
  return inserted === 1
}

export function auditMethods(db: Database): AuditMethods {
  return {
    verifyAuthority(authority) {
      return db.transaction((tx) => verifyAuthority(tx, authority))
    },
    async findIdempotencyRecord(account_id, key) {
      const sql = 'SELECT * FROM receipts WHERE account_id = $1 AND key = $2'
      return maybe(idempotencyRecord, await db.find(sql, account_id, key))
    },
    insertAudit(...writes) {
      return db.transaction(async (tx) => {
        for (const { authority } of writes) await verifyAuthority(tx, authority)
        await recordWrite(tx, ...writes)
      })
    },
    updateFingerprints(change, { limit, after = FIRST_IDEMPOTENCY_RECORD }) {
      return db.transaction(async (tx) => {
        const rows = await tx.all(
          `SELECT account_id, key, fingerprint FROM receipts WHERE (account_id, key) > ($1, $2)
           ORDER BY account_id, key LIMIT $3 FOR UPDATE`,
          ...(JSON.parse(after) as [string, string]),
          limit,
        )
        const changed = changedFingerprints(rows, change)
        if (changed.length > 0) await tx.run(UPDATE_FINGERPRINTS, changed)
        return { updated: changed.length, ...afterIdempotencyRecords(rows, limit) }
      })
    },
    async listIdempotencyRecords(account_id, page) {
      const sql = 'SELECT * FROM receipts WHERE account_id = $1 AND key > $2 ORDER BY key LIMIT $3'
      const rows = await db.all(sql, account_id, page.after ?? '', page.limit + 1)
      return recordPage(rows, page, idempotencyRecord, ({ key }) => key)
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
    archiveAudit(request) {
      return archiveInto(request, (step) => db.transaction((tx) => archivePage(tx, step)))
    },
  }
}

const UPDATE_FINGERPRINTS = `
  UPDATE receipts r SET fingerprint = n.fingerprint
  FROM json_to_recordset($1) AS n (account_id text, key text, fingerprint text)
  WHERE r.account_id = n.account_id AND r.key = n.key`

async function archivePage(
  tx: Transaction,
  { before, page, keep, write }: Parameters<ArchivePage>[0],
): ReturnType<ArchivePage> {
  await tx.exec('LOCK TABLE audit_archive IN EXCLUSIVE MODE') // one archive at a time
  const sql = 'SELECT * FROM audit WHERE seq > $1 ORDER BY seq LIMIT $2'
  const rows = await tx.all(sql, page.after ?? '0', page.limit)
  const { old, ...further } = splitPage(rows.map(numberedEntry), before, page)
  if (old.length === 0) return { archived: 0, ...further }
  keep(old)
  const seqs = old.map(({ seq }) => seq)
  await tx.run('INSERT INTO audit_archive (last_seq) VALUES ($1)', Math.max(...seqs))
  const chosen = 'seq IN (SELECT value::bigint FROM json_array_elements_text($1) AS value)'
  await tx.run(`DELETE FROM audit WHERE ${chosen}`, seqs)
  await tx.run('DELETE FROM audit_archive')
  await recordWrite(tx, write)
  return { archived: old.length, ...further }
}
