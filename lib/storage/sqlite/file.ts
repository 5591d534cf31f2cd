import { accessSync, closeSync, constants, existsSync, openSync, statSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import { TillError } from '../../errors.ts'
import { BUSY_TIMEOUT_MS, type Connection, connect } from './connection.ts'
import { assertWhole } from './copies.ts'
import { isBusy, openSqliteDriver, type SqliteDriver, type SqliteDriverName } from './drivers.ts'
import type { SqliteOptions } from './options.ts'
import { APPLICATION_ID, MIGRATIONS } from './schema.ts'

/** Opens a database file. Creates and migrates it as needed. */
export async function openFile(path: string, options: SqliteOptions): Promise<Connection> {
  if (options.create === false) assertExists(path)
  createPrivately(path)
  assertWritable(path)
  const driver = openSqliteDriver(path, options.driver)
  const db = connect(driver, path)
  try {
    await configure(db, driver)
    await migrate(db)
    if (!options.forCopy) assertWhole(db)
    return db
  } catch (error) {
    await db.close()
    throw error
  }
}

/** Creates a database in memory, which ends with its connection. */
export function openMemory(driver?: SqliteDriverName): Connection {
  const db = connect(openSqliteDriver(':memory:', driver))
  db.exec('PRAGMA foreign_keys = ON')
  for (const step of wholeSchema ? [wholeSchema] : MIGRATIONS) db.exec(step)
  wholeSchema ??= readSchema(db)
  return db
}

/** Creates in 3 ms the schema that the migrations create in 14 ms. */
let wholeSchema: string | undefined

/** Puts the triggers last: each of them makes the statements after it slower. */
function readSchema(db: Connection): string {
  const made = db.all(`
    SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%'
    ORDER BY type = 'trigger', rowid`)
  return [...made.map(({ sql }) => sql), 'INSERT INTO cache_version VALUES (0)'].join(';')
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
export async function configure(db: Connection, driver: SqliteDriver): Promise<void> {
  db.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`)
  versionOf(db) // rejects another program's file before changing its journal mode
  releaseFreePages(db)
  await enterWal(driver)
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

// Retries, because changing the journal mode ignores the busy timeout, and several processes may
// open a new file at the same time.
async function enterWal(driver: SqliteDriver, attempts = 100): Promise<void> {
  try {
    driver.exec('PRAGMA journal_mode = WAL')
  } catch (error) {
    if (attempts === 0 || !isBusy(error)) throw error
    await setTimeout(50)
    await enterWal(driver, attempts - 1)
  }
}

async function migrate(db: Connection): Promise<void> {
  if (versionOf(db) === MIGRATIONS.length) return
  await db.transaction(() => {
    const version = versionOf(db)
    for (const step of MIGRATIONS.slice(version)) db.exec(step)
    db.exec(`PRAGMA application_id = ${APPLICATION_ID}`)
    db.exec(`PRAGMA user_version = ${MIGRATIONS.length}`)
  })
}

/** The number of migrations in a file. Throws for a file of another program or a newer tillkit. */
function versionOf(db: Connection): number {
  // Looks for tables before it reads the id: another process may migrate an empty file in between.
  const isEmpty = db.find('SELECT 1 FROM sqlite_schema') === undefined
  const version = db.find('PRAGMA user_version')?.user_version as number
  const application = db.find('PRAGMA application_id')?.application_id
  if (application !== APPLICATION_ID && !isEmpty) {
    throw new TillError('storage_unavailable', 'it is a SQLite file of another program')
  }
  if (version > MIGRATIONS.length) {
    const found = `its schema is version ${version}, this tillkit knows ${MIGRATIONS.length}`
    throw new TillError('storage_unavailable', `${found}: use the newer tillkit that wrote it`)
  }
  return version
}
