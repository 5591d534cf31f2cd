import {
  createMemoryStorage,
  openSqliteStorage,
  type Storage,
  type TillOptions,
} from '../lib/index.ts'
import type { Config } from './config.ts'

/** The storage that `--db` or the environment names; `create` when it may be a new one. */
export async function openStorage(db: string, create: boolean): Promise<Storage> {
  return db === 'memory:' ? createMemoryStorage() : openQuietly(db, create)
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

// Node 22 and 24 warn that node:sqlite is experimental: true, and no news to whoever runs a command.
async function openQuietly(path: string, create: boolean) {
  const { emitWarning } = process
  process.emitWarning = () => {}
  try {
    return await openSqliteStorage(path, { create })
  } finally {
    process.emitWarning = emitWarning
  }
}
