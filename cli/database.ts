// The commands import this file when they need a database: without it, a help text takes half of the
// time.
import {
  createMemoryStorage,
  openSqliteStorage,
  type SqliteOptions,
  type Storage,
  TillError,
} from '../lib/index.ts'
import { UsageError } from './command-errors.ts'
import { isPostgres } from './database-url.ts'
import { explainPermissions } from './file-permissions.ts'
import { hint } from './program.ts'

export { copyStorage, createTill } from '../lib/index.ts'

type Options = Pick<SqliteOptions, 'create' | 'upgrade'>

/** Opens the storage that a path or URL names. */
export async function openStorage(db: string, options: Options): Promise<Storage> {
  try {
    return await open(db, options)
  } catch (error) {
    throw withHint(error, db)
  }
}

async function open(db: string, options: Options): Promise<Storage> {
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

/** Replaces the command that an error of the library names by one that works here. */
function withHint(error: unknown, db: string): unknown {
  if (!(error instanceof TillError)) return error
  const message = error.message.replace('"tillkit upgrade"', `"${hint('upgrade', db)}"`)
  return message === error.message ? error : new TillError(error.code, message)
}
