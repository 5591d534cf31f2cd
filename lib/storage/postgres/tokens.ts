import { numberOf } from '../columns.ts'
import type { StoredSigningKey, TokenMethods, WriteOptions } from '../port.ts'
import { pseudonymOf } from '../pseudonym.ts'
import { tokenReads } from '../reads.ts'
import { DELETE_WATERMARK, FIND_OWN_WATERMARK } from '../statements.ts'
import { SIGNING_KEYS, WATERMARKS } from '../tables.ts'
import { recordWrite } from './audit.ts'
import { lockAuthority, lockOf, verifyAuthority } from './authority.ts'
import type { Connection, Database, Transaction } from './connection.ts'

export function tokenMethods(db: Database): TokenMethods {
  return {
    ...tokenReads(db),
    async insertSigningKey(key) {
      await db.insert(SIGNING_KEYS, key)
    },
    insertFirstSigningKey(key) {
      return db.transaction(async (tx) => {
        await lockSigningKeys(tx)
        if (!(await tx.find('SELECT 1 FROM signing_keys LIMIT 1'))) {
          await tx.insert(SIGNING_KEYS, key)
        }
      })
    },
    listSigningKeys: () => listSigningKeys(db),
    rotateSigningKeys(key, drop, write = {}) {
      return db.transaction(async (tx) => {
        await verifyAuthority(tx, write.authority)
        await lockSigningKeys(tx)
        await tx.insert(SIGNING_KEYS, key)
        const kids = drop(await listSigningKeys(tx))
        if (kids.length > 0) await tx.run(DELETE_SIGNING_KEYS, kids)
        await recordWrite(tx, write)
        return kids
      })
    },
    revokeTokens({ project_id, user_id, at }, write = {}) {
      return db.transaction(async (tx) => {
        await lockWatermarks(tx, project_id, write)
        await tx.run(REVOKE, project_id, user_id, at, pseudonymOf({ project_id, user_id }))
        await recordWrite(tx, write)
      })
    },
    async insertWatermark(watermark) {
      await db.run(RAISE, ...WATERMARKS.values(watermark))
    },
    pseudonymizeWatermark(user, write = {}) {
      const { project_id, user_id } = user
      return db.transaction(async (tx) => {
        await lockWatermarks(tx, project_id, write)
        const row = await tx.find(FIND_OWN_WATERMARK, project_id, user_id)
        if (row) {
          const not_after = numberOf(row.not_after)
          const watermark = { project_id, user_id: pseudonymOf(user), not_after }
          await tx.run(RAISE, ...WATERMARKS.values(watermark))
          await tx.run(DELETE_WATERMARK, project_id, user_id)
        }
        await recordWrite(tx, write)
      })
    },
  }
}

/** Locks the watermarks of a project until the transaction ends, and verifies the authority. */
async function lockWatermarks(
  tx: Transaction,
  project_id: string,
  { authority }: WriteOptions,
): Promise<void> {
  await lockAuthority(tx, authority, lockOf.project(project_id))
  // Locks the project's row, because there may be no watermark to lock yet.
  await tx.find('SELECT 1 FROM projects WHERE id = ? FOR NO KEY UPDATE', project_id)
  await verifyAuthority(tx, authority)
}

const REVOKE = `
  INSERT INTO token_bounds (project_id, user_id, not_after)
  SELECT $1, $2, greatest($3, coalesce(max(not_after), 0) + 1) FROM token_bounds
  WHERE project_id = $1 AND ($2 = '' OR user_id IN ('', $2, $4))
  ON CONFLICT (project_id, user_id) DO UPDATE SET not_after = excluded.not_after`

const RAISE = `
  ${WATERMARKS.insertion} ON CONFLICT (project_id, user_id)
  DO UPDATE SET not_after = greatest(token_bounds.not_after, excluded.not_after)`

const DELETE_SIGNING_KEYS =
  'DELETE FROM signing_keys WHERE kid IN (SELECT json_array_elements_text(?))'

/** Prevents changes of the signing keys by other transactions until this one ends. */
async function lockSigningKeys(tx: Transaction): Promise<void> {
  await tx.exec('LOCK TABLE signing_keys IN EXCLUSIVE MODE')
}

async function listSigningKeys(on: Connection): Promise<StoredSigningKey[]> {
  return (await on.all(LIST_SIGNING_KEYS)).map(SIGNING_KEYS.read)
}

// Encodes bytes as hex: postgres.js reads bytes only if `bytea_output` has its default.
const LIST_SIGNING_KEYS =
  "SELECT kid, encode(secret, 'hex') AS secret, created_at FROM signing_keys ORDER BY seq"
