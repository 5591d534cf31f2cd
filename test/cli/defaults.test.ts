import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { tillkit, tillkitJson } from '../support/cli.ts'
import { temporaryFolder } from '../support/folder.ts'

const GAME = ['--name', 'Game', '--bundle-id', 'com.example.game', '--platform', 'web']

async function studio(t: TestContext) {
  const db = join(temporaryFolder(t), 'till.db')
  const run = (...args: string[]) => tillkitJson([...args, '--db', db])
  const { account_id } = await run('account', 'create', '--name', 'Studio')
  return { db, run, account_id }
}

test('with one account, no command needs --account', async (t) => {
  const { run, account_id } = await studio(t)
  const project = await run('project', 'create', ...GAME)
  assert.equal(project.account_id, account_id)
  await run('store', 'create', '--project', project.id, '--type', 'web', '--store', 'main')
  const closed = await run('store', 'update', '--store', 'main', '--status', 'disabled')
  assert.equal(closed.status, 'disabled')
  assert.deepEqual(await run('item', 'list', '--store', 'main'), [])
  assert.equal((await run('account', 'keys', 'list')).length, 1)
})

test('with no account or several, the error of a missing --account says so', async (t) => {
  const { db, run } = await studio(t)
  await run('account', 'create', '--name', 'Other')
  const several = await tillkit(['item', 'list', '--store', 'main', '--db', db])
  assert.deepEqual([several.code, several.stdout], [2, ''])
  assert.match(several.stderr, /--account ID is missing, and there are several: tillkit account li/)

  const env = { TILLKIT_DB: 'memory:' }
  const none = await tillkit(['project', 'list'], { env })
  assert.equal(none.code, 2)
  assert.match(none.stderr, /There is no account: tillkit account create --name NAME\n/)
})

test('TILLKIT_ACCOUNT and TILLKIT_STORE name the account and the store; an option wins', async (t) => {
  const { db, run, account_id } = await studio(t)
  const other = await run('account', 'create', '--name', 'Other')
  const project = await run('project', 'create', '--account', account_id, ...GAME)
  await run('store', 'create', '--project', project.id, '--type', 'web', '--store', 'main')
  const env = { TILLKIT_DB: db, TILLKIT_ACCOUNT: account_id, TILLKIT_STORE: 'main' }
  const inEnvironment = (args: string[], more = {}) =>
    tillkit([...args, '--json'], { env: { ...env, ...more } })

  const gold = ['--name', 'gold', '--display-name', 'Gold', '--price', '499']
  const created = await inEnvironment(['item', 'create', ...gold, '--type', 'consumable'])
  assert.equal(created.code, 0, created.stderr)
  const list = await inEnvironment(['item', 'list'])
  assert.equal(JSON.parse(list.stdout)[0].name, 'gold')

  const ofOther = await inEnvironment(['item', 'list', '--account', other.account_id])
  assert.deepEqual([ofOther.code, JSON.parse(ofOther.stdout).code], [1, 'invalid_request'])
  const unset = await inEnvironment(['item', 'list'], { TILLKIT_STORE: '' })
  assert.deepEqual([unset.code, JSON.parse(unset.stdout).detail], [2, '--store ID is missing'])
})

test('a command that names a project finds its account, and rejects a wrong one', async (t) => {
  const { db, run, account_id } = await studio(t)
  const other = await run('account', 'create', '--name', 'Other')
  const project = await run('project', 'create', '--account', account_id, ...GAME)
  for (const command of [
    ['project', 'show'],
    ['store', 'create', '--type', 'web'],
    ['token', 'revoke'],
  ]) {
    const args = [...command, '--project', project.id, '--db', db]
    assert.equal((await tillkit(args)).code, 0, command.join(' '))
    assert.equal((await tillkit([...args, '--account', account_id])).code, 0)
    const foreign = await tillkit([...args, '--account', other.account_id])
    assert.deepEqual([foreign.code, foreign.stdout], [1, ''], command.join(' '))
    const fromEnvironment = await tillkit(args, { env: { TILLKIT_ACCOUNT: other.account_id } })
    assert.equal(fromEnvironment.code, 1)
  }
})
