import { recordPage } from '../pages.ts'
import type { StoredSigningKey, TokenMethods } from '../port.ts'
import { signingKeyRecord, watermarkRecord } from '../records.ts'
import { recordWrite } from './audit.ts'
import { findWatermark, verifyAuthority } from './authority.ts'
import type { Connection } from './connection.ts'

export function tokenMethods(db: Connection): TokenMethods {
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
    rotateSigningKeys(key, drop, write = {}) {
      return db.write(() => {
        verifyAuthority(db, write.authority)
        insertSigningKey(db, key)
        const kids = drop(listSigningKeys(db))
        for (const kid of kids) db.run('DELETE FROM signing_keys WHERE kid = ?', kid)
        recordWrite(db, write)
        return kids
      })
    },
    revokeTokens({ project_id, user_id, at }, write = {}) {
      return db.write(() => {
        verifyAuthority(db, write.authority)
        db.run(
          `INSERT INTO token_bounds (project_id, user_id, not_after)
           SELECT ?, ?, max(?, coalesce(max(not_after), 0) + 1) FROM token_bounds
           WHERE project_id = ? AND (? = '' OR user_id IN ('', ?))
           ON CONFLICT DO UPDATE SET not_after = excluded.not_after`,
          project_id,
          user_id,
          at,
          project_id,
          user_id,
          user_id,
        )
        recordWrite(db, write)
      })
    },
    insertWatermark({ project_id, user_id, not_after }) {
      return db.write(() => {
        db.run(
          `INSERT INTO token_bounds (project_id, user_id, not_after) VALUES (?, ?, ?)
           ON CONFLICT DO UPDATE SET not_after = max(not_after, excluded.not_after)`,
          project_id,
          user_id,
          not_after,
        )
      })
    },
    async findWatermark(project_id, user_id) {
      return findWatermark(db, project_id, user_id)
    },
    async listWatermarks(project_id, page) {
      // The first may be that of all users, ''.
      const from = page.after === undefined ? '>=' : '>'
      const sql = `SELECT * FROM token_bounds WHERE project_id = ? AND user_id ${from} ?
        ORDER BY user_id LIMIT ?`
      const rows = db.all(sql, project_id, page.after ?? '', page.limit + 1)
      return recordPage(rows, page, watermarkRecord, ({ user_id }) => user_id)
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
