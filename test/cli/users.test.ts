import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { tillkit } from '../support/cli.ts'
import { createShopFile } from '../support/served.ts'

async function setUp(t: TestContext) {
  const { folder, ofStore, json, ...shop } = await createShopFile(t)
  const file = join(folder, 'purchases.csv')
  const rows = ['a,gold,2024-03-01T12:34:56Z,ann', 'b,gold,2024-03-01T12:34:56Z,bob']
  writeFileSync(file, `transaction_id,sku,purchased_at,user_id\n${rows.join('\n')}\n`)
  await json('purchases', 'import', file, ...ofStore)
  const users = async () => {
    const { purchases } = await json('purchases', 'list', ...ofStore)
    return purchases.map(({ user_id }: { user_id?: string }) => user_id)
  }
  return { ...shop, folder, json, users }
}

test('users export writes a JSON document to standard output or a file', async (t) => {
  const { folder, run, ofProject } = await setUp(t)
  const out = join(folder, 'ann.json')

  const { stdout, code } = await run('users', 'export', 'ann', ...ofProject)
  const exported = await run('users', 'export', 'ann', ...ofProject, '--out', out)

  assert.equal(code, 0)
  assert.equal(exported.stderr, `Exported the user to ${out}\n`)
  for (const text of [stdout, readFileSync(out, 'utf8')]) {
    const { user_id, purchases } = JSON.parse(text)
    assert.deepEqual([user_id, purchases.length], ['ann', 1])
  }
})

test('users erase needs --yes without a terminal, and then erases the user', async (t) => {
  const { run, json, users, ofProject } = await setUp(t)
  const erase = ['users', 'erase', 'ann', ...ofProject]

  const refused = await run(...erase)
  assert.equal(refused.code, 2)
  assert.match(refused.stderr, /confirm it with --yes/)
  assert.deepEqual(await users(), ['ann', 'bob'])

  const erased = await json(...erase, '--yes')
  assert.deepEqual([erased.purchases, erased.deleted], [1, false])
  assert.match(erased.pseudonym, /^erased:/)
  assert.deepEqual(await users(), [undefined, 'bob'])
  const deleted = await json('users', 'erase', 'bob', ...ofProject, '--yes', '--delete')
  assert.deepEqual([deleted.purchases, deleted.deleted], [1, true])
  assert.deepEqual(await users(), [undefined])
  const { code, stderr } = await run('users', 'erase', 'nobody', ...ofProject, '--yes')
  const nothing = 'Nothing is stored of this user. Check the id and --project\n'
  assert.deepEqual([code, stderr], [0, nothing])
})

test('users erase asks for the id of the user on a terminal', async (t) => {
  const { db, users, ofProject } = await setUp(t)
  const answerWith = async (input: string) => {
    const erase = ['users', 'erase', 'ann', ...ofProject, '--db', db]
    return (await tillkit(erase, { input, columns: 80 })).code
  }

  for (const wrong of ['', 'y\n', 'bob\n']) assert.equal(await answerWith(wrong), 1)
  assert.deepEqual(await users(), ['ann', 'bob'])
  assert.equal(await answerWith('ann\n'), 0)
  assert.deepEqual(await users(), [undefined, 'bob'])
})
