import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { createMemoryStorage, type Storage } from '../../lib/index.ts'
import { sqliteDrivers } from './drivers.ts'
import { temporaryFolder } from './folder.ts'
import { startPostgres } from './postgres.ts'
import { openSqlite } from './sqlite.ts'

export interface Target {
  readonly name: string
  readonly skip: string | false
  /** Opens an empty storage, which is closed after the test. */
  readonly open: (t: Pick<TestContext, 'after'>) => Promise<Storage>
}

/** Every kind of storage. Starts a PostgreSQL for the test file. */
export async function allTargets(): Promise<Target[]> {
  const postgres = await startPostgres()
  const sqlite = (await sqliteDrivers()).map(({ driver, skip }) => ({
    name: `SQLite with ${driver}`,
    skip,
    make: (t: Pick<TestContext, 'after'>) =>
      openSqlite(join(temporaryFolder(t), 'till.db'), { driver }),
  }))
  const targets = [
    { name: 'memory', skip: false as const, make: async () => createMemoryStorage() },
    ...sqlite,
    { name: 'PostgreSQL', skip: false as const, make: postgres.openEmpty },
  ]
  return targets.map(({ make, ...target }) => ({
    ...target,
    async open(t) {
      const storage = await make(t)
      t.after(() => storage.close())
      return storage
    },
  }))
}
