import { Buffer } from 'node:buffer'
import type { StoredSigningKey, TokenVerbs } from '../port.ts'
import { numberOf, signingKeyRecord, tokenBoundRecord } from '../records.ts'
import type { Connection, Database, Transaction } from './connection.ts'
import { writeTrail } from './trail.ts'

export function tokenVerbs(db: Database): TokenVerbs {
  return {
    insertSigningKey: (key) => insertSigningKey(db, key),
    insertFirstSigningKey(key) {
      return db.transaction(async (tx) => {
        await lockSigningKeys(tx)
        if (!(await tx.find('SELECT 1 FROM signing_keys LIMIT 1'))) await insertSigningKey(tx, key)
      })
    },
    listSigningKeys: () => listSigningKeys(db),
    rotateSigningKeys(key, drop, trail = {}) {
      return db.transaction(async (tx) => {
        await lockSigningKeys(tx)
        await insertSigningKey(tx, key)
        const kids = drop(await listSigningKeys(tx))
        const sql = 'DELETE FROM signing_keys WHERE kid IN (SELECT json_array_elements_text($1))'
        if (kids.length > 0) await tx.run(sql, kids)
        await writeTrail(tx, trail)
        return kids
      })
    },
    insertTokenBound({ project_id, user_id, not_after }, trail = {}) {
      return db.transaction(async (tx) => {
        await tx.run(
          `INSERT INTO token_bounds AS known (project_id, user_id, not_after) VALUES ($1, $2, $3)
           ON CONFLICT (project_id, user_id)
           DO UPDATE SET not_after = greatest(known.not_after, excluded.not_after)`,
          project_id,
          user_id,
          not_after,
        )
        await writeTrail(tx, trail)
      })
    },
    async findTokenBound(project_id, user_id) {
      const row = await db.find(
        `SELECT coalesce(max(not_after), 0) AS bound FROM token_bounds
         WHERE project_id = $1 AND user_id IN ('', $2)`,
        project_id,
        user_id,
      )
      return numberOf(row?.bound)
    },
    async listTokenBounds(project_id) {
      const sql = 'SELECT * FROM token_bounds WHERE project_id = $1'
      return (await db.all(sql, project_id)).map(tokenBoundRecord)
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
