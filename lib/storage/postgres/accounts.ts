import type { AccountKey } from '../../domain/account.ts'
import { recordPage } from '../pages.ts'
import type { AccountMethods } from '../port.ts'
import { accountKeyRecord, accountRecord, maybe } from '../records.ts'
import { recordWrite } from './audit.ts'
import { lockAuthority, lockOf, verifyAuthority } from './authority.ts'
import type { Connection, Database } from './connection.ts'

export function accountMethods(db: Database): AccountMethods {
  return {
    insertAccount(account, key, write = {}) {
      return db.transaction(async (tx) => {
        await verifyAuthority(tx, write.authority)
        await tx.run(
          'INSERT INTO accounts (account_id, name, created_at) VALUES ($1, $2, $3)',
          account.account_id,
          account.name,
          account.created_at,
        )
        await insertKey(tx, key)
        await recordWrite(tx, write)
      })
    },
    async findAccount(account_id) {
      const sql = 'SELECT * FROM accounts WHERE account_id = $1'
      return maybe(accountRecord, await db.find(sql, account_id))
    },
    async findAccountByKeyHash(hash) {
      const row = await db.find(
        `SELECT a.*, k.key_id FROM account_keys k JOIN accounts a ON a.account_id = k.account_id
         WHERE k.hash = $1 AND k.revoked_at IS NULL`,
        hash,
      )
      return row && { ...accountRecord(row), key_id: row.key_id as string }
    },
    async listAccounts(page) {
      const sql = 'SELECT * FROM accounts WHERE seq > $1::bigint ORDER BY seq LIMIT $2'
      const rows = await db.all(sql, page.after ?? '0', page.limit + 1)
      return recordPage(rows, page, accountRecord, ({ seq }) => seq)
    },
    insertAccountKey(key, write = {}) {
      return db.transaction(async (tx) => {
        await verifyAuthority(tx, write.authority)
        await insertKey(tx, key)
        await recordWrite(tx, write)
      })
    },
    async listAccountKeys(account_id, page) {
      const sql =
        'SELECT * FROM account_keys WHERE account_id = $1 AND seq > $2::bigint ORDER BY seq LIMIT $3'
      const rows = await db.all(sql, account_id, page.after ?? '0', page.limit + 1)
      return recordPage(rows, page, accountKeyRecord, ({ seq }) => seq)
    },
    revokeAccountKey(account_id, key_id, revoked_at, write = {}) {
      return db.transaction(async (tx) => {
        // The rows in the order of their ids: of two keys that revoke each other, one waits.
        const acting = write.authority?.key_id ?? key_id
        await lockAuthority(tx, undefined, lockOf.key(key_id), lockOf.key(acting))
        await tx.all(LOCK_KEYS, key_id, acting)
        await verifyAuthority(tx, write.authority)
        const revoked = await tx.run(
          `UPDATE account_keys SET revoked_at = $1
           WHERE account_id = $2 AND key_id = $3 AND revoked_at IS NULL`,
          revoked_at,
          account_id,
          key_id,
        )
        if (revoked === 1) await recordWrite(tx, write)
        return revoked === 1
      })
    },
  }
}

const LOCK_KEYS = 'SELECT 1 FROM account_keys WHERE key_id IN ($1, $2) ORDER BY key_id FOR UPDATE'

async function insertKey(on: Connection, key: AccountKey): Promise<void> {
  await on.run(
    `INSERT INTO account_keys (key_id, account_id, hash, created_at, revoked_at)
     VALUES ($1, $2, $3, $4, $5)`,
    key.key_id,
    key.account_id,
    key.hash,
    key.created_at,
    key.revoked_at ?? null,
  )
}
