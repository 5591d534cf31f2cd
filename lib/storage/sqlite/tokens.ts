import type { StoredSigningKey, TokenMethods, Watermark } from '../port.ts'
import { pseudonymOf } from '../pseudonym.ts'
import { tokenReads } from '../reads.ts'
import { DELETE_WATERMARK, FIND_OWN_WATERMARK } from '../statements.ts'
import { SIGNING_KEYS, WATERMARKS } from '../tables.ts'
import { recordWrite } from './audit.ts'
import { verifyAuthority } from './authority.ts'
import type { Connection } from './connection.ts'

export function tokenMethods(db: Connection): TokenMethods {
  return {
    ...tokenReads(db),
    insertSigningKey(key) {
      return db.write(() => void db.insert(SIGNING_KEYS, key))
    },
    insertFirstSigningKey(key) {
      return db.write(() => {
        if (!db.find('SELECT 1 FROM signing_keys')) db.insert(SIGNING_KEYS, key)
      })
    },
    async listSigningKeys() {
      return listSigningKeys(db)
    },
    rotateSigningKeys(key, drop, write = {}) {
      return db.write(() => {
        verifyAuthority(db, write.authority)
        db.insert(SIGNING_KEYS, key)
        const kids = drop(listSigningKeys(db))
        for (const kid of kids) db.run('DELETE FROM signing_keys WHERE kid = ?', kid)
        recordWrite(db, write)
        return kids
      })
    },
    revokeTokens({ project_id, user_id, at }, write = {}) {
      return db.write(() => {
        verifyAuthority(db, write.authority)
        const pseudonym = pseudonymOf({ project_id, user_id })
        db.run(REVOKE, project_id, user_id, at, project_id, user_id, user_id, pseudonym)
        recordWrite(db, write)
      })
    },
    insertWatermark(watermark) {
      return db.write(() => raise(db, watermark))
    },
    pseudonymizeWatermark(user, write = {}) {
      const { project_id, user_id } = user
      return db.write(() => {
        verifyAuthority(db, write.authority)
        const row = db.find(FIND_OWN_WATERMARK, project_id, user_id)
        const not_after = row?.not_after as number | undefined
        if (not_after !== undefined)
          raise(db, { project_id, user_id: pseudonymOf(user), not_after })
        db.run(DELETE_WATERMARK, project_id, user_id)
        recordWrite(db, write)
      })
    },
  }
}

const REVOKE = `
  INSERT INTO token_bounds (project_id, user_id, not_after)
  SELECT ?, ?, max(?, coalesce(max(not_after), 0) + 1) FROM token_bounds
  WHERE project_id = ? AND (? = '' OR user_id IN ('', ?, ?))
  ON CONFLICT (project_id, user_id) DO UPDATE SET not_after = excluded.not_after`

function raise(db: Connection, watermark: Watermark): void {
  db.run(RAISE, ...WATERMARKS.sqliteValues(watermark))
}

const RAISE = `
  ${WATERMARKS.insertion} ON CONFLICT (project_id, user_id)
  DO UPDATE SET not_after = max(token_bounds.not_after, excluded.not_after)`

function listSigningKeys(db: Connection): StoredSigningKey[] {
  return db.all(LIST_SIGNING_KEYS).map(SIGNING_KEYS.read)
}

const LIST_SIGNING_KEYS = `SELECT ${SIGNING_KEYS.list} FROM signing_keys ORDER BY seq`
