// run: early
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { createTill, DEFAULT_QUOTAS, openSqliteStorage } from '../../lib/index.ts'
import { openSqliteDriver } from '../../lib/storage/sqlite/drivers.ts'
import { serveHere, serveProcess, tillkit } from '../support/cli.ts'
import { eventuallyHolds } from '../support/eventually.ts'
import { createClient, serveShop } from '../support/server.ts'
import { newPath } from '../support/storage/places.ts'
import { newStore } from '../support/storage/records.ts'
import { createShop } from '../support/till.ts'

test('a create or change over a quota is 400 and names the quota; an idempotent repeat is not counted', async (t) => {
  const quotas = { projects: 2, storesPerProject: 2, configBytes: 300 }
  const { send, account_id, account_key, project_id, token } = await serveShop(t, { quotas })
  const create = (what: string, key: string, json: object) =>
    send(`POST /api/v1/${what}`, { headers: { 'idempotency-key': key }, account_key, json })
  const project = { account_id, name: 'Game', bundle_id: 'com.example.game', platform: 'mobile' }
  const store = { project_id, store_type: 'web' }
  const large = { config: { text: 'x'.repeat(300) } }
  const bytes = 'The config and store_config of an account may have at most 300 bytes together'
  const config = await create('projects', 'large', { ...project, ...large })
  const first = await create('projects', 'first', project)
  const stored = await create('stores', 'first store', store)
  assert.equal(stored.status, 200, stored.text)

  for (const [reply, expected] of [
    [config, bytes],
    [await send('PUT /api/v1/projects', { token, json: { id: project_id, ...large } }), bytes],
    [await create('projects', 'second', project), 'An account may have at most 2 projects'],
    [await create('stores', 'second', store), 'A project may have at most 2 stores'],
  ] as const) {
    const { type, status, detail } = JSON.parse(reply.text)
    assert.deepEqual([status, detail], [400, expected])
    assert.equal(type, 'urn:tillkit:error:quota_exceeded')
  }
  const again = await create('projects', 'first', project)
  assert.deepEqual([again.status, again.text], [200, first.text])
})

test('an account above its quota of purchases repeats, refunds and undoes', async () => {
  const { till, account } = await createShop({ quotas: { purchases: 4 } })
  const exceeded = { code: 'quota_exceeded' }
  const record = (transaction_id: string, status: 'purchased' | 'refunded' = 'purchased') => {
    const purchase = { transaction_id, sku: 'gold', purchased_at: '1700000000', status }
    return till.purchases.record(account, { store_id: 'main', ...purchase })
  }
  const importRows = (...ids: string[]) => {
    const rows = ids.map((id) => `${id},gold,1700000000`)
    const file = [Buffer.from(['transaction_id,sku,purchased_at', ...rows].join('\n'))]
    return till.purchases.import(account, { store_id: 'main', file })
  }
  await record('T-1')
  await record('T-2')
  await assert.rejects(importRows('T-1', 'T-3', 'T-4', 'T-5'), exceeded)
  const { import_id } = await importRows('T-3', 'T-4')

  await assert.rejects(record('T-5'), exceeded)
  await assert.rejects(importRows('T-5'), exceeded)
  const file = [Buffer.from('transaction_id,sku,purchased_at\nT-5,gold,1700000000')]
  const trial = till.purchases.import(account, { store_id: 'main', file, dryRun: true })
  await assert.rejects(trial, exceeded)
  assert.equal((await record('T-1')).outcome, 'skipped')
  assert.equal((await record('T-2', 'refunded')).outcome, 'updated')
  assert.equal((await importRows('T-3', 'T-4')).skipped, 2)

  await till.imports.undo(account, { import_id, force: true })
  assert.equal((await record('T-5')).outcome, 'added')
})

test('serve has quotas of rows, says so at 80 %, and other commands have only those of configuration', async (t) => {
  const db = newPath(t)
  const storage = await openSqliteStorage(db)
  const { account_id, account_key } = await createShop(createTill({ storage }))
  await storage.close()
  const env = {
    TILLKIT_QUOTA_ITEMS: '5',
    TILLKIT_QUOTA_PURCHASES: '0',
    TILLKIT_QUOTA_PROJECTS: '1',
  }
  const args = ['--db', db, '--port', '0', '--metrics', '--no-webhooks']
  const { url, log } = await serveHere(t, args, env)
  const send = createClient(url)
  const create = (name: string, headers: { readonly [name: string]: string } = {}) => {
    const item = { store_id: 'main', name, display_name: 'Silver', price: '1', type: 'consumable' }
    return send('POST /api/v1/items', { headers, account_key, json: item })
  }

  for (const name of ['b', 'c', 'd']) assert.equal((await create(name)).status, 200)
  const once = { 'idempotency-key': 'once' }
  const last = await create('e', once)
  assert.match((await create('f')).text, /"quota_exceeded"/)
  const again = await create('e', once)
  assert.deepEqual([again.status, again.text], [200, last.text])

  const text = `Account ${account_id} has 5 of at most 5 items`
  await eventuallyHolds(() => assert.ok(log.some((line) => line.includes(text))))
  const { text: metrics } = await send('GET /metrics')
  assert.match(metrics, /^tillkit_accounts_near_quota\{quota="items"\} 1$/m)
  const run = (line: string) => tillkit([...line.split(' '), '--db', db], { env })
  const item = '--name f --display-name F --price 1 --type consumable'
  assert.equal((await run(`item create --store main ${item}`)).code, 0)
  const project = await run(
    'project create --name Game --bundle-id com.example.game --platform web',
  )
  assert.equal(project.code, 1)
  assert.match(project.stderr, /An account may have at most 1 projects/)
})

/** So many texts take more than the heap of 80 MiB when parsed. */
const LARGE = 80
/** 64 KiB as JSON, and about 20 times as much in memory: 1.3 MiB. */
const EXPANDING = JSON.stringify({ list: Array(21_000).fill({}) })

/** SQL for this many projects, and stores of one of them, with 64 KiB each. */
function fillSql(account_id: string, project_id: string, count: number): string {
  const numbers = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${count})`
  return `
    INSERT INTO projects (id, account_id, name, bundle_id, platform, status, dlscheme, public_key,
      config, created_at)
    ${numbers} SELECT 'prj_' || i, '${account_id}', '', '', '', '', '', 'pk_' || i, '${EXPANDING}', ''
    FROM n;
    INSERT INTO stores (account_id, project_id, store_id, store_type, is_sandbox, status,
      store_config, created_at)
    ${numbers} SELECT '${account_id}', '${project_id}', 'large_' || i, 'web', FALSE, 'active',
      '${EXPANDING}', '' FROM n;`
}

const serve = (t: TestContext, db: string, heap: number) =>
  serveProcess(t, ['--db', db, '--port', '0', '--log', 'errors', '--no-webhooks'], {
    NODE_OPTIONS: `--max-old-space-size=${heap}`,
  })

async function init(url: string, public_key: string) {
  const parts = { public_key, json: { user_id: 'player' } }
  const { status, text } = await createClient(url)('POST /api/v1/identity/auth/init', parts)
  // Counts without parsing the configurations, which take 100 MiB.
  return { status, stores: text.split('"is_sandbox":').length - 1 }
}

test('with a small heap, a server starts with any amount of data, and opens a session of a project over its quota', async (t) => {
  const db = newPath(t)
  const storage = await openSqliteStorage(db)
  const { account_id, project_id, public_key } = await createShop(createTill({ storage }))
  await storage.close()
  const driver = await openSqliteDriver(db)
  driver.exec(fillSql(account_id, project_id, LARGE)) // faster than the storage
  driver.close()

  const { url, child } = await serve(t, db, 80)

  assert.deepEqual(await init(url, public_key), { status: 200, stores: LARGE + 1 })
  assert.equal(child.exitCode, null)
})

test('a small heap survives 150 simultaneous sessions of a project at its quota', async (t) => {
  const db = newPath(t)
  const storage = await openSqliteStorage(db)
  const { project_id, public_key, account_id } = await createShop(createTill({ storage }))
  const fields = { account_id, project_id, status: 's'.repeat(64) }
  const { storesPerProject } = DEFAULT_QUOTAS
  for (let i = 1; i < storesPerProject; i++) {
    await storage.insertStore(newStore(`${i}`.padStart(64, 's'), fields))
  }
  await storage.close()
  const { url, child } = await serve(t, db, 64)

  const answers = await Promise.all(Array.from({ length: 150 }, () => init(url, public_key)))

  for (const each of answers) assert.deepEqual(each, { status: 200, stores: storesPerProject })
  assert.equal(child.exitCode, null)
})
