import { join } from 'node:path'
import { createMemoryStorage } from '../../lib/index.ts'
import { sqliteDrivers } from '../support/drivers.ts'
import { temporaryFolder } from '../support/folder.ts'
import { openSqlite } from '../support/sqlite.ts'
import { describeStorage } from './contract.ts'

describeStorage(
  'the memory storage',
  async (t) => {
    const storage = createMemoryStorage()
    t.after(() => storage.close())
    return storage
  },
  { isDatabase: false },
)

for (const { driver, skip } of await sqliteDrivers()) {
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
