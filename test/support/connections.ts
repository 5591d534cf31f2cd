import type { TestContext } from 'node:test'
import {
  openSqliteDriver,
  type SqliteDriver,
  type SqliteDriverName,
} from '../../lib/storage/sqlite/drivers.ts'

/** Opens the database file with SQLite directly, without the adapter. */
export async function raw(
  t: TestContext,
  path: string,
  driver?: SqliteDriverName,
): Promise<SqliteDriver> {
  const db = await openSqliteDriver(path, driver)
  t.after(() => {
    try {
      db.close()
    } catch {} // closed by the test
  })
  return db
}

export function pragma(db: SqliteDriver, name: string): unknown {
  const row = db.prepare(`PRAGMA ${name}`).get() as Record<string, unknown>
  return row[name]
}

/** Collects the connections that the adapter opens from now on, to read their settings. */
export async function watchConnections(
  t: TestContext,
  driver?: SqliteDriverName,
): Promise<Set<SqliteDriver>> {
  const seen = new Set<SqliteDriver>()
  const prototype = await prototypeOf(driver)
  const { exec } = prototype
  t.mock.method(prototype, 'exec', function (this: SqliteDriver, sql: string) {
    seen.add(this)
    return exec.call(this, sql)
  })
  return seen
}

/** The prototype of a driver's connections, by default of the driver that a storage chooses. */
export async function prototypeOf(driver?: SqliteDriverName): Promise<SqliteDriver> {
  const db = openSqliteDriver(':memory:', driver)
  db.close()
  return Object.getPrototypeOf(db)
}
