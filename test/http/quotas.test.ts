import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import {
  createTill,
  DEFAULT_QUOTAS,
  openPostgresStorage,
  openSqliteStorage,
  type Quotas,
  type Storage,
  type Till,
} from '../../lib/index.ts'
import { openSqliteDriver } from '../../lib/storage/sqlite/drivers.ts'
import { newPath } from '../storage/fixtures/places.ts'
import { newStore } from '../storage/fixtures/records.ts'
import { serveProcess, tillkit, tillkitJson } from '../support/cli.ts'
import { eventuallyHolds } from '../support/eventually.ts'
import { PATIENT, rawPostgres, startPostgres } from '../support/postgres.ts'
import { serveShop } from '../support/server.ts'
import { soakOnly } from '../support/soak.ts'
import { createShop } from '../support/till.ts'

const postgres = await startPostgres()

const SILVER_FIELDS = { display_name: 'Silver', price: '1', type: 'consumable' } as const
const SILVER = { store_id: 'main', name: 'silver', ...SILVER_FIELDS } as const

const EXCEEDED = 'urn:tillkit:error:quota_exceeded'

describe('a create or change over a quota is 400 and names the quota', () => {
  const project = {
    name: 'Game',
    bundle_id: 'com.example.game',
    platform: 'mobile',
    config: { text: 'x'.repeat(100) },
  }

  async function start(t: TestContext) {
    const quotas = { projects: 2, storesPerProject: 2, configBytes: 300 }
    const { send, account_id, account_key, project_id, token } = await serveShop(t, { quotas })
    const create = (what: string, key: string, json: object) =>
      send(`POST /api/v1/${what}`, { headers: { 'idempotency-key': key }, account_key, json })
    return {
      createProject: (key: string, config: object = {}) =>
        create('projects', key, { ...project, account_id, config }),
      createStore: (key: string) => create('stores', key, { project_id, store_type: 'web' }),
      update: (change: object) =>
        send('PUT /api/v1/projects', { token, json: { id: project_id, ...change } }),
    }
  }

  function assertExceeded(reply: { status: number; text: string }, detail: string): void {
    const { type, status, detail: said, code } = JSON.parse(reply.text)
    assert.deepEqual(
      { type, status, said, code },
      { type: EXCEEDED, status: 400, said: detail, code: 'quota_exceeded' },
    )
  }

  test('projects of an account; an idempotent repeat is not counted', async (t) => {
    const { createProject } = await start(t)
    const first = await createProject('first')
    assert.equal(first.status, 200)

    assertExceeded(await createProject('second'), 'An account may have at most 2 projects')

    const again = await createProject('first')
    assert.deepEqual([again.status, again.text], [200, first.text])
  })

  test('stores of a project', async (t) => {
    const { createStore } = await start(t)
    assert.equal((await createStore('first')).status, 200)

    assertExceeded(await createStore('second'), 'A project may have at most 2 stores')
  })

  test('bytes of configuration, including changes of a project', async (t) => {
    const detail = 'The config and store_config of an account may have at most 300 bytes together'
    const { createProject, update } = await start(t)

    assertExceeded(await createProject('large', { text: 'x'.repeat(300) }), detail)
    assert.equal((await update({ config: { text: 'x'.repeat(200) } })).status, 200)
    assertExceeded(await update({ config: { text: 'x'.repeat(300) } }), detail)
    assert.equal((await update({ name: 'Renamed' })).status, 200)
    assert.equal((await update({ config: {} })).status, 200)
  })
})

test('a quota that is not a number is refused', async (t) => {
  const storage = await openSqliteStorage(newPath(t))
  t.after(() => storage.close())
  for (const [quotas, message] of [
    [{ projects: -1 }, /the quota projects must be a whole number/],
    [{ configBytes: Number.NaN }, /the quota configBytes must be/],
    [{ stores: 1 }, /createTill has no quota stores/],
  ] as const) {
    assert.throws(() => createTill({ storage, quotas: quotas as object }), {
      name: 'TypeError',
      message,
    })
  }
})

test('environment variables set the quotas of every command', async (t) => {
  const db = newPath(t)
  const { account_id } = await tillkitJson(['account', 'create', '--name', 'Studio', '--db', db])
  const create = (env: NodeJS.ProcessEnv) => {
    const named = ['--name', 'Game', '--bundle-id', 'com.example.game', '--platform', 'web']
    return tillkit(['project', 'create', '--account', account_id, ...named, '--db', db], { env })
  }

  const refused = await create({ TILLKIT_QUOTA_PROJECTS: '0' })
  assert.deepEqual([refused.code, refused.stdout], [1, ''])
  assert.match(refused.stderr, /An account may have at most 0 projects/)
  assert.match((await create({ TILLKIT_QUOTA_CONFIG: '1' })).stderr, /at most 1 bytes together/)
  assert.equal((await create({ TILLKIT_QUOTA_STORES: 'many' })).code, 2)
  assert.equal((await create({})).code, 0)
})

interface Place {
  readonly name: string
  /** A new database, as the value of `--db`. */
  readonly newDb: (t: TestContext) => Promise<string>
  readonly open: (db: string) => Promise<Storage>
  /** Runs SQL without the storage, which is faster for many records. */
  readonly run: (t: TestContext, db: string, sql: string) => Promise<unknown>
}

const places: readonly Place[] = [
  {
    name: 'SQLite',
    newDb: async (t) => newPath(t),
    open: (db) => openSqliteStorage(db),
    async run(_, db, sql) {
      const driver = await openSqliteDriver(db)
      driver.exec(sql)
      driver.close()
    },
  },
  {
    name: 'PostgreSQL',
    newDb: (t) => postgres.emptySchema(t),
    open: (db) => openPostgresStorage(db, PATIENT),
    run: async (t, db, sql) => rawPostgres(t, db).unsafe(sql),
  },
]

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
  const response = await fetch(`${url}/api/v1/identity/auth/init`, {
    method: 'POST',
    headers: { 'x-public-project-key': public_key, 'content-type': 'application/json' },
    body: '{"user_id":"player"}',
  })
  // Counts without parsing the configurations, which take 100 MiB.
  const stores = (await response.text()).split('"is_sandbox":').length - 1
  return { status: response.status, stores }
}

for (const { name, newDb, open } of places) {
  const start = async (t: TestContext, quotas: Partial<Quotas>) => {
    const storage = await open(await newDb(t))
    const till = createTill({ storage, quotas })
    t.after(() => till.close())
    return createShop(till)
  }
  const exceeded = { code: 'quota_exceeded', kind: 'invalid' }

  describe(`the quotas of rows on ${name}`, () => {
    test('an account creates as many items as its quota has, and one more is refused', async (t) => {
      const { till, account, project_id } = await start(t, { items: 40 })
      const create = (name: string, options = {}) =>
        till.items.create(account, { ...SILVER, name }, options)
      const keyed = { idempotencyKey: 'first' }
      const first = await create('first', keyed)
      for (let i = 3; i <= 40; i++) await create(`item_${i}`)

      await assert.rejects(create('more'), exceeded)
      const stores = [{ store_id: 'main', items: [{ ...SILVER_FIELDS, name: 'more' }] }]
      const apply = till.catalog.apply(account, { project_id, catalog: { stores } })
      await assert.rejects(apply, exceeded)
      assert.deepEqual(await create('first', keyed), first)
      await till.items.update(account, { id: first.id, price: '2' })
      const [near] = till.operations.nearQuotas()
      const { account_id } = account
      assert.deepEqual(near, { account_id, quota: 'items', used: 40, limit: 40 })
    })

    test('an account above its quota of purchases repeats, refunds and undoes', async (t) => {
      const { till, account } = await start(t, { purchases: 4 })
      const record = (transaction_id: string, status = 'purchased') => {
        const purchase = { transaction_id, sku: 'gold', purchased_at: '1700000000' }
        return till.purchases.record(account, { store_id: 'main', ...purchase, status } as never)
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
      assert.equal((await record('T-1')).outcome, 'skipped')
      assert.equal((await record('T-2', 'refunded')).outcome, 'updated')
      assert.equal((await importRows('T-3', 'T-4')).skipped, 2)
      const page = await till.purchases.list(account, { store_id: 'main' })
      assert.equal(page.purchases.length, 4)

      await till.imports.undo(account, { import_id, force: true })
      assert.equal((await record('T-5')).outcome, 'added')
      await importRows('T-6')
      await assert.rejects(importRows('T-7'), exceeded)
    })

    test('another process on the database counts the same rows', async (t) => {
      const quotas = { items: 40 }
      const db = await newDb(t)
      const tills = [await open(db), await open(db)].map((storage) =>
        createTill({ storage, quotas }),
      )
      t.after(() => Promise.all(tills.map((till) => till.close())))
      const { account } = await createShop(tills[0] as Till)
      for (let i = 2; i <= 40; i++) {
        await (tills[i % 2] as Till).items.create(account, { ...SILVER, name: `item_${i}` })
      }

      for (const till of tills) await assert.rejects(till.items.create(account, SILVER), exceeded)
    })
  })
}

test('serve has quotas of rows, says so at 80 %, and other commands have none', async (t) => {
  const db = newPath(t)
  const storage = await openSqliteStorage(db)
  const { account_id, account_key } = await createShop(createTill({ storage }))
  await storage.close()
  const quotas = { TILLKIT_QUOTA_ITEMS: '5', TILLKIT_QUOTA_PURCHASES: '0' }
  const { url, log } = await serveProcess(t, ['--db', db, '--port', '0', '--metrics'], quotas)
  const create = (name: string) =>
    fetch(`${url}/api/v1/items`, {
      method: 'POST',
      headers: { 'x-account-key': account_key, 'content-type': 'application/json' },
      body: JSON.stringify({ ...SILVER, name }),
    })

  for (const name of ['b', 'c', 'd', 'e']) assert.equal((await create(name)).status, 200)
  const refused = await create('f')
  assert.deepEqual(
    [refused.status, ((await refused.json()) as { code: string }).code],
    [400, 'quota_exceeded'],
  )

  const text = `Account ${account_id} has 5 of at most 5 items`
  await eventuallyHolds(() => assert.ok(log.some((line) => line.includes(text))))
  const metrics = await (await fetch(`${url}/metrics`)).text()
  assert.match(metrics, /^tillkit_accounts_near_quota\{quota="items"\} 1$/m)
  const item = ['--store', 'main', '--name', 'f', '--display-name', 'F', '--price', '1']
  const command = ['item', 'create', '--account', account_id, ...item, '--type', 'consumable']
  const { code, stderr } = await tillkit([...command, '--db', db], { env: quotas })
  assert.equal(code, 0, stderr)
})

for (const { name, newDb, open, run } of places) {
  const skip = name !== 'SQLite' && soakOnly
  describe(`a server with a small heap on ${name}`, { skip }, () => {
    test('starts with any amount of data, and opens a session of a project over its quota', async (t) => {
      const db = await newDb(t)
      const storage = await open(db)
      const { account_id, project_id, public_key } = await createShop(createTill({ storage }))
      await storage.close()
      await run(t, db, fillSql(account_id, project_id, LARGE))

      const { url, child } = await serve(t, db, 80)

      assert.deepEqual(await init(url, public_key), { status: 200, stores: LARGE + 1 })
      assert.equal(child.exitCode, null)
    })

    test('survives 150 simultaneous sessions of a project at its quota', async (t) => {
      const db = await newDb(t)
      const storage = await open(db)
      const till = createTill({ storage })
      const { account, project_id, public_key, account_id } = await createShop(till)
      const fields = { account_id, project_id, status: 's'.repeat(64) }
      const { storesPerProject } = DEFAULT_QUOTAS
      for (let i = 1; i < storesPerProject; i++) {
        await storage.insertStore(newStore(`${i}`.padStart(64, 's'), fields))
      }
      const another = { project_id, store_type: 'web' } as const
      await assert.rejects(till.stores.create(account, another), { code: 'quota_exceeded' })
      await storage.close()
      const { url, child } = await serve(t, db, 64)

      const answers = await Promise.all(Array.from({ length: 150 }, () => init(url, public_key)))

      // With a slow database some wait too long for a connection.
      const full = { status: 200, stores: storesPerProject }
      for (const each of answers) if (each.status !== 503) assert.deepEqual(each, full)
      assert.deepEqual(await init(url, public_key), full)
      assert.equal(child.exitCode, null)
    })
  })
}
