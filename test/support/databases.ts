import { type TestContext, test } from 'node:test'
import type { Storage } from '../../lib/index.ts'
import { startPostgres } from './postgres.ts'
import { soakOnly } from './soak.ts'
import { onPostgres, openStorage } from './till.ts'

/**
 * Registers a test twice: on SQLite, and on PostgreSQL, where it gets the same storages. Only
 * `npm run soak` runs it on PostgreSQL: that takes ten times as long.
 */
export function testOnEach(title: string, work: (t: TestContext) => Promise<void>): void {
  void test(title, work)
  void test(`${title}, on PostgreSQL`, { skip: soakOnly }, async (t) => {
    const server = await postgres
    if (server) await onPostgres.run({ server, t }, () => work(t))
  })
}

const postgres = soakOnly ? undefined : startPostgres()

/** Returns a function like `testOnEach`, whose tests get a storage with these records. */
export function testsOn(fill: (storage: Storage) => Promise<void>) {
  return (title: string, work: (storage: Storage, t: TestContext) => Promise<void>) =>
    testOnEach(title, async (t) => {
      const storage = await openStorage()
      await fill(storage)
      await work(storage, t)
    })
}
