import type { StoredSigningKey, TokenVerbs } from '../port.ts'
import { signingKeyRecord, tokenBoundRecord } from '../records.ts'
import type { Connection } from './connection.ts'
import { writeTrail } from './trail.ts'

export function tokenVerbs(db: Connection): TokenVerbs {
  return {
    insertSigningKey(key) {
      return db.write(() => insertSigningKey(db, key))
    },
    insertFirstSigningKey(key) {
      return db.write(() => {
        if (!db.find('SELECT 1 FROM signing_keys')) insertSigningKey(db, key)
      })
    },
    async listSigningKeys() {
      return listSigningKeys(db)
    },
    rotateSigningKeys(key, drop, trail = {}) {
      return db.write(() => {
        insertSigningKey(db, key)
        const kids = drop(listSigningKeys(db))
        for (const kid of kids) db.run('DELETE FROM signing_keys WHERE kid = ?', kid)
        writeTrail(db, trail)
        return kids
      })
    },
    insertTokenBound({ project_id, user_id, not_after }, trail = {}) {
      return db.write(() => {
        db.run(
          `INSERT INTO token_bounds (project_id, user_id, not_after) VALUES (?, ?, ?)
           ON CONFLICT DO UPDATE SET not_after = max(not_after, excluded.not_after)`,
          project_id,
          user_id,
          not_after,
        )
        writeTrail(db, trail)
      })
    },
    async findTokenBound(project_id, user_id) {
      const row = db.find(
        `SELECT max(not_after) AS bound FROM token_bounds
         WHERE project_id = ? AND user_id IN ('', ?)`,
        project_id,
        user_id,
      )
      return (row?.bound as number | null) ?? 0
    },
    async listTokenBounds(project_id) {
      const sql = 'SELECT * FROM token_bounds WHERE project_id = ?'
      return db.all(sql, project_id).map(tokenBoundRecord)
    },
  }
}

function listSigningKeys(db: Connection): StoredSigningKey[] {
  return db.all('SELECT * FROM signing_keys ORDER BY seq').map(signingKeyRecord)
}

function insertSigningKey(db: Connection, { kid, secret, created_at }: StoredSigningKey): void {
  const sql = 'INSERT INTO signing_keys (kid, secret, created_at) VALUES (?, ?, ?)'
  db.run(sql, kid, secret, created_at)
}
