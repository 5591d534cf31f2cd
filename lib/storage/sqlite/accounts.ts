import type { AccountMethods } from '../port.ts'
import { accountReads } from '../reads.ts'
import { REVOKE_KEY } from '../statements.ts'
import { ACCOUNT_KEYS, ACCOUNTS, PROJECTS } from '../tables.ts'
import { recordWrite } from './audit.ts'
import { verifyAuthority } from './authority.ts'
import type { Connection } from './connection.ts'

export function accountMethods(db: Connection): AccountMethods {
  return {
    ...accountReads(db, 'rowid'),
    insertAccount(account, key, write = {}) {
      return db.write(() => {
        verifyAuthority(db, write.authority)
        db.insert(ACCOUNTS, account)
        db.insert(ACCOUNT_KEYS, key)
        recordWrite(db, write)
        const { project } = write
        if (!project) return
        db.insert(PROJECTS, project.record)
        recordWrite(db, project)
      })
    },
    insertAccountKey(key, write = {}) {
      return db.write(() => {
        verifyAuthority(db, write.authority)
        db.insert(ACCOUNT_KEYS, key)
        recordWrite(db, write)
      })
    },
    revokeAccountKey(account_id, key_id, revoked_at, write = {}) {
      return db.write(() => {
        verifyAuthority(db, write.authority)
        const isRevoked = db.run(REVOKE_KEY, revoked_at, account_id, key_id) === 1
        if (isRevoked) recordWrite(db, write)
        return isRevoked
      })
    },
  }
}
