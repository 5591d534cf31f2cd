import type { AccountMethods } from '../port.ts'
import { accountReads } from '../reads.ts'
import { REVOKE_KEY } from '../statements.ts'
import { ACCOUNT_KEYS, ACCOUNTS, PROJECTS } from '../tables.ts'
import { recordWrite } from './audit.ts'
import { lockAuthority, lockOf, verifyAuthority } from './authority.ts'
import type { Database } from './connection.ts'

export function accountMethods(db: Database): AccountMethods {
  return {
    ...accountReads(db, 'seq'),
    insertAccount(account, key, write = {}) {
      return db.transaction(async (tx) => {
        await verifyAuthority(tx, write.authority)
        await tx.insert(ACCOUNTS, account)
        await tx.insert(ACCOUNT_KEYS, key)
        await recordWrite(tx, write)
        const { project } = write
        if (!project) return
        await tx.insert(PROJECTS, project.record)
        await recordWrite(tx, project)
      })
    },
    insertAccountKey(key, write = {}) {
      return db.transaction(async (tx) => {
        await verifyAuthority(tx, write.authority)
        await tx.insert(ACCOUNT_KEYS, key)
        await recordWrite(tx, write)
      })
    },
    revokeAccountKey(account_id, key_id, revoked_at, write = {}) {
      return db.transaction(async (tx) => {
        // Locks both keys in the order of their ids, because two keys may revoke each other at the
        // same time. Otherwise these two transactions could deadlock.
        const acting = write.authority?.key_id ?? key_id
        await lockAuthority(tx, undefined, lockOf.key(key_id), lockOf.key(acting))
        await tx.all(LOCK_KEYS, key_id, acting)
        await verifyAuthority(tx, write.authority)
        const isRevoked = (await tx.run(REVOKE_KEY, revoked_at, account_id, key_id)) === 1
        if (isRevoked) await recordWrite(tx, write)
        return isRevoked
      })
    },
  }
}

const LOCK_KEYS = 'SELECT 1 FROM account_keys WHERE key_id IN (?, ?) ORDER BY key_id FOR UPDATE'
