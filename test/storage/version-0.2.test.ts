import assert from 'node:assert/strict'
import { readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import {
  createTill,
  openPostgresStorage,
  openSqliteStorage,
  type Storage,
} from '../../lib/index.ts'
import { tillkit } from '../support/cli.ts'
import { pragma, raw } from '../support/connections.ts'
import { smallDisk } from '../support/disk.ts'
import { eventuallyHolds } from '../support/eventually.ts'
import { PATIENT, rawPostgres, startPostgres } from '../support/postgres.ts'
import { fileOf } from '../support/till.ts'
import { startWorker } from '../support/worker.ts'
import { newPath } from './fixtures/places.ts'

// The databases were made by version 0.2.0: see fixtures/version-0.2.mjs.
const fixture = (name: string) =>
  gunzipSync(readFileSync(join('test/storage/fixtures', `version-0.2.${name}.gz`)))

const server = await startPostgres()

interface Place {
  open(options?: { readonly upgrade?: boolean }): Promise<Storage>
  run(sql: string): Promise<void>
  /** Each table, column, index and trigger, and the version of the schema. */
  schema(): Promise<unknown>
}

const places: readonly {
  readonly name: string
  readonly facts: 'sqlite' | 'postgres'
  /** A database of version 0.2.0, or an empty one. */
  readonly create: (t: TestContext, isEmpty?: boolean) => Promise<Place>
}[] = [
  {
    name: 'SQLite',
    facts: 'sqlite',
    async create(t: TestContext, isEmpty = false) {
      const path = newPath(t)
      if (!isEmpty) writeFileSync(path, fixture('db'))
      const all = async (sql: string) => {
        const db = await raw(t, path)
        const rows = db.prepare(sql).all()
        db.close()
        const text = JSON.stringify(rows)
        return JSON.parse(text.replaceAll(/(\\n| )+/g, ' '))
      }
      return {
        open: (options: object = {}) => openSqliteStorage(path, options),
        async run(sql: string) {
          const db = await raw(t, path)
          db.exec(sql)
          db.close()
        },
        schema: async () => [
          await all('PRAGMA user_version'),
          await all(`SELECT type, name, tbl_name, iif(type IN ('index', 'trigger'), sql, '') AS sql
            FROM sqlite_schema WHERE name NOT LIKE 'sqlite_autoindex%' ORDER BY type, name`),
          await all(`SELECT m.name AS "table", c.name, c.type, c."notnull", c.pk
            FROM sqlite_schema m, pragma_table_info(m.name) c
            WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite_%' ORDER BY m.name, c.name`),
        ],
      }
    },
  },
  {
    name: 'PostgreSQL',
    facts: 'postgres',
    async create(t: TestContext, isEmpty = false) {
      const url = await server.createDatabase(t)
      if (!isEmpty) await rawPostgres(t, url).unsafe(fixture('sql').toString())
      const sql = rawPostgres(t, url)
      return {
        open: (options = {}) => openPostgresStorage(url, { ...PATIENT, ...options }),
        async run(statements) {
          await sql.unsafe(statements)
        },
        schema: async () => [
          await sql`SELECT max(version) FROM tillkit_migrations`,
          await sql`SELECT table_name, column_name, data_type, collation_name, is_nullable,
              is_identity FROM information_schema.columns WHERE table_schema = 'public' ORDER BY 1, 2`,
          await sql`SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'public' ORDER BY 1`,
          await sql`SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint
              WHERE connamespace = 'public'::regnamespace AND contype <> 'n' ORDER BY 1`,
          await sql`SELECT tgname, pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal
              ORDER BY 1`,
          await sql`SELECT proname, prosrc FROM pg_proc WHERE pronamespace = 'public'::regnamespace
              ORDER BY 1`,
        ],
      }
    },
  },
]

for (const { name, facts, create } of places) {
  const known = JSON.parse(fixture(`${facts}.json`).toString())
  describe(`a database of version 0.2 in ${name}`, () => {
    test('has the schema of a new database after its upgrade, and is sound', async (t) => {
      const [old, fresh] = [await create(t), await create(t, true)]
      for (const place of [old, old, fresh]) {
        const storage = await place.open()
        assert.deepEqual(await storage.check(), [])
        await storage.close()
      }
      assert.deepEqual(await old.schema(), await fresh.schema())
    })

    test('is as it was after a refused or failed upgrade', async (t) => {
      const place = await create(t)
      const before = await place.schema()
      await assert.rejects(place.open({ upgrade: false }), /run "tillkit upgrade"/)
      assert.deepEqual(await place.schema(), before)

      await place.run('CREATE TABLE key_check (id integer)') // makes the upgrade fail in the middle
      await assert.rejects(place.open(), { code: 'storage_unavailable' })
      await place.run('DROP TABLE key_check')
      assert.deepEqual(await place.schema(), before)

      const set =
        facts === 'sqlite'
          ? 'PRAGMA user_version = 13'
          : 'DELETE FROM tillkit_migrations WHERE version = 14'
      await place.run(set)
      const earlier = await place.schema()
      await assert.rejects(place.open(), /open it once with version 0.2.0/)
      assert.deepEqual(await place.schema(), earlier)
    })

    test('keeps its records, credentials, idempotency records, webhook backlog and imports', async (t) => {
      const storage = await (await create(t)).open()
      let time = Date.parse(known.at)
      const masterKeys = [Buffer.from(known.master_key, 'hex')]
      const till = createTill({ storage, masterKeys, now: () => ++time })
      t.after(() => till.close())
      const account = await till.accounts.authenticate(known.account_key)
      const [{ id: project_id }] = known.read.projects
      const { endpoints } = await till.webhooks.list(account)
      const endpoint_id = endpoints[0]?.endpoint_id as string
      const main = { store_id: 'main' }
      assert.deepEqual(
        {
          accounts: (await till.accounts.list()).accounts,
          projects: (await till.projects.list(account)).projects,
          stores: (await till.stores.list(account, { project_id })).stores,
          items: (await till.items.list(account, main)).items,
          purchases: (await till.purchases.list(account, main)).purchases,
          none: (await till.purchases.list(account, { store_id: 'side' })).purchases,
          owned: await till.purchases.owned(account, { ...main, user_id: 'ann' }),
          imports: (await till.imports.list(account, main)).imports,
          sums: await till.purchases.summarize(account, main),
          audit: (await till.operations.listAudit({ limit: 1000 })).entries,
          log: (await till.webhooks.log(account, { endpoint_id })).deliveries,
        },
        known.read,
      )

      const revoked = till.accounts.authenticate(known.revoked_account_key)
      await assert.rejects(revoked, { code: 'account_key_required' })
      await till.accounts.addKey(account)
      assert.deepEqual(await till.operations.listUnreadableSecrets(), [])
      for (const key of [known.public_key, known.former_public_key]) {
        const { session } = await till.sessions.init(key, { user_id: 'cat' })
        assert.equal((await till.sessions.authenticate(session.token)).user_id, 'cat')
      }
      assert.equal((await till.sessions.authenticate(known.valid_token)).user_id, 'bob')
      const old = till.sessions.authenticate(known.revoked_token)
      await assert.rejects(old, { code: 'token_required' })

      const repeat = { idempotencyKey: 'item-1' }
      const item = await till.items.create(account, known.item, repeat)
      assert.equal(item.id, known.item_id)
      const changed = till.items.create(account, { ...known.item, price: '500' }, repeat)
      await assert.rejects(changed, { code: 'invalid_request' })

      await till.items.create(account, { ...known.item, name: 'new' })
      const sent: string[] = []
      // Waits, because on PostgreSQL a transaction of another test may hold back what follows it.
      await eventuallyHolds(async () => {
        time += 3_600_000
        const { messages } = await till.outbox.claim()
        const settled = messages.map(({ endpoint_id, sequence, part, body }) => {
          const { type, data } = JSON.parse(body)
          sent.push(data.item ? `${type} ${data.item.name}` : type)
          return { endpoint_id, sequence, part, status: 204 }
        })
        await till.outbox.settle(settled)
        assert.deepEqual(sent, [
          ...['store.created', 'store.created', 'item.created gold', 'item.created pet'],
          ...['item.updated pet', 'item.created cup', 'item.archived cup', 'purchases.imported'],
          ...['purchases.imported', 'purchases.refunded', 'purchases.imported', 'purchases.undone'],
          ...['purchase.recorded', 'user.erased', 'item.created new'],
        ])
      })

      const list = async () => {
        const { purchases } = await till.purchases.list(account, main)
        return purchases.map(({ transaction_id, status }) => `${transaction_id} ${status}`)
      }
      await till.imports.undo(account, { import_id: known.refunds_id })
      const kept = ['T-1 purchased', 'T-2 purchased', 'T-3 pending']
      assert.deepEqual(await list(), [...kept, 'R-1 purchased'])
      const file = fileOf(`transaction_id,sku,purchased_at,expires_at
T-3,gold,2026-01-03T00:00:00Z,
T-6,pet,2026-01-30T00:00:00Z,2026-02-01T00:00:00Z
`)
      const { added, updated } = await till.purchases.import(account, { ...main, file })
      assert.deepEqual([added, updated], [1, 1])
      assert.deepEqual((await list()).slice(2), ['T-3 purchased', 'R-1 purchased', 'T-6 purchased'])
      assert.deepEqual(await till.operations.check(), [])
    })
  })
}

test('an upgrade on PostgreSQL keeps statistics of all columns for the planner', async (t) => {
  const url = await server.createDatabase(t)
  await rawPostgres(t, url).unsafe(`${fixture('sql')}; SET search_path = public; ANALYZE`)
  const sql = rawPostgres(t, url)
  const count = async () => {
    const [row] = await sql`SELECT count(*)::int AS n FROM pg_stats
      WHERE schemaname = 'public' AND tablename IN ('imports', 'items', 'audit', 'webhook_messages')
        AND attname <> 'holder'`
    return row?.n
  }
  const before = await count()
  await (await openPostgresStorage(url, PATIENT)).close()
  assert.equal(await count(), before)
})

test('only "upgrade" and "serve" change a file of version 0.2', async (t) => {
  const path = newPath(t)
  const old = fixture('db')
  writeFileSync(path, old)
  for (const command of [['check'], ['account', 'create', '--name', 'New']]) {
    const { code, stderr } = await tillkit([...command, '--db', path])
    assert.equal(code, 1)
    assert.match(
      stderr,
      /an earlier tillkit wrote it: make a backup, then run "tillkit upgrade"\n$/,
    )
    assert.deepEqual(readFileSync(path), old)
    assert.deepEqual(readdirSync(dirname(path)), ['till.db'])
  }
  assert.equal((await tillkit(['upgrade', '--db', path])).code, 0)
  const { stdout } = await tillkit(['check', '--db', path])
  assert.match(stdout, /sound/)
})

test('a killed upgrade leaves a file as it was', async (t) => {
  const path = newPath(t)
  writeFileSync(path, fixture('db'))
  await assert.rejects(startWorker(t).ask('openAndDie', path), /died of openAndDie/)
  assert.equal(pragma(await raw(t, path), 'user_version'), 14)
  const refused = openSqliteStorage(path, { upgrade: false })
  await assert.rejects(refused, /an earlier tillkit wrote it/)
  await (await openSqliteStorage(path)).close()
})

test('an upgrade on a full disk leaves a file as it was', async (t) => {
  const disk = smallDisk(t)
  if (!disk) return
  const path = join(disk, 'till.db')
  writeFileSync(path, fixture('db'))
  const filler = join(disk, 'filler')
  assert.throws(() => writeFileSync(filler, Buffer.alloc(4 * 2 ** 20)), { code: 'ENOSPC' })
  truncateSync(filler, statSync(filler).size - 80 * 1024) // has room for a part of the upgrade
  await assert.rejects(openSqliteStorage(path), { code: 'storage_unavailable' })
  rmSync(filler)
  assert.equal(pragma(await raw(t, path), 'user_version'), 14)
  await (await openSqliteStorage(path)).close()
})
