import type { AccountKey } from '../../domain/account.ts'
import type { AccountVerbs } from '../port.ts'
import { accountKeyRecord, accountRecord, maybe } from '../records.ts'
import type { Connection } from './connection.ts'
import { writeTrail } from './trail.ts'

export function accountVerbs(db: Connection): AccountVerbs {
  return {
    insertAccount(account, key, trail = {}) {
      return db.write(() => {
        db.run(
          'INSERT INTO accounts (account_id, name, created_at) VALUES (?, ?, ?)',
          account.account_id,
          account.name,
          account.created_at,
        )
        insertKey(db, key)
        writeTrail(db, trail)
      })
    },
    async findAccount(account_id) {
      const sql = 'SELECT * FROM accounts WHERE account_id = ?'
      return maybe(accountRecord, db.find(sql, account_id))
    },
    async findAccountByKeyHash(hash) {
      const row = db.find(
        `SELECT a.*, k.key_id FROM account_keys k JOIN accounts a ON a.account_id = k.account_id
         WHERE k.hash = ? AND k.revoked_at IS NULL`,
        hash,
      )
      return row && { ...accountRecord(row), key_id: row.key_id as string }
    },
    async listAccounts() {
      return db.all('SELECT * FROM accounts ORDER BY seq').map(accountRecord)
    },
    insertAccountKey(key, trail = {}) {
      return db.write(() => {
        insertKey(db, key)
        writeTrail(db, trail)
      })
    },
    async listAccountKeys(account_id) {
      const sql = 'SELECT * FROM account_keys WHERE account_id = ? ORDER BY rowid'
      return db.all(sql, account_id).map(accountKeyRecord)
    },
    revokeAccountKey(account_id, key_id, revoked_at, trail = {}) {
      return db.write(() => {
        const revoked = db.run(
          `UPDATE account_keys SET revoked_at = ?
           WHERE account_id = ? AND key_id = ? AND revoked_at IS NULL`,
          revoked_at,
          account_id,
          key_id,
        )
        if (revoked === 1) writeTrail(db, trail)
        return revoked === 1
      })
    },
  }
}

function insertKey(db: Connection, key: AccountKey): void {
  db.run(
    `INSERT INTO account_keys (key_id, account_id, hash, created_at, revoked_at)
     VALUES (?, ?, ?, ?, ?)`,
    key.key_id,
    key.account_id,
    key.hash,
    key.created_at,
    key.revoked_at ?? null,
  )
}
