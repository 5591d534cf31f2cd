import {
  createMemoryStorage,
  openPostgresStorage,
  openSqliteStorage,
  type Storage,
  type TillOptions,
} from '../lib/index.ts'
import { explained } from './access.ts'
import { UsageError } from './command.ts'
import type { Config } from './config.ts'

interface Opening {
  /** Whether it may be a new one. */
  readonly create: boolean
  /** Whether it may be a copy that was cut off. */
  readonly forCopy?: boolean
}

/** The storage that `--db` or the environment names. */
export async function openStorage(db: string, opening: Opening): Promise<Storage> {
  if (db === 'memory:') return createMemoryStorage()
  if (isPostgres(db)) return openPostgresStorage(db, opening)
  const [url] = /^[a-z][a-z\d+.-]+:\/\//i.exec(db) ?? []
  // Not the whole of it: there may be a password in it.
  if (url) throw new UsageError(`${url}… is no database: take a file, postgres://… or memory:`)
  try {
    return await openQuietly(db, opening)
  } catch (error) {
    throw explained(error, db)
  }
}

export function isPostgres(db: string): boolean {
  return /^postgres(ql)?:\/\//.test(db)
}

/** Whether a database is a file, not a server nor memory. */
export function isFile(db: string): boolean {
  return db !== 'memory:' && !isPostgres(db)
}

/** What the environment sets of a till. */
export function tillOptions(config: Config): Omit<TillOptions, 'storage'> {
  const { tokenSecret, tokenLifetime, platforms, masterKeys, lockdown, quotas } = config
  return {
    masterKeys,
    lockdown,
    quotas,
    ...(tokenSecret === undefined ? {} : { tokenSecret }),
    ...(tokenLifetime === undefined ? {} : { tokenLifetime }),
    ...(platforms === undefined ? {} : { platforms }),
  }
}

// Node 22 and 24 warn that node:sqlite is experimental: true, and no news to whoever runs a
// command.
async function openQuietly(path: string, opening: Opening) {
  const { emitWarning } = process
  process.emitWarning = () => {}
  try {
    return await openSqliteStorage(path, opening)
  } finally {
    process.emitWarning = emitWarning
  }
}
