import type { TestContext } from 'node:test'
import type { Storage } from '../../../lib/storage/port.ts'

/** Opens an empty storage for one test, and closes it afterwards. */
export type OpenStorage = (t: TestContext) => Promise<Storage>
