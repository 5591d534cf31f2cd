import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { serve } from '../../http/index.ts'
import {
  createTill,
  openPostgresStorage,
  openSqliteStorage,
  type Storage,
} from '../../lib/index.ts'
import { collect } from '../support/collect.ts'
import { sqliteDrivers } from '../support/drivers.ts'
import { eventuallyHolds } from '../support/eventually.ts'
import { PATIENT, rawPostgres, startPostgres } from '../support/postgres.ts'
import { newPath } from './fixtures/sqlite.ts'

// The databases were made by version 0.1.0: see fixtures/version-0.1.mjs.
const fixture = (name: string) => readFileSync(join('test/storage/fixtures', name))
const server = await startPostgres()

const places: readonly {
  readonly name: string
  readonly skip: string | false
  readonly facts: 'sqlite' | 'postgres'
  readonly open: (t: TestContext) => Promise<() => Promise<Storage>>
}[] = [
  ...(await sqliteDrivers()).map(({ driver, skip }) => ({
    name: `SQLite with ${driver}`,
    skip,
    facts: 'sqlite' as const,
    async open(t: TestContext) {
      const path = newPath(t)
      writeFileSync(path, gunzipSync(fixture('version-0.1.db.gz')))
      return () => openSqliteStorage(path, { driver, create: false })
    },
  })),
  {
    name: 'PostgreSQL',
    skip: false,
    facts: 'postgres',
    async open(t: TestContext) {
      const url = await server.createDatabase(t)
      await rawPostgres(t, url).unsafe(fixture('version-0.1.sql').toString())
      return () => openPostgresStorage(url, PATIENT)
    },
  },
]

for (const { name, skip, facts, open } of places) {
  const known = JSON.parse(fixture(`version-0.1.${facts}.json`).toString())

  const openOld = async (t: TestContext) => {
    const storage = await (await open(t))()
    let time = Date.parse(known.at)
    const masterKeys = [Buffer.from(known.master_key, 'hex')]
    const till = createTill({ storage, masterKeys, now: () => ++time })
    t.after(() => till.close())
    return { till, account: await till.accounts.authenticate(known.account_key) }
  }

  describe(`a database of version 0.1 in ${name}`, { skip }, () => {
    test('is sound after the migration, and migrates only once', async (t) => {
      const reopen = await open(t)
      for (let i = 0; i < 2; i++) {
        const storage = await reopen()
        assert.deepEqual(await storage.check(), [])
        await storage.close()
      }
    })

    test('has an endpoint for its webhook_url, which starts at the newest entry', async (t) => {
      const { till, account } = await openOld(t)
      const { endpoints } = await till.webhooks.list(account)
      assert.deepEqual(
        endpoints.map(({ url, state, lag }) => ({ url, state, lag })),
        [{ url: 'https://a.example/', state: 'active', lag: 0 }],
      )
      const [endpoint] = endpoints
      await till.webhooks.test(account, endpoint?.endpoint_id as string)
      await eventuallyHolds(async () => {
        const { messages } = await till.outbox.claim({ holder: 'one' })
        assert.ok(messages[0]?.headers['webhook-signature'])
      })
    })

    test('keeps accounts, keys, projects, stores, items and sealed secrets', async (t) => {
      const { till, account } = await openOld(t)
      const accounts = await collect(till.accounts.all())
      assert.deepEqual(
        accounts.map((each) => each.name),
        ['Studio', 'Other'],
      )
      const revoked = till.accounts.authenticate(known.revoked_account_key)
      await assert.rejects(revoked, { code: 'account_key_required' })

      const { webhook_secret: _, ...config } = known.project.config
      const project = { ...known.project, public_key: known.public_key, config }
      assert.deepEqual(await collect(till.projects.all(account)), [project])
      const stores = await collect(till.stores.all(account, { project_id: project.id }))
      assert.deepEqual(stores[0], known.store)
      assert.deepEqual(
        stores.map(({ store_id, is_sandbox }) => [store_id, is_sandbox]),
        [
          ['main', false],
          ['side', true],
        ],
      )
      const [gold, dragon] = await collect(till.items.all(account, { store_id: 'main' }))
      assert.deepEqual(gold, { ...known.item, version: 1 })
      assert.equal(dragon?.name, 'dragon')
      assert.deepEqual(await till.operations.listUnreadableSecrets(), [])
    })

    test('keeps idempotency records: a repeated call answers the first record', async (t) => {
      const { till, account } = await openOld(t)
      const repeat = { idempotencyKey: 'item-1' }
      const item = await till.items.create(account, known.gold, repeat)
      assert.deepEqual(item, { ...known.item, version: 1 })
      const { account_id, name, bundle_id, platform, config } = known.project
      const game = { account_id, name, bundle_id, platform, config }
      const project = await till.projects.create(account, game, { idempotencyKey: 'project-1' })
      assert.equal(project.id, known.project.id)
      const changed = till.items.create(account, { ...known.gold, price: '500' }, repeat)
      await assert.rejects(changed, { code: 'invalid_request' })
    })

    test('keeps public keys with their grace period, tokens and revocations', async (t) => {
      const { till } = await openOld(t)
      for (const key of [known.public_key, known.former_public_key]) {
        const { session } = await till.sessions.init(key, { user_id: 'player-3' })
        const { user_id } = await till.sessions.authenticate(session.token)
        assert.equal(user_id, 'player-3')
      }
      const { user_id } = await till.sessions.authenticate(known.valid_token)
      assert.equal(user_id, 'player-2')
      const revoked = till.sessions.authenticate(known.revoked_token)
      await assert.rejects(revoked, { code: 'token_required' })
      const again = await till.sessions.token(known.public_key, { user_id: 'player-1' })
      assert.equal((await till.sessions.authenticate(again.token)).user_id, 'player-1')
    })

    test('keeps purchases, and an import adds to them', async (t) => {
      const { till, account } = await openOld(t)
      const list = async () => {
        const { purchases } = await till.purchases.list(account, { store_id: 'main' })
        return purchases.map(({ transaction_id, status }) => `${transaction_id} ${status}`)
      }
      assert.deepEqual(await list(), ['T-1 purchased', 'T-2 refunded', 'T-3 pending'])
      const { purchases } = await till.purchases.list(account, { store_id: 'main' })
      const { purchased_at, user_id, quantity, price, metadata } = purchases[0] ?? {}
      assert.deepEqual(
        [purchased_at, user_id, quantity, price, metadata],
        ['2025-12-24T18:00:00.000Z', 'player-1', 2, 998, { shop: 'web' }],
      )

      const header = 'transaction_id,sku,purchased_at,user_id,quantity,price,currency,metadata'
      const file = async function* () {
        yield Buffer.from(`${header}
T-1,gold_100,2025-12-24T18:00:00Z,player-1,2,998,USD,"{""shop"":""web""}"
T-3,gold_100,2026-01-03T00:00:00Z,,1,,,
T-4,dragon,2026-01-30T00:00:00Z,player-2,1,1299,EUR,
`)
      }
      const result = await till.purchases.import(account, { store_id: 'main', file: file() })
      assert.deepEqual([result.added, result.skipped, result.updated], [1, 1, 1])
      assert.deepEqual((await list()).slice(2), ['T-3 purchased', 'T-4 purchased'])
      assert.deepEqual(await till.operations.check(), [])
    })

    test('keeps the audit log and adds to it', async (t) => {
      const { till, account } = await openOld(t)
      const actions = async () =>
        (await till.operations.listAudit({ limit: 1000 })).entries.map(({ action }) => action)
      const before = await actions()
      assert.equal(before.length, 17)
      assert.deepEqual(
        [before[0], before[4], before[11], before.at(-1)],
        ['account.create', 'project.create', 'purchases.import', 'signing_keys.rotate'],
      )
      await till.projects.update(account, { id: known.project.id, name: 'Renamed' })
      assert.deepEqual(await actions(), [...before, 'project.update'])
    })

    test('is served over HTTP', async (t) => {
      const { till } = await openOld(t)
      const { url, stop } = await serve(till, { port: 0 })
      t.after(stop)
      const headers = { authorization: `Bearer ${known.valid_token}` }
      const items = await fetch(`${url}/api/v1/items?store_id=main`, { headers })
      assert.equal(items.status, 200)
      assert.match(await items.text(), /"100 Gold 🪙"/)
      const created = await fetch(`${url}/api/v1/items`, {
        method: 'POST',
        headers: { 'x-account-key': known.account_key, 'content-type': 'application/json' },
        body: JSON.stringify({ ...known.gold, name: 'shield' }),
      })
      assert.equal(created.status, 200, await created.text())
    })
  })
}
