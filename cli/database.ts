import {
  createMemoryStorage,
  openPostgresStorage,
  openSqliteStorage,
  type SqliteOptions,
  type Storage,
} from '../lib/index.ts'
import { UsageError } from './command-errors.ts'
import { explainPermissions } from './file-permissions.ts'

/** Opens the storage that a path or URL names. */
export async function openStorage(
  db: string,
  options: Pick<SqliteOptions, 'create' | 'upgrade'>,
): Promise<Storage> {
  if (db === 'memory:') return createMemoryStorage()
  if (isPostgres(db)) return openPostgresStorage(db, options)
  const [url] = /^[a-z][a-z\d+.-]+:\/\//i.exec(db) ?? []
  // Quotes only the scheme: the rest of the URL may hold a password.
  if (url) throw new UsageError(`${url}… is no database: use a file, postgres://… or memory:`)
  try {
    return await openSqliteStorage(db, options)
  } catch (error) {
    throw explainPermissions(error, db, options.create)
  }
}

export function isPostgres(db: string): boolean {
  return /^postgres(ql)?:\/\//.test(db)
}

/** Whether a database is a file, not a database server or memory. */
export function isFile(db: string): boolean {
  return db !== 'memory:' && !isPostgres(db)
}
