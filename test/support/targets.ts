import { join } from 'node:path'
import { createMemoryStorage, openSqliteStorage, type Storage } from '../../lib/index.ts'
import { sqliteDrivers } from './drivers.ts'

export interface Target {
  readonly name: string
  readonly skip: string | false
  /** Opens an empty storage; `folder` is for its files. */
  readonly make: (folder: string) => Promise<Storage>
}

/** Every kind of storage there is. */
export async function copyTargets(): Promise<Target[]> {
  const sqlite = (await sqliteDrivers()).map(({ driver, skip }) => ({
    name: `SQLite with ${driver}`,
    skip: skip ?? false,
    make: (folder: string) => openSqliteStorage(join(folder, 'till.db'), { driver }),
  }))
  return [{ name: 'memory', skip: false, make: async () => createMemoryStorage() }, ...sqlite]
}
