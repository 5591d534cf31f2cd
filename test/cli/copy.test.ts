import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { tillkit, tillkitJson } from '../support/cli.ts'
import { createShopFile } from '../support/served.ts'

test('copy copies all data into another file, but not into one with other data', async (t) => {
  const { db: from, folder, account_id, json } = await createShopFile(t)
  const to = join(folder, 'to.db')

  const copied = await tillkitJson(['copy', '--from', from, '--to', to])
  assert.equal(copied.accounts, 1)
  assert.match(copied.checksum, /^[0-9a-f]{64}$/)
  assert.deepEqual(await tillkitJson(['copy', '--from', from, '--to', to]), copied)
  const [listed] = await tillkitJson(['account', 'list', '--db', to])
  assert.equal(listed.account_id, account_id)

  await json('account', 'create', '--name', 'Other')
  const back = await tillkit(['copy', '--from', to, '--to', from])
  assert.equal(back.code, 1)
  assert.match(back.stderr, /holds other accounts/)
  assert.equal((await tillkit(['copy', '--from', from, '--to', from])).code, 2)
})
