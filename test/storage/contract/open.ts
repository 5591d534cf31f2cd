import type { TestContext } from 'node:test'
import type { Storage } from '../../../lib/storage/port.ts'

/** Opens an empty storage for one test, and closes it after. */
export type OpenStorage = (t: TestContext) => Promise<Storage>
