import { createMemoryStorage, createTill, openSqliteStorage, type Till } from '../lib/index.ts'
import type { Config } from './config.ts'

/** The till on the database that `--db` or the environment names. */
export async function openTill(db: string, config: Config): Promise<Till> {
  const storage = db === 'memory:' ? createMemoryStorage() : await openQuietly(db)
  const { tokenSecret, tokenLifetime, platforms } = config
  return createTill({
    storage,
    ...(tokenSecret === undefined ? {} : { tokenSecret }),
    ...(tokenLifetime === undefined ? {} : { tokenLifetime }),
    ...(platforms === undefined ? {} : { platforms }),
  })
}

// Node 22 and 24 warn that node:sqlite is experimental: true, and no news to whoever runs a command.
async function openQuietly(path: string) {
  const { emitWarning } = process
  process.emitWarning = () => {}
  try {
    return await openSqliteStorage(path)
  } finally {
    process.emitWarning = emitWarning
  }
}
