import { TillError } from '../errors.ts'
import { type Uncached, withReadCache } from './cache/cache.ts'
import type { Change } from './cache/dependencies.ts'
import type { Checked } from './cache/version-checks.ts'
import type { Storage } from './port.ts'
import { startCleanup } from './sql/cleanup.ts'
import { assertWhole } from './sql/copy.ts'
import { sqlMethods } from './sql/methods.ts'
import { writeBackup } from './sqlite/backup.ts'
import { findProblems } from './sqlite/check.ts'
import type { Connection } from './sqlite/connection.ts'
import { copyDialect } from './sqlite/copy.ts'
import { sizeOf } from './sqlite/disk-space.ts'
import { isFullDisk, reasonOf, translateSqliteError } from './sqlite/drivers.ts'
import { deleteUnused, openFile, openMemory } from './sqlite/file.ts'
import { listingOfItems } from './sqlite/items.ts'
import type { SqliteOptions } from './sqlite/options.ts'
import { applyChanges } from './sqlite/purchases/changes.ts'
import { importDialect } from './sqlite/purchases/leases.ts'
import { purchaseDialect } from './sqlite/purchases/purchases.ts'
import { recordDialect } from './sqlite/purchases/record.ts'
import { execute, sqlOn } from './sqlite/sql.ts'

export type { SqliteOptions } from './sqlite/options.ts'

/**
 * Opens a storage in a SQLite file. Creates and upgrades the file as needed. Several processes may
 * have the same file open. Deletes abandoned imports in the background. Throws
 * `storage_unavailable` for a file of another program, of a newer tillkit or of one before 0.3.0,
 * and for an unfinished copy. With `create: false`, also for a missing file or one without tables;
 * with `upgrade: false`, also for a file of an earlier tillkit. The path `:memory:` opens a storage in
 * memory, like `createMemoryStorage`.
 */
export async function openSqliteStorage(
  path: string,
  options: SqliteOptions = {},
): Promise<Storage> {
  try {
    if (path === ':memory:') return createMemoryStorage(options)
    const { db, isNew } = await openFile(path, options)
    return storageOn(db, options, isNew)
  } catch (error) {
    const { code } = translateSqliteError(error) as { code?: string }
    if (code === undefined) throw error
    const reason = `${isFullDisk(error, path) ? 'the disk may be full: ' : ''}${reasonOf(error)}`
    throw new TillError('storage_unavailable', `Cannot open the database ${path}: ${reason}`)
  }
}

/**
 * Creates a storage in the memory of this process, for tests, demos and embedding without a file.
 * It is a SQLite database, and its data is lost when the process ends. Throws
 * `storage_unavailable` where no SQLite driver is installed.
 */
export function createMemoryStorage(
  options: Pick<SqliteOptions, 'driver' | 'cacheBytes'> = {},
): Storage {
  return storageOn(openMemory(options.driver), options)
}

function storageOn(db: Connection, options: SqliteOptions, isNew = false): Storage {
  const methods = methodsOn(db)
  const ofFile = db.path === undefined ? {} : fileMethods(db, db.path)
  const discard = async () => {
    deleteUnused(db)
    await methods.close()
  }
  const storage = { ...methods, ...ofFile, ...(isNew ? { discard } : {}) }
  return withReadCache(storage, db, createVersionCheck(db), options.cacheBytes)
}

/** If so many audit entries are new, the whole cache is emptied. */
const MOST_ENTRIES = 1_000
const NEWEST_ENTRY = 'SELECT max(seq) AS seq FROM audit'
const ENTRIES = `
  SELECT seq, action, account_id, project_id, store_id, subject FROM audit
  WHERE seq BETWEEN ? AND ? ORDER BY seq`

/**
 * Returns a function that finds the changes since an earlier version, which is the `seq` of the
 * newest audit entry at that time. Each change of cached data has an audit entry in its own
 * transaction. The function reads the log only after a commit of this or another connection:
 * `data_version` changes with each commit of another one. Reading the log at each call would cost a
 * third more.
 */
function createVersionCheck(db: Connection): (previous?: number) => Checked<number> {
  let others: unknown
  let own = 0
  return (previous) => {
    const found = db.find('PRAGMA data_version')?.data_version
    if (previous !== undefined && found === others && own === db.commits) {
      return { version: previous, changes: [] }
    }
    others = found
    own = db.commits
    const version = Number(db.find(NEWEST_ENTRY)?.seq ?? 0)
    if (version === previous) return { version, changes: [] }
    if (previous === undefined || version - previous > MOST_ENTRIES) {
      return { version, changes: undefined }
    }
    // An archive run deletes the oldest entries. Some are missing if the previous newest one is.
    const [known, ...changes] = db.all(ENTRIES, previous, version)
    const isWhole = known?.seq === previous
    return { version, changes: isWhole ? (changes as unknown as Change[]) : undefined }
  }
}

function methodsOn(db: Connection): Uncached {
  const { methods, clearAbandoned } = sqlMethods(sqlOn(db), {
    items: listingOfItems(db),
    purchases: purchaseDialect(db),
    imports: importDialect(db),
    records: recordDialect(db),
    copy: copyDialect(db),
  })
  const cleanup = startCleanup(async (pause) => {
    const isDone = await clearAbandoned(pause)
    await applyChanges(db, pause)
    return isDone
  })
  return {
    ...methods,
    async ping() {
      db.assertInPlace()
      execute(db, assertWhole())
      return undefined
    },
    async check() {
      return findProblems(db)
    },
    onWrite: (listener) => db.onWrite((isAudited) => isAudited && setImmediate(listener)),
    async close() {
      // Closes the connection without waiting for the cleanup. The connection then rejects the
      // cleanup's next statement, which ends the cleanup.
      await Promise.all([db.close(), cleanup.stop()])
    },
  }
}

/** The methods that a storage in memory lacks. */
function fileMethods(db: Connection, path: string): Partial<Storage> {
  return {
    async backup(file) {
      writeBackup(db, file)
    },
    async forget() {
      db.exec('VACUUM')
      await db.emptyLog()
    },
    emptyLog: () => db.emptyLog(),
    size: () => sizeOf(path),
  }
}
