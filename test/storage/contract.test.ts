import { join } from 'node:path'
import { temporaryFolder } from '../support/folder.ts'
import { openSqlite } from '../support/sqlite.ts'
import { describeStorage } from './contract.ts'

// With the driver that this Node chooses. The model test covers the other one, and memory.
describeStorage('the SQLite storage', async (t) => {
  const storage = await openSqlite(join(temporaryFolder(t), 'till.db'))
  t.after(() => storage.close())
  return storage
})
