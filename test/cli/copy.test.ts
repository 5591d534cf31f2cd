import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { tillkit, tillkitJson } from '../support/cli.ts'
import { createShopFile } from '../support/served.ts'

test('copy copies all data into another file, but not into one with data', async (t) => {
  const { db: from, folder, account_id } = await createShopFile(t)
  const to = join(folder, 'to.db')

  const copied = await tillkitJson(['copy', '--from', from, '--to', to])
  assert.equal(copied.accounts, 1)
  assert.match(copied.checksum, /^[0-9a-f]{64}$/)
  const { accounts } = await tillkitJson(['account', 'list', '--db', to])
  assert.equal(accounts[0].account_id, account_id)

  const back = await tillkit(['copy', '--from', to, '--to', from])
  assert.equal(back.code, 1)
  assert.match(back.stderr, /The new database is not empty/)
  assert.equal((await tillkit(['copy', '--from', from, '--to', from])).code, 2)
})
