import {
  createMemoryStorage,
  openPostgresStorage,
  openSqliteStorage,
  type Storage,
  type TillOptions,
} from '../lib/index.ts'
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
  return isPostgres(db) ? openPostgresStorage(db, opening) : openQuietly(db, opening)
}

export function isPostgres(db: string): boolean {
  return /^postgres(ql)?:\/\//.test(db)
}

/** What the environment sets of a till. */
export function tillOptions(config: Config): Omit<TillOptions, 'storage'> {
  const { tokenSecret, tokenLifetime, platforms, masterKeys, lockdown } = config
  return {
    masterKeys,
    lockdown,
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
