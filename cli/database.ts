// The commands import this file when they need a database: without it, a help text takes half of the
// time.
import {
  createMemoryStorage,
  openSqliteStorage,
  type SqliteOptions,
  type Storage,
} from '../lib/index.ts'
import { UsageError } from './command-errors.ts'
import { isPostgres } from './database-url.ts'
import { explainPermissions } from './file-permissions.ts'

export { copyStorage, createTill } from '../lib/index.ts'

/** Opens the storage that a path or URL names. */
export async function openStorage(
  db: string,
  options: Pick<SqliteOptions, 'create' | 'upgrade'>,
): Promise<Storage> {
  if (db === 'memory:') return createMemoryStorage()
  if (isPostgres(db)) {
    const { openPostgresStorage } = await import('./postgres.ts')
    return openPostgresStorage(db, options)
  }
  const [url] = /^[a-z][a-z\d+.-]+:\/\//i.exec(db) ?? []
  // Quotes only the scheme: the rest of the URL may hold a password.
  if (url) throw new UsageError(`${url}… is no database: use a file, postgres://… or memory:`)
  try {
    return await openSqliteStorage(db, options)
  } catch (error) {
    throw explainPermissions(error, db, options.create)
  }
}
