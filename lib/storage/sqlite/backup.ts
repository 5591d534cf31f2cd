import { closeSync, fsyncSync, lstatSync, openSync, renameSync, rmSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { TillError } from '../../errors.ts'
import { syncFolder } from '../sql/folder.ts'
import type { Connection } from './connection.ts'
import { reasonOf } from './drivers.ts'

/**
 * Writes the database into a new file, and calls fsync. The file is named `path.partial` until it is
 * complete: a killed process leaves that one behind. Deletes it on failure. The copy contains the
 * uncommitted rows of running imports. Opening the copy deletes them.
 */
export function writeBackup(db: Connection, path: string): void {
  try {
    write(db, resolve(path)) // absolute: SQLite reads "file:…" as a URI, and '' as no file
  } catch (error) {
    const message = `Cannot write the backup ${path}: ${reasonOf(error)}`
    throw new TillError('storage_unavailable', message)
  }
}

function write(db: Connection, path: string): void {
  const partial = `${path}.partial`
  assertFree(path)
  const file = create(partial)
  try {
    db.run('VACUUM INTO ?', partial)
    fsyncSync(file)
    assertFree(path)
    renameSync(partial, path)
  } catch (error) {
    rmSync(partial, { force: true })
    throw error
  } finally {
    closeSync(file)
  }
  syncFolder(dirname(path))
}

function assertFree(path: string): void {
  if (lstatSync(path, { throwIfNoEntry: false })) throw new Error('it is there already')
}

// Creates an empty file that only this user may read, because the copy holds signing keys. SQLite
// accepts the empty file. Without it, SQLite would create a file that all users may read.
function create(partial: string): number {
  try {
    return openSync(partial, 'wx', 0o600)
  } catch (error) {
    if ((error as { code?: string }).code !== 'EEXIST') throw error
    throw new Error(`${partial} is there already: delete it if no backup is running`)
  }
}
