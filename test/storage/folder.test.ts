import assert from 'node:assert/strict'
import fs, { readFileSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { createMemoryStorage } from '../../lib/index.ts'
import { temporaryFolder } from '../support/folder.ts'
import { newEntry } from './fixtures/writes.ts'

for (const code of ['EPERM', 'EINVAL']) {
  test(`an archive succeeds when fsync of its directory is not supported: ${code}`, async (t) => {
    const storage = createMemoryStorage()
    await storage.insertAudit({ audit: newEntry({ at: '2024-01-01T00:00:00.000Z' }) })
    const file = join(temporaryFolder(t), 'audit.jsonl')
    refuseToSyncFolders(t, code)

    const archived = await storage.archiveAudit({ before: '2024-02-01T00:00:00.000Z', file })

    assert.equal(archived, 1)
    assert.equal(readFileSync(file, 'utf8').split('\n').length, 2)
  })
}

test('an archive fails and deletes nothing when fsync of its directory fails', async (t) => {
  const storage = createMemoryStorage()
  await storage.insertAudit({ audit: newEntry({ at: '2024-01-01T00:00:00.000Z' }) })
  const file = join(temporaryFolder(t), 'audit.jsonl')
  refuseToSyncFolders(t, 'EIO')

  const refused = storage.archiveAudit({ before: '2024-02-01T00:00:00.000Z', file })

  await assert.rejects(refused, { code: 'invalid_request' })
  assert.equal((await storage.listAudit(undefined, { limit: 10 })).entries.length, 1)
})

/** Makes fsync fail, as Windows does for a directory. */
function refuseToSyncFolders(t: TestContext, code: string): void {
  const sync = fs.fsyncSync
  const mocked = t.mock.method(fs, 'fsyncSync', (fd: number) => {
    if (!fs.fstatSync(fd).isDirectory()) return sync(fd)
    throw Object.assign(new Error(`${code}: fsync`), { code })
  })
  syncBuiltinESMExports()
  t.after(() => {
    mocked.mock.restore()
    syncBuiltinESMExports()
  })
}
