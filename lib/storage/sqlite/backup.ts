import { closeSync, fsyncSync, openSync, rmSync } from 'node:fs'
import { resolve } from 'node:path'
import { TillError } from '../../errors.ts'
import type { Connection } from './connection.ts'
import { reasonOf } from './drivers.ts'

/**
 * Writes the database into a new file, and calls fsync. Deletes the file on failure. The copy
 * contains the uncommitted rows of running imports. Opening the copy deletes them.
 */
export function writeBackup(db: Connection, path: string): void {
  const target = resolve(path) // absolute: SQLite reads "file:…" as a URI, and '' as no file
  const file = create(path, target)
  try {
    db.run('VACUUM INTO ?', target)
    fsyncSync(file)
  } catch (error) {
    rmSync(target)
    throw failure(path, reasonOf(error))
  } finally {
    closeSync(file)
  }
}

// Creates an empty file that only this user may read, because the copy holds signing keys. SQLite
// accepts the empty file. Without it, SQLite would create a file that all users may read.
function create(path: string, target: string): number {
  try {
    return openSync(target, 'wx', 0o600)
  } catch (error) {
    const isThere = (error as { code?: string }).code === 'EEXIST'
    throw failure(path, isThere ? 'it is there already' : reasonOf(error))
  }
}

function failure(path: string, reason: string): TillError {
  return new TillError('storage_unavailable', `Cannot write the backup ${path}: ${reason}`)
}
