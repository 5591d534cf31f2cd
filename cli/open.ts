import { createMemoryStorage, createTill, openSqliteStorage, type Till } from '../lib/index.ts'
import type { Config } from './config.ts'

/** The till on the database that `--db` or the environment names; `create` when it may be a new one. */
export async function openTill(db: string, config: Config, create: boolean): Promise<Till> {
  const storage = db === 'memory:' ? createMemoryStorage() : await openQuietly(db, create)
  const { tokenSecret, tokenLifetime, platforms, masterKeys, lockdown } = config
  return createTill({
    storage,
    masterKeys,
    lockdown,
    ...(tokenSecret === undefined ? {} : { tokenSecret }),
    ...(tokenLifetime === undefined ? {} : { tokenLifetime }),
    ...(platforms === undefined ? {} : { platforms }),
  })
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
