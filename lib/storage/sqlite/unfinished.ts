import type { CopyMethods } from '../port.ts'
import { unfinishedError } from '../unfinished.ts'
import type { Connection } from './connection.ts'

export function unfinishedMethods(db: Connection): CopyMethods {
  return {
    beginCopy() {
      return db.write(() => {
        if (isUnfinished(db)) return true
        if (db.find(SOMETHING)) return false
        db.run('INSERT INTO unfinished_copy (began_at) VALUES (?)', new Date().toISOString())
        return true
      })
    },
    endCopy() {
      return db.write(() => void db.run('DELETE FROM unfinished_copy'))
    },
  }
}

/** Refuses a copy that is not whole. */
export function assertWhole(db: Connection): void {
  if (isUnfinished(db)) throw unfinishedError()
}

function isUnfinished(db: Connection): boolean {
  return db.find('SELECT 1 FROM unfinished_copy') !== undefined
}

const SOMETHING = `
  SELECT 1 FROM accounts UNION ALL SELECT 1 FROM signing_keys UNION ALL SELECT 1 FROM audit LIMIT 1`
