import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { run } from '../../cli/run.ts'
import { createIo, tillkit, tillkitJson } from '../support/cli.ts'
import { temporaryFolder } from '../support/folder.ts'

async function shop(t: TestContext) {
  const folder = temporaryFolder(t)
  const db = ['--db', join(folder, 'till.db')]
  const json = (...args: string[]) => tillkitJson([...args, ...db])
  const { account_id } = await json('account', 'create', '--name', 'Studio')
  const game = ['--name', 'Game', '--bundle-id', 'com.example.game', '--platform', 'web']
  const project = await json('project', 'create', '--account', account_id, ...game)
  const ofStore = ['--account', account_id, '--store', 'main']
  await json('store', 'create', ...ofStore, '--project', project.id, '--type', 'web')
  const gold = ['--name', 'gold', '--display-name', 'Gold', '--price', '499']
  await json('item', 'create', ...ofStore, ...gold, '--type', 'consumable')
  const file = join(folder, 'purchases.csv')
  const rows = ['a,gold,2024-03-01T12:34:56Z,ann', 'b,gold,2024-03-01T12:34:56Z,bob']
  writeFileSync(file, `transaction_id,sku,purchased_at,user_id\n${rows.join('\n')}\n`)
  await json('purchases', 'import', file, ...ofStore)
  const users = async () => {
    const { purchases } = await json('purchases', 'list', ...ofStore)
    return purchases.map(({ user_id }: { user_id?: string }) => user_id)
  }
  return { folder, db, json, users, ofProject: ['--project', project.id] }
}

test('users export writes a JSON document to standard output or a file', async (t) => {
  const { folder, db, ofProject } = await shop(t)
  const out = join(folder, 'ann.json')

  const { stdout, code } = await tillkit(['users', 'export', 'ann', ...ofProject, ...db])
  const exported = await tillkit(['users', 'export', 'ann', ...ofProject, ...db, '--out', out])

  assert.equal(code, 0)
  assert.equal(exported.stderr, `Exported the user to ${out}\n`)
  for (const text of [stdout, readFileSync(out, 'utf8')]) {
    const { user_id, purchases } = JSON.parse(text)
    assert.deepEqual([user_id, purchases.length], ['ann', 1])
  }
})

test('users erase needs --yes without a terminal, and then erases the user', async (t) => {
  const { db, json, users, ofProject } = await shop(t)
  const erase = ['users', 'erase', 'ann', ...ofProject]

  const refused = await tillkit([...erase, ...db])
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
})

test('users erase asks for the id of the user on a terminal', async (t) => {
  const { db, users, ofProject } = await shop(t)
  const answerWith = async (input: string) => {
    const io = createIo({ input, columns: 80 })
    Object.assign(io.stdin, { isTTY: true })
    for (const stream of [io.stdout, io.stderr]) stream.on('data', () => {})
    return run(['users', 'erase', 'ann', ...ofProject, ...db], io, {})
  }

  for (const wrong of ['', 'y\n', 'bob\n']) assert.equal(await answerWith(wrong), 1)
  assert.deepEqual(await users(), ['ann', 'bob'])
  assert.equal(await answerWith('ann\n'), 0)
  assert.deepEqual(await users(), [undefined, 'bob'])
})
