import { accessSync, closeSync, constants, existsSync, openSync, rmSync } from 'node:fs'
import { TillError } from '../../errors.ts'
import { assertWhole } from '../sql/copy.ts'
import { newestVersion, stepsFrom } from '../sql/upgrade.ts'
import { type Connection, connect } from './connection.ts'
import { openSqliteDriver, type SqliteDriverName } from './drivers.ts'
import type { SqliteOptions } from './options.ts'
import { APPLICATION_ID, SCHEMA } from './schema.ts'
import { execute } from './sql.ts'

/** Opens a database file. Creates and upgrades it as needed. `isNew` tells that it was created. */
export async function openFile(
  path: string,
  options: SqliteOptions,
): Promise<{ db: Connection; isNew: boolean }> {
  const isNew = createPrivately(path, options)
  assertWritable(path)
  const db = connect(openSqliteDriver(path, options.driver), path)
  try {
    stepsOf(db, options) // rejects a file before changing its journal mode
    await configure(db)
    await upgrade(db, options)
    execute(db, assertWhole())
    return { db, isNew }
  } catch (error) {
    if (isNew) deleteUnused(db)
    await db.close()
    throw error
  }
}

/** Creates a database in memory, which ends with its connection. */
export function openMemory(driver?: SqliteDriverName): Connection {
  const db = connect(openSqliteDriver(':memory:', driver))
  db.exec('PRAGMA temp_store = MEMORY')
  db.exec('PRAGMA foreign_keys = ON')
  for (const step of stepsFrom(0, SCHEMA, {})) db.exec(step)
  return db
}

/**
 * Deletes a database if no other process uses it, and if it has no account or is an unfinished copy.
 * Then close the connection.
 */
export function deleteUnused(db: Connection): void {
  try {
    if (db.path === undefined || isUsed(db)) return
    // To end its WAL, the connection takes an exclusive lock and keeps it. It gets none while another
    // process has the file open. A process that opens the file later finds that it was deleted.
    db.exec('PRAGMA busy_timeout = 0')
    db.exec('PRAGMA locking_mode = EXCLUSIVE')
    const mode = db.find('PRAGMA journal_mode = DELETE')?.journal_mode
    if (mode === 'delete' && !isUsed(db)) rmSync(db.path)
  } catch (error) {
    if (!(error instanceof TillError)) throw error // SQLite refuses the lock, or the file is damaged
  }
}

function isUsed(db: Connection): boolean {
  if (isEmpty(db) || db.find('SELECT 1 FROM unfinished_copy')) return false
  return db.find('SELECT 1 FROM accounts') !== undefined
}

// Creates a missing file that only this user may read, because the database holds signing keys.
// SQLite gives the WAL the same mode. Returns whether it has created the file.
//
// Never opens an existing file: closing it would release the locks of this process's other
// connections (sqlite.org/howtocorrupt.html section 2.2). Another process could then delete their
// WAL.
function createPrivately(path: string, { create = true, driver }: SqliteOptions): boolean {
  if (existsSync(path)) return false
  if (!create) throw new TillError('storage_unavailable', 'there is no such file')
  openSqliteDriver(':memory:', driver).close() // creates no file if there is no driver
  try {
    closeSync(openSync(path, 'wx', 0o600)) // fails if the path is a symbolic link
    return true
  } catch (error) {
    if ((error as { code?: string }).code !== 'EEXIST') throw error
    if (existsSync(path)) return false // another process has created it meanwhile
    throw new TillError('storage_unavailable', 'it is a symbolic link to a file that is not there')
  }
}

// Checks that the file is writable before SQLite opens it. Otherwise SQLite would open it
// read-only, and leave a WAL behind. Does not open the file itself: see `createPrivately`.
function assertWritable(path: string): void {
  try {
    accessSync(path, constants.W_OK)
  } catch (error) {
    if ((error as { code?: string }).code !== 'EACCES') throw error
    throw new TillError('storage_unavailable', 'this user may not write the file')
  }
}

/** Sets the PRAGMAs of a connection. */
async function configure(db: Connection): Promise<void> {
  releaseFreePages(db)
  await db.enterWal()
  db.exec('PRAGMA synchronous = FULL')
  db.exec('PRAGMA foreign_keys = ON')
  db.exec('PRAGMA secure_delete = ON') // overwrites the data of erased users
  db.exec('PRAGMA cache_size = -4000') // in KiB; a larger cache makes imports no faster (bench/)
  // When SQLite begins to write the WAL from its start again, it cuts a longer file to this size.
  db.exec(`PRAGMA journal_size_limit = ${64 * 2 ** 20}`)
}

// Makes each commit return free pages to the file system. Without this setting, the file would keep
// the size that it had during a dry run or an aborted import. The setting takes effect in a new
// file, and in an older file at its next VACUUM.
function releaseFreePages(db: Connection): void {
  // Reads the setting first, because changing it takes the write lock.
  if (db.find('PRAGMA auto_vacuum')?.auto_vacuum === 0) db.exec('PRAGMA auto_vacuum = FULL')
}

async function upgrade(db: Connection, options: SqliteOptions): Promise<void> {
  if (stepsOf(db, options).length === 0) return
  await db.transaction(() => {
    for (const step of stepsOf(db, options)) db.exec(step)
    db.exec(`PRAGMA application_id = ${APPLICATION_ID}`)
    db.exec(`PRAGMA user_version = ${newestVersion(SCHEMA)}`)
  })
}

/** The steps to the newest schema. Throws for a file that this tillkit cannot or may not use. */
function stepsOf(db: Connection, options: SqliteOptions): readonly string[] {
  // Looks for tables before it reads the id: another process may create the schema in between.
  const hasTables = !isEmpty(db)
  const version = db.find('PRAGMA user_version')?.user_version as number
  const application = db.find('PRAGMA application_id')?.application_id
  if (application !== APPLICATION_ID && hasTables) {
    throw new TillError('storage_unavailable', 'it is a SQLite file of another program')
  }
  return stepsFrom(version, SCHEMA, options)
}

function isEmpty(db: Connection): boolean {
  return db.find('SELECT 1 FROM sqlite_schema') === undefined
}
