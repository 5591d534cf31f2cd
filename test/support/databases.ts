import { type TestContext, test } from 'node:test'
import type { Storage } from '../../lib/index.ts'
import { startPostgres } from './postgres.ts'
import { onPostgres, openStorage } from './till.ts'

const server = await startPostgres()

/** Registers a test twice: on SQLite, and on PostgreSQL, where it gets the same storages. */
export function testOnEach(title: string, work: (t: TestContext) => Promise<void>): void {
  void test(title, work)
  void test(`${title}, on PostgreSQL`, (t) => onPostgres.run({ server, t }, () => work(t)))
}

/** Returns a function like `testOnEach`, whose tests get a storage with these records. */
export function testsOn(fill: (storage: Storage) => Promise<void>) {
  return (title: string, work: (storage: Storage, t: TestContext) => Promise<void>) =>
    testOnEach(title, async (t) => {
      const storage = await openStorage()
      await fill(storage)
      await work(storage, t)
    })
}
