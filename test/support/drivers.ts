import { openSqliteStorage } from '../../lib/index.ts'
import { SQLITE_DRIVERS, type SqliteDriverName } from '../../lib/storage/sqlite/drivers.ts'

/** All SQLite drivers, with the reason to skip those that this Node cannot load. */
export async function sqliteDrivers(): Promise<
  { readonly driver: SqliteDriverName; readonly skip: string | false }[]
> {
  return Promise.all(SQLITE_DRIVERS.map(async (driver) => ({ driver, skip: await reason(driver) })))
}

async function reason(driver: SqliteDriverName): Promise<string | false> {
  try {
    await (await openSqliteStorage(':memory:', { driver })).close()
    return false
  } catch {
    return `${driver} does not load in Node ${process.version}`
  }
}
