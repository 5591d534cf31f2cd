import { closeSync, fsyncSync, openSync, rmSync } from 'node:fs'
import { resolve } from 'node:path'
import { TillError } from '../../errors.ts'
import type { Connection } from './connection.ts'
import { reasonOf } from './drivers.ts'

/**
 * Writes the database as it is now into a new file: on the disk when it returns, and none there
 * when it throws. An import that is under way is not seen in the copy, and cleared when that is
 * opened.
 */
export function writeBackup(db: Connection, path: string): void {
  const target = resolve(path) // never a URI, nor empty, which to SQLite means no file
  createPrivately(path, target)
  try {
    db.run('VACUUM INTO ?', target)
    sync(target)
  } catch (error) {
    rmSync(target)
    throw failure(path, reasonOf(error))
  }
}

// SQLite would give the copy, which holds signing keys too, to all who may read; it takes an empty
// file for a new one.
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
