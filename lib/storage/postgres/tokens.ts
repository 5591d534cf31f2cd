import { Buffer } from 'node:buffer'
import { recordPage } from '../pages.ts'
import type { StoredSigningKey, TokenMethods } from '../port.ts'
import { signingKeyRecord, watermarkRecord } from '../records.ts'
import { recordWrite } from './audit.ts'
import { findWatermark, lockAuthority, lockOf, verifyAuthority } from './authority.ts'
import type { Connection, Database, Transaction } from './connection.ts'

export function tokenMethods(db: Database): TokenMethods {
  return {
    insertSigningKey: (key) => insertSigningKey(db, key),
    insertFirstSigningKey(key) {
      return db.transaction(async (tx) => {
        await lockSigningKeys(tx)
        if (!(await tx.find('SELECT 1 FROM signing_keys LIMIT 1'))) await insertSigningKey(tx, key)
      })
    },
    listSigningKeys: () => listSigningKeys(db),
    rotateSigningKeys(key, drop, write = {}) {
      return db.transaction(async (tx) => {
        await verifyAuthority(tx, write.authority)
        await lockSigningKeys(tx)
        await insertSigningKey(tx, key)
        const kids = drop(await listSigningKeys(tx))
        const sql = 'DELETE FROM signing_keys WHERE kid IN (SELECT json_array_elements_text($1))'
        if (kids.length > 0) await tx.run(sql, kids)
        await recordWrite(tx, write)
        return kids
      })
    },
    revokeTokens({ project_id, user_id, at }, write = {}) {
      return db.transaction(async (tx) => {
        await lockAuthority(tx, write.authority, lockOf.project(project_id))
        // The project's row: a watermark may have none yet.
        await tx.find('SELECT 1 FROM projects WHERE id = $1 FOR NO KEY UPDATE', project_id)
        await verifyAuthority(tx, write.authority)
        await tx.run(
          `INSERT INTO token_bounds (project_id, user_id, not_after)
           SELECT $1, $2, greatest($3, coalesce(max(not_after), 0) + 1) FROM token_bounds
           WHERE project_id = $1 AND ($2 = '' OR user_id IN ('', $2))
           ON CONFLICT (project_id, user_id) DO UPDATE SET not_after = excluded.not_after`,
          project_id,
          user_id,
          at,
        )
        await recordWrite(tx, write)
      })
    },
    async insertWatermark({ project_id, user_id, not_after }) {
      await db.run(
        `INSERT INTO token_bounds AS known (project_id, user_id, not_after) VALUES ($1, $2, $3)
         ON CONFLICT (project_id, user_id)
         DO UPDATE SET not_after = greatest(known.not_after, excluded.not_after)`,
        project_id,
        user_id,
        not_after,
      )
    },
    findWatermark: (project_id, user_id) => findWatermark(db, project_id, user_id),
    async listWatermarks(project_id, page) {
      // The first may be that of all users, ''.
      const from = page.after === undefined ? '>=' : '>'
      const sql = `SELECT * FROM token_bounds WHERE project_id = $1 AND user_id ${from} $2
        ORDER BY user_id LIMIT $3`
      const rows = await db.all(sql, project_id, page.after ?? '', page.limit + 1)
      return recordPage(rows, page, watermarkRecord, ({ user_id }) => user_id)
    },
  }
}

/** Lets no one else change the ring until the end of the transaction. */
async function lockSigningKeys(tx: Transaction): Promise<void> {
  await tx.exec('LOCK TABLE signing_keys IN EXCLUSIVE MODE')
}

async function listSigningKeys(on: Connection): Promise<StoredSigningKey[]> {
  // Bytes as postgres.js reads them only where `bytea_output` is as it was made: as hex always.
  const sql =
    "SELECT kid, encode(secret, 'hex') AS secret, created_at FROM signing_keys ORDER BY seq"
  return (await on.all(sql)).map(({ secret, ...row }) =>
    signingKeyRecord({ ...row, secret: Buffer.from(secret as string, 'hex') }),
  )
}

async function insertSigningKey(
  on: Connection,
  { kid, secret, created_at }: StoredSigningKey,
): Promise<void> {
  const sql = 'INSERT INTO signing_keys (kid, secret, created_at) VALUES ($1, $2, $3)'
  await on.run(sql, kid, secret, created_at)
}
