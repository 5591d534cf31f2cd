import type { AccountKey } from '../../domain/account.ts'
import type { AccountVerbs } from '../port.ts'
import { accountKeyRecord, accountRecord, maybe } from '../records.ts'
import type { Connection, Database } from './connection.ts'
import { writeTrail } from './trail.ts'

export function accountVerbs(db: Database): AccountVerbs {
  return {
    insertAccount(account, key, trail = {}) {
      return db.transaction(async (tx) => {
        await tx.run(
          'INSERT INTO accounts (account_id, name, created_at) VALUES ($1, $2, $3)',
          account.account_id,
          account.name,
          account.created_at,
        )
        await insertKey(tx, key)
        await writeTrail(tx, trail)
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
    async listAccounts() {
      return (await db.all('SELECT * FROM accounts ORDER BY seq')).map(accountRecord)
    },
    insertAccountKey(key, trail = {}) {
      return db.transaction(async (tx) => {
        await insertKey(tx, key)
        await writeTrail(tx, trail)
      })
    },
    async listAccountKeys(account_id) {
      const sql = 'SELECT * FROM account_keys WHERE account_id = $1 ORDER BY seq'
      return (await db.all(sql, account_id)).map(accountKeyRecord)
    },
    revokeAccountKey(account_id, key_id, revoked_at, trail = {}) {
      return db.transaction(async (tx) => {
        const revoked = await tx.run(
          `UPDATE account_keys SET revoked_at = $1
           WHERE account_id = $2 AND key_id = $3 AND revoked_at IS NULL`,
          revoked_at,
          account_id,
          key_id,
        )
        if (revoked === 1) await writeTrail(tx, trail)
        return revoked === 1
      })
    },
  }
}

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
