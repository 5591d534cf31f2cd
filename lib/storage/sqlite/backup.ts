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
  createPrivately(path, target)
  try {
    db.run('VACUUM INTO ?', target)
    sync(target)
  } catch (error) {
    rmSync(target)
    throw failure(path, reasonOf(error))
  }
}

// Creates an empty file that only this user may read, because the copy holds signing keys. SQLite
// accepts the empty file. Without it, SQLite would create a file that all users may read.
function createPrivately(path: string, target: string): void {
  try {
    closeSync(openSync(target, 'wx', 0o600))
  } catch (error) {
    const isThere = (error as { code?: string }).code === 'EEXIST'
    throw failure(path, isThere ? 'it is there already' : reasonOf(error))
  }
}

function sync(path: string): void {
  const file = openSync(path, 'r+')
  try {
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}

function failure(path: string, reason: string): TillError {
  return new TillError('storage_unavailable', `Cannot write the backup ${path}: ${reason}`)
}
