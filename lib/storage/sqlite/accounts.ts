import type { AccountKey } from '../../domain/account.ts'
import { recordPage } from '../pages.ts'
import type { AccountMethods } from '../port.ts'
import { accountKeyRecord, accountRecord, maybe } from '../records.ts'
import { recordWrite } from './audit.ts'
import { verifyAuthority } from './authority.ts'
import type { Connection } from './connection.ts'

export function accountMethods(db: Connection): AccountMethods {
  return {
    insertAccount(account, key, write = {}) {
      return db.write(() => {
        verifyAuthority(db, write.authority)
        db.run(
          'INSERT INTO accounts (account_id, name, created_at) VALUES (?, ?, ?)',
          account.account_id,
          account.name,
          account.created_at,
        )
        insertKey(db, key)
        recordWrite(db, write)
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
    async listAccounts(page) {
      const sql = 'SELECT * FROM accounts WHERE seq > ? ORDER BY seq LIMIT ?'
      const rows = db.all(sql, page.after ?? 0, page.limit + 1)
      return recordPage(rows, page, accountRecord, ({ seq }) => seq)
    },
    insertAccountKey(key, write = {}) {
      return db.write(() => {
        verifyAuthority(db, write.authority)
        insertKey(db, key)
        recordWrite(db, write)
      })
    },
    async listAccountKeys(account_id, page) {
      const rows = db.all(
        `SELECT rowid AS seq, * FROM account_keys WHERE account_id = ? AND rowid > ?
         ORDER BY rowid LIMIT ?`,
        account_id,
        page.after ?? 0,
        page.limit + 1,
      )
      return recordPage(rows, page, accountKeyRecord, ({ seq }) => seq)
    },
    revokeAccountKey(account_id, key_id, revoked_at, write = {}) {
      return db.write(() => {
        verifyAuthority(db, write.authority)
        const revoked = db.run(
          `UPDATE account_keys SET revoked_at = ?
           WHERE account_id = ? AND key_id = ? AND revoked_at IS NULL`,
          revoked_at,
          account_id,
          key_id,
        )
        if (revoked === 1) recordWrite(db, write)
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
