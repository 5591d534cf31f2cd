import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { tillkit, tillkitJson, tillkitProcess } from '../support/cli.ts'
import { temporaryFolder } from '../support/folder.ts'
import { startPostgres } from '../support/postgres.ts'
import { soakOnly } from '../support/soak.ts'

const FIRST = ['--project', 'Game', '--bundle-id', 'com.example.game', '--platform', 'web']
const ACCOUNT = ['account', 'create', '--name', 'Studio', '--if-missing']

test('a script with --if-missing can run again, and gets the same records', async (t) => {
  const db = join(temporaryFolder(t), 'till.db')
  const run = (...args: string[]) => tillkit([...args, '--db', db])
  const json = (...args: string[]) => tillkitJson([...args, '--db', db])

  const account = await json(...ACCOUNT)
  const game = ['project', 'create', '--name', 'Game', ...FIRST.slice(2), '--if-missing']
  const project = await json(...game)
  const store = ['store', 'create', '--project', project.id, '--store', 'main', '--if-missing']
  const created = await json(...store, '--type', 'web')

  const again = await run(...ACCOUNT, '--json')
  const { account_key, key_id: _, ...rest } = account
  assert.match(account_key, /^ak_/)
  assert.deepEqual([again.code, JSON.parse(again.stdout)], [0, rest])
  assert.equal(
    again.stderr,
    'The account exists already, and was not changed\nIts key was shown only once. ' +
      `To make another: tillkit account keys add --account ${rest.account_id} --db ${db}\n`,
  )
  const plain = await run(...ACCOUNT, ...FIRST)
  assert.match(plain.stdout, new RegExp(`^account_id +${rest.account_id}\n.*project_id`, 's'))
  assert.ok(plain.stdout.includes(project.public_key) && !plain.stdout.includes('ak_'))

  const other = await run(...game, '--name', 'Game 2', '--json')
  assert.deepEqual([other.code, JSON.parse(other.stdout)], [0, project])
  assert.equal(
    other.stderr,
    'The project exists already, and was not changed; it has another name\n',
  )

  const same = await run(...store, '--type', 'iap', '--json')
  assert.deepEqual([same.code, JSON.parse(same.stdout)], [0, created])
  assert.match(same.stderr, /^The store exists .*; it has another store_type\n$/)

  assert.equal((await json('account', 'list')).accounts.length, 1)
  assert.equal((await json('project', 'list')).projects.length, 1)
})

test('--if-missing creates the first project that an interrupted run left out', async (t) => {
  const db = join(temporaryFolder(t), 'till.db')
  const { account_id } = await tillkitJson([...ACCOUNT, '--db', db])
  const { project } = await tillkitJson([...ACCOUNT, ...FIRST, '--db', db])
  assert.deepEqual([project.account_id, project.bundle_id], [account_id, 'com.example.game'])
})

test('--if-missing refuses a store of another project, and one without an id', async (t) => {
  const db = join(temporaryFolder(t), 'till.db')
  await tillkitJson([...ACCOUNT, '--db', db])
  const projectOf = (bundle: string) =>
    tillkitJson(
      `project create --name G --platform web --bundle-id ${bundle} --db ${db}`.split(' '),
    )
  const [one, two] = [await projectOf('com.example.one'), await projectOf('com.example.two')]
  const create = (id: string, ...more: string[]) =>
    tillkit(['store', 'create', '--project', id, '--type', 'web', ...more, '--db', db])
  await create(one.id, '--store', 'main')

  const taken = await create(two.id, '--store', 'main', '--if-missing')
  const without = await create(two.id, '--if-missing')

  assert.equal(taken.code, 1)
  assert.match(taken.stderr, /--store is taken in this account/)
  assert.equal(without.code, 2)
  assert.match(without.stderr, /--if-missing needs --store ID/)
})

test('processes that create the same at once get one of each', async (t) => {
  await createAtOnce(join(temporaryFolder(t), 'till.db'))
})

test('processes that create the same at once get one of each, on PostgreSQL', {
  skip: soakOnly,
}, async (t) => {
  const server = await startPostgres()
  await createAtOnce(await server.createSchema(t))
})

async function createAtOnce(db: string): Promise<void> {
  const runAll = (args: readonly string[]) =>
    Promise.all(
      Array.from({ length: 4 }, async () => {
        const { code, stdout, stderr } = await tillkitProcess([...args, '--json'], {
          env: { TILLKIT_DB: db },
        })
        assert.equal(code, 0, stderr)
        return JSON.parse(stdout)
      }),
    )
  const distinct = (values: readonly unknown[]) => new Set(values).size
  await tillkitJson(['account', 'create', '--name', 'Other', '--db', db])

  const accounts = await runAll(ACCOUNT)
  const account = ['--account', accounts[0].account_id]
  const game = ['--name', 'Game', ...FIRST.slice(2), '--if-missing']
  const projects = await runAll(['project', 'create', ...account, ...game])
  const store = ['--project', projects[0].id, '--type', 'web', '--store', 'main', '--if-missing']
  const stores = await runAll(['store', 'create', ...store])

  assert.equal(distinct(accounts.map(({ account_id }) => account_id)), 1)
  assert.equal(accounts.filter(({ account_key }) => account_key).length, 1, 'one gets the key')
  assert.equal(distinct(projects.map(({ id }) => id)), 1)
  assert.equal(distinct(stores.map(({ created_at }) => created_at)), 1)
  assert.equal((await tillkitJson(['account', 'list', '--db', db])).accounts.length, 2)
}
