import type { CopyMethods } from '../port.ts'
import { DELETE_UNFINISHED, FIND_ANYTHING, FIND_UNFINISHED } from '../statements.ts'
import { unfinishedError } from '../unfinished.ts'
import type { Connection, Database } from './connection.ts'

export function unfinishedMethods(db: Database): CopyMethods {
  return {
    beginCopy() {
      return db.transaction(async (tx) => {
        // Waits for other transactions, because the rows that they add are not visible yet.
        await tx.exec('LOCK TABLE accounts, signing_keys, audit, unfinished_copy IN EXCLUSIVE MODE')
        if (await tx.find(FIND_UNFINISHED)) return true
        if (await tx.find(FIND_ANYTHING)) return false
        await tx.run('INSERT INTO unfinished_copy DEFAULT VALUES')
        return true
      })
    },
    async endCopy() {
      await db.run(DELETE_UNFINISHED)
    },
  }
}

/** Throws when the database is an unfinished copy. */
export async function assertWhole(on: Connection): Promise<void> {
  if (await on.find(FIND_UNFINISHED)) throw unfinishedError()
}
