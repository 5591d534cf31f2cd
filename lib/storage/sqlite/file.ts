import { accessSync, closeSync, constants, existsSync, openSync, statSync } from 'node:fs'
import { TillError } from '../../errors.ts'
import { assertWhole } from '../sql/copy.ts'
import { newestVersion, stepsFrom } from '../sql/schema.ts'
import { type Connection, connect } from './connection.ts'
import { openSqliteDriver, type SqliteDriverName } from './drivers.ts'
import type { SqliteOptions } from './options.ts'
import { APPLICATION_ID, SCHEMA } from './schema.ts'
import { execute } from './sql.ts'

/** Opens a database file. Creates and upgrades it as needed. */
export async function openFile(path: string, options: SqliteOptions): Promise<Connection> {
  if (options.create === false) assertExists(path)
  createPrivately(path)
  assertWritable(path)
  const db = connect(openSqliteDriver(path, options.driver), path)
  try {
    stepsOf(db, options.upgrade) // rejects a file before changing its journal mode
    await configure(db)
    await upgrade(db, options.upgrade)
    execute(db, assertWhole())
    return db
  } catch (error) {
    await db.close()
    throw error
  }
}

/** Creates a database in memory, which ends with its connection. */
export function openMemory(driver?: SqliteDriverName): Connection {
  const db = connect(openSqliteDriver(':memory:', driver))
  db.exec('PRAGMA temp_store = MEMORY')
  db.exec('PRAGMA foreign_keys = ON')
  db.exec(SCHEMA.create)
  return db
}

// Rejects an empty file too: SQLite would create a new database in it.
function assertExists(path: string): void {
  const stat = statSync(path, { throwIfNoEntry: false })
  if (!stat) throw new TillError('storage_unavailable', 'there is no such file')
  if (stat.isFile() && stat.size === 0) {
    throw new TillError('storage_unavailable', 'the file is empty')
  }
}

// Creates a missing file that only this user may read, because the database holds signing keys.
// SQLite gives the WAL the same mode.
//
// Never opens an existing file: closing it would release the locks of this process's other
// connections (sqlite.org/howtocorrupt.html section 2.2). Another process could then delete their
// WAL.
function createPrivately(path: string): void {
  if (existsSync(path)) return
  try {
    closeSync(openSync(path, 'wx', 0o600)) // fails if the path is a symbolic link
  } catch (error) {
    if ((error as { code?: string }).code !== 'EEXIST') throw error
    if (existsSync(path)) return // another process has created it meanwhile
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

async function upgrade(db: Connection, isAllowed?: boolean): Promise<void> {
  if (stepsOf(db, isAllowed).length === 0) return
  await db.transaction(() => {
    for (const step of stepsOf(db, isAllowed)) db.exec(step)
    db.exec(`PRAGMA application_id = ${APPLICATION_ID}`)
    db.exec(`PRAGMA user_version = ${newestVersion(SCHEMA)}`)
  })
}

/** The steps to the newest schema. Throws for a file that this tillkit cannot or may not use. */
function stepsOf(db: Connection, mayUpgrade = true): readonly string[] {
  // Looks for tables before it reads the id: another process may create the schema in between.
  const isEmpty = db.find('SELECT 1 FROM sqlite_schema') === undefined
  const version = db.find('PRAGMA user_version')?.user_version as number
  const application = db.find('PRAGMA application_id')?.application_id
  if (application !== APPLICATION_ID && !isEmpty) {
    throw new TillError('storage_unavailable', 'it is a SQLite file of another program')
  }
  return stepsFrom(version, SCHEMA, mayUpgrade)
}
