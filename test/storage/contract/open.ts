import { type TestContext, test } from 'node:test'
import type { Storage } from '../../../lib/storage/port.ts'

/** Opens an empty storage for one test, and closes it afterwards. */
export type OpenStorage = (t: TestContext) => Promise<Storage>

/** Returns a function like `test`, whose tests get a storage with these records. */
export function testsOn(open: OpenStorage, fill: (storage: Storage) => Promise<void>) {
  return (title: string, work: (storage: Storage, t: TestContext) => Promise<void>) =>
    void test(title, async (t) => {
      const storage = await open(t)
      await fill(storage)
      await work(storage, t)
    })
}
