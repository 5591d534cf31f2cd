import { accessSync, closeSync, constants, existsSync, openSync, statSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import { TillError } from '../../errors.ts'
import { BUSY_TIMEOUT_MS, type Connection, connect } from './connection.ts'
import { isBusy, openSqliteDriver, type SqliteDriver } from './drivers.ts'
import type { SqliteOptions } from './options.ts'
import { APPLICATION_ID, MIGRATIONS } from './schema.ts'
import { assertWhole } from './unfinished.ts'

/** A connection to a file that is ours, of today's schema. */
export async function openFile(path: string, options: SqliteOptions): Promise<Connection> {
  if (options.create === false) assertMade(path)
  createPrivately(path)
  assertWritable(path)
  const driver = await openSqliteDriver(path, options.driver)
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

// SQLite takes an empty file for a new database; one in use is never empty: it is made with its
// first page in it.
function assertMade(path: string): void {
  const stat = statSync(path, { throwIfNoEntry: false })
  if (!stat) throw new TillError('storage_unavailable', 'there is no such file')
  if (stat.isFile() && stat.size === 0) {
    throw new TillError('storage_unavailable', 'the file is empty')
  }
}

// The file holds signing keys and purchases: no other user of the machine reads it. SQLite gives
// its WAL the mode of the file.
//
// Only one that is not there yet: closing a file drops the locks that this process has on it, those
// of its other connections too (sqlite.org/howtocorrupt.html section 2.2), and another process
// would then take the WAL away from under them.
function createPrivately(path: string): void {
  if (path === ':memory:' || existsSync(path)) return
  try {
    closeSync(openSync(path, 'wx', 0o600)) // fails for a link, which may lead anywhere
  } catch (error) {
    if ((error as { code?: string }).code !== 'EEXIST') throw error
    if (existsSync(path)) return // another process has made it meanwhile
    throw new TillError('storage_unavailable', 'it is a symbolic link to a file that is not there')
  }
}

// Before SQLite has the file, which it would open for reading alone, and make a WAL beside it that
// stays. Not by opening it, for the same reason as above.
function assertWritable(path: string): void {
  if (path === ':memory:') return
  try {
    accessSync(path, constants.W_OK)
  } catch (error) {
    if ((error as { code?: string }).code !== 'EACCES') throw error
    throw new TillError('storage_unavailable', 'this user may not write the file')
  }
}

async function configure(db: Connection, driver: SqliteDriver): Promise<void> {
  db.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`)
  versionOf(db) // refuses a file that is not ours before its journal mode is changed
  releaseFreePages(db)
  await enterWal(driver)
  db.exec('PRAGMA synchronous = FULL')
  db.exec('PRAGMA foreign_keys = ON')
  db.exec('PRAGMA cache_size = -4000') // KiB; more makes no import faster (bench/)
  // What the WAL of an import may have. A longer one is cut when it starts anew.
  db.exec(`PRAGMA journal_size_limit = ${64 * 2 ** 20}`)
}

// Each commit gives the pages that it frees back to the file system. Without it the file keeps the
// size of all dry runs and aborted imports that were under way at once. Must come before the first
// page is written; a file that was made without it gets it with its next VACUUM.
function releaseFreePages(db: Connection): void {
  // Where it is set already, setting it would take the write lock.
  if (db.find('PRAGMA auto_vacuum')?.auto_vacuum === 0) db.exec('PRAGMA auto_vacuum = FULL')
}

// Changing the journal mode does not wait for the busy timeout: several processes that open a new
// file at once must try again by themselves.
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

/** How many migrations the file has had; refuses a file that is another program's or newer. */
function versionOf(db: Connection): number {
  // First of the three: another process may migrate the file between one look and the next.
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
