import type { CopyMethods } from '../port.ts'
import { DELETE_UNFINISHED, FIND_ANYTHING, FIND_UNFINISHED } from '../statements.ts'
import { unfinishedError } from '../unfinished.ts'
import type { Connection } from './connection.ts'

export function unfinishedMethods(db: Connection): CopyMethods {
  return {
    beginCopy() {
      return db.write(() => {
        if (db.find(FIND_UNFINISHED)) return true
        if (db.find(FIND_ANYTHING)) return false
        db.run('INSERT INTO unfinished_copy (began_at) VALUES (?)', new Date().toISOString())
        return true
      })
    },
    endCopy() {
      return db.write(() => void db.run(DELETE_UNFINISHED))
    },
  }
}

/** Throws when the database is an unfinished copy. */
export function assertWhole(db: Connection): void {
  if (db.find(FIND_UNFINISHED)) throw unfinishedError()
}
