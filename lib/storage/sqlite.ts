import { TillError } from '../errors.ts'
import { createReadCache } from './cache.ts'
import { startCleanup } from './cleanup.ts'
import type { Storage } from './port.ts'
import { accountMethods } from './sqlite/accounts.ts'
import { auditMethods } from './sqlite/audit.ts'
import { writeBackup } from './sqlite/backup.ts'
import { bucketMethods } from './sqlite/buckets.ts'
import { findProblems } from './sqlite/check.ts'
import type { Connection } from './sqlite/connection.ts'
import { reasonOf, type SqliteDriverName, translateSqliteError } from './sqlite/drivers.ts'
import { openFile } from './sqlite/file.ts'
import { clearAbandonedImports, openImport } from './sqlite/imports.ts'
import { itemMethods } from './sqlite/items.ts'
import { projectMethods } from './sqlite/projects.ts'
import { listPurchases } from './sqlite/purchases.ts'
import { seqOfStore, storeMethods } from './sqlite/stores.ts'
import { tokenMethods } from './sqlite/tokens.ts'
import { assertWhole, unfinishedMethods } from './sqlite/unfinished.ts'

export interface SqliteOptions {
  /** Which driver to use; without it node:sqlite where Node has it, else better-sqlite3. */
  readonly driver?: SqliteDriverName
  /** Memory for records that were read before, in bytes; 0 keeps none. 32 MiB unless told. */
  readonly cacheBytes?: number
  /** Whether to make a database where there is no file or an empty one; true unless told. */
  readonly create?: boolean
  /** Whether to open a copy that was cut off too, for `copyStorage` to go on; false unless told. */
  readonly forCopy?: boolean
}

const CACHE_BYTES = 32 * 2 ** 20

/**
 * Opens a storage in a SQLite file, made and migrated as needed. Several processes may have the
 * same file open. What processes that are gone have left is cleared in the background. Throws
 * `storage_unavailable` for a file that is not tillkit's, that a newer
 * tillkit has written, that is a copy which was cut off, or that is not there, or empty, and not to
 * be made.
 */
export async function openSqliteStorage(
  path: string,
  options: SqliteOptions = {},
): Promise<Storage> {
  try {
    const db = await openFile(path, options)
    const bytes = options.cacheBytes ?? CACHE_BYTES
    return bytes === 0 ? storageOn(db) : createReadCache(storageOn(db), () => commitsOf(db), bytes)
  } catch (error) {
    const { code } = translateSqliteError(error) as { code?: string }
    if (code === undefined) throw error
    const reason = reasonOf(error)
    throw new TillError('storage_unavailable', `Cannot open the database ${path}: ${reason}`)
  }
}

/** A number that differs once another connection, of this process or another, has committed. */
function commitsOf(db: Connection): number {
  return db.find('PRAGMA data_version')?.data_version as number
}

function storageOn(db: Connection): Storage {
  const cleanup = startCleanup((pause) => clearAbandonedImports(db, pause))
  return {
    async ping() {
      db.assertInPlace()
      assertWhole(db)
    },
    ...accountMethods(db),
    ...projectMethods(db),
    ...storeMethods(db),
    ...itemMethods(db),
    async openImport(store, import_id) {
      return openImport(db, seqOfStore(db, store), import_id)
    },
    async listPurchases(store, filter, page) {
      return listPurchases(db, seqOfStore(db, store), store.store_id, filter, page)
    },
    ...tokenMethods(db),
    ...auditMethods(db),
    ...bucketMethods(db),
    ...unfinishedMethods(db),
    async check() {
      return findProblems(db)
    },
    async backup(path) {
      writeBackup(db, path)
    },
    async forget() {
      db.exec('VACUUM')
      await db.emptyLog()
    },
    size: () => db.size(),
    async close() {
      // Together: what is asked for from now on is refused.
      await Promise.all([db.close(), cleanup.stop()])
    },
  }
}
