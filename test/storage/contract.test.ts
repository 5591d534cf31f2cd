import { join } from 'node:path'
import { createMemoryStorage } from '../../lib/index.ts'
import { sqliteDrivers } from '../support/drivers.ts'
import { temporaryFolder } from '../support/folder.ts'
import { openSqlite } from '../support/sqlite.ts'
import { describeMemory, describeStorage } from './contract.ts'

for (const { driver, skip } of await sqliteDrivers()) {
  describeMemory(
    `the memory storage with ${driver}`,
    async (t) => {
      const storage = createMemoryStorage({ driver })
      t.after(() => storage.close())
      return storage
    },
    { skip },
  )
  describeStorage(
    `the SQLite storage with ${driver}`,
    async (t) => {
      const path = join(temporaryFolder(t), 'till.db')
      const storage = await openSqlite(path, { driver })
      t.after(() => storage.close())
      return storage
    },
    { skip },
  )
}
