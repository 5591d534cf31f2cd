import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { tillkit, tillkitJson } from '../support/cli.ts'
import { temporaryFolder } from '../support/folder.ts'
import { startPostgres } from '../support/postgres.ts'

const _postgres = await startPostgres()

test('copy copies all data into another file, but not into one with other data', async (t) => {
  const folder = temporaryFolder(t)
  const [from, to] = [join(folder, 'from.db'), join(folder, 'to.db')]
  const account = await tillkitJson(['account', 'create', '--name', 'Studio', '--db', from])

  const copied = await tillkitJson(['copy', '--from', from, '--to', to])
  assert.equal(copied.accounts, 1)
  assert.match(copied.checksum, /^[0-9a-f]{64}$/)
  assert.deepEqual(await tillkitJson(['copy', '--from', from, '--to', to]), copied)
  const [listed] = await tillkitJson(['account', 'list', '--db', to])
  assert.equal(listed.account_id, account.account_id)

  await tillkitJson(['account', 'create', '--name', 'Other', '--db', from])
  const back = await tillkit(['copy', '--from', to, '--to', from])
  assert.equal(back.code, 1)
  assert.match(back.stderr, /holds other accounts/)
  const same = await tillkit(['copy', '--from', from, '--to', from])
  assert.equal(same.code, 2)
  const missing = await tillkit(['copy', '--from', `${from}x`, '--to', to])
  assert.equal(missing.code, 1)
})
