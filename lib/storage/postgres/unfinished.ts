import type { CopyMethods } from '../port.ts'
import { unfinishedError } from '../unfinished.ts'
import type { Connection, Database } from './connection.ts'

export function unfinishedMethods(db: Database): CopyMethods {
  return {
    beginCopy() {
      return db.transaction(async (tx) => {
        // Else what another transaction is adding would not be seen.
        await tx.exec('LOCK TABLE accounts, signing_keys, audit, unfinished_copy IN EXCLUSIVE MODE')
        if (await isUnfinished(tx)) return true
        if (await tx.find(SOMETHING)) return false
        await tx.run('INSERT INTO unfinished_copy DEFAULT VALUES')
        return true
      })
    },
    async endCopy() {
      await db.run('DELETE FROM unfinished_copy')
    },
  }
}

/** Refuses a copy that is not whole. */
export async function assertWhole(on: Connection): Promise<void> {
  if (await isUnfinished(on)) throw unfinishedError()
}

async function isUnfinished(on: Connection): Promise<boolean> {
  return (await on.find('SELECT 1 FROM unfinished_copy')) !== undefined
}

const SOMETHING = `
  SELECT 1 FROM accounts UNION ALL SELECT 1 FROM signing_keys UNION ALL SELECT 1 FROM audit LIMIT 1`
