import assert from 'node:assert/strict'
import { readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import {
  createTill,
  openPostgresStorage,
  openSqliteStorage,
  type Storage,
  type WebhookLogPage,
} from '../../lib/index.ts'
import { SCHEMA as POSTGRES } from '../../lib/storage/postgres/schema.ts'
import { newestVersion, type Schema } from '../../lib/storage/sql/upgrade.ts'
import { SCHEMA as SQLITE } from '../../lib/storage/sqlite/schema.ts'
import { tillkit } from '../support/cli.ts'
import { pragma, raw } from '../support/connections.ts'
import { smallDisk } from '../support/disk.ts'
import { eventuallyHolds } from '../support/eventually.ts'
import { PATIENT, rawPostgres, startPostgres } from '../support/postgres.ts'
import { answersOf } from '../support/storage/answers.ts'
import { outboxOf } from '../support/storage/holding.ts'
import { newPath } from '../support/storage/places.ts'
import { fileOf } from '../support/till.ts'
import { startWorker } from '../support/worker.ts'

// support/storage/schema-30.mjs made these databases with the first version of the schema.
const fixture = (name: string) =>
  readFileSync(join('test/support/storage', `schema-30.${name}`), 'utf8')

/** These tables have rows only in a transaction, or in an unfinished copy. */
const EMPTY_TABLES = ['audit_archive', 'audit_pseudonym', 'unfinished_copy']

/** The events of both endpoints, also those that were delivered before the upgrade. */
const OF_BOTH = [
  ...Array(4).fill('item.created'),
  ...['item.updated', 'item.archived', 'purchases.refunded', 'purchases.undone'],
  ...Array(3).fill('purchases.imported'),
  ...Array(2).fill('purchase.recorded'),
]
const OF_PROJECT = [
  ...Array(2).fill('store.created'),
  ...['item.created', 'purchases.imported', 'project.updated'],
  ...Array(2).fill('user.erased'),
]
const EVENTS = [
  ...OF_BOTH.flatMap((event) => [`project ${event}`, `store ${event}`]),
  ...OF_PROJECT.map((event) => `project ${event}`),
].sort()

const server = await startPostgres()

interface Place {
  open(options?: { readonly upgrade?: boolean }): Promise<Storage>
  run(sql: string): Promise<void>
  /** Each table, column, index and trigger, and the version of the schema. */
  schema(): Promise<unknown>
  emptyTables(): Promise<string[]>
}

const places: readonly {
  readonly name: string
  readonly files: 'sqlite' | 'postgres'
  readonly current: Schema
  /** Makes the schema one of version 29. */
  readonly age: string
  /** A database of the first schema, or an empty one. */
  readonly create: (t: TestContext, isEmpty?: boolean) => Promise<Place>
}[] = [
  {
    name: 'SQLite',
    files: 'sqlite',
    current: SQLITE,
    age: 'PRAGMA user_version = 29',
    async create(t: TestContext, isEmpty = false) {
      const path = isEmpty ? newPath(t) : await firstFile(t)
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
          await all(`SELECT type, name, tbl_name, iif(type IN ('index', 'trigger', 'view'), sql, '') AS sql
            FROM sqlite_schema WHERE name NOT LIKE 'sqlite_autoindex%' ORDER BY type, name`),
          await all(`SELECT m.name AS "table", c.name, c.type, c."notnull", c.pk
            FROM sqlite_schema m, pragma_table_info(m.name) c
            WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite_%' ORDER BY m.name, c.name`),
        ],
        async emptyTables() {
          const tables = await all("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY 1")
          const names = tables.map(({ name }: { name: string }) => name)
          const empty: string[] = []
          for (const name of names) {
            const [{ n }] = await all(`SELECT count(*) AS n FROM ${name}`)
            if (n === 0) empty.push(name)
          }
          return empty
        },
      }
    },
  },
  {
    name: 'PostgreSQL',
    files: 'postgres',
    current: POSTGRES,
    age: 'UPDATE tillkit_migrations SET version = 29',
    async create(t: TestContext, isEmpty = false) {
      const url = await server.createDatabase(t)
      if (!isEmpty) await rawPostgres(t, url).unsafe(fixture('postgres.sql'))
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
          await sql`SELECT viewname, definition FROM pg_views WHERE schemaname = 'public' ORDER BY 1`,
          await sql`SELECT proname, prosrc FROM pg_proc WHERE pronamespace = 'public'::regnamespace
              ORDER BY 1`,
        ],
        async emptyTables() {
          const tables = await sql`SELECT tablename AS name FROM pg_tables
            WHERE schemaname = 'public' ORDER BY 1`
          const empty: string[] = []
          for (const { name } of tables) {
            const rows = await sql`SELECT 1 FROM ${sql(name)} LIMIT 1`
            if (rows.length === 0) empty.push(name)
          }
          return empty
        },
      }
    },
  },
]

for (const { name, files, current, age, create } of places) {
  const known = JSON.parse(fixture(`${files}.json`))
  const tillOf = async (t: TestContext) => {
    const storage = await (await create(t)).open()
    const clock = { time: Date.parse(known.at), step: 0 }
    const now = () => {
      clock.time += clock.step
      return clock.time
    }
    const till = createTill({ storage, masterKeys: [Buffer.from(known.master_key, 'hex')], now })
    t.after(() => till.close())
    return { till, clock, account: await till.accounts.authenticate(known.account_key) }
  }

  describe(`a database of the first schema in ${name}`, () => {
    test('has every kind of record', async (t) => {
      assert.deepEqual(await (await create(t)).emptyTables(), EMPTY_TABLES)
    })

    test('has the schema of a new database after its upgrade, and is sound', async (t) => {
      const [old, fresh] = [await create(t), await create(t, true)]
      for (const place of [old, old, fresh]) {
        const storage = await place.open()
        assert.deepEqual(await storage.check(), [])
        await storage.close()
      }
      assert.deepEqual(await old.schema(), await fresh.schema())
    })

    test('keeps what an analyst has built on the views when it is upgraded', async (t) => {
      const place = await create(t)
      await (await place.open()).close()
      await place.run('CREATE VIEW mine AS SELECT transaction_id FROM purchases_v1')
      const before = await place.schema()
      addStep(t, current, '')
      await (await place.open()).close()
      const [, ...after] = (await place.schema()) as unknown[]
      assert.deepEqual(after, (before as unknown[]).slice(1))
    })

    test('gets all steps in one transaction, or none', async (t) => {
      const place = await create(t)
      const before = await place.schema()
      addStep(t, current, 'CREATE TABLE added (id integer)')
      addStep(t, current, 'CREATE TABLE more (id integer); INSERT INTO missing VALUES (1)')
      await assert.rejects(place.open(), { code: 'storage_unavailable' })
      assert.deepEqual(await place.schema(), before)
      await assert.rejects(place.open({ upgrade: false }), /run "tillkit upgrade"/)
      assert.deepEqual(await place.schema(), before)

      await place.run('CREATE TABLE missing (id integer)')
      await (await place.open()).close()
      const [[row]] = (await place.schema()) as [[Record<string, number>]]
      assert.deepEqual(Object.values(row), [newestVersion(current)])
      await place.run('INSERT INTO added VALUES (1); INSERT INTO more VALUES (1)')
      await (await place.open()).close() // takes no step twice
    })

    test('refuses an older schema, and says how to move its data', async (t) => {
      const place = await create(t)
      await place.run(age)
      const before = await place.schema()
      await assert.rejects(place.open(), {
        code: 'storage_unavailable',
        message:
          /schema is version 29, .* 30: export the catalog and the purchases with the tillkit that wrote it, and import them into a new database; an export has no keys, no erasures and no audit log$/,
      })
      assert.deepEqual(await place.schema(), before)
    })

    test('gives the answers that it gave before the upgrade', async (t) => {
      const { till, account } = await tillOf(t)
      const answers = JSON.parse(JSON.stringify(await answersOf(till, account)))
      // Since then, an overview counts the best sellers in all currencies together.
      const { items: _, ...overview } = known.answers.overview
      const recorded = { ...known.answers, overview }
      assert.deepEqual(likeRecorded(answers, recorded), recorded)
    })

    test('keeps its credentials, idempotency records, webhook backlog and imports', async (t) => {
      const { till, clock, account } = await tillOf(t)
      clock.step = 1
      const main = { store_id: 'main' }
      const revoked = till.accounts.authenticate(known.revoked_account_key)
      await assert.rejects(revoked, { code: 'account_key_required' })
      await till.accounts.addKey(account)
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
      const nameOf = ({ endpoint_id, type }: { endpoint_id: string; type: string }) =>
        `${endpoint_id.includes('/') ? 'store' : 'project'} ${type}`
      const sent = (known.answers.logs as WebhookLogPage[])
        .flatMap(({ deliveries }) => deliveries.filter(({ state }) => state === 'delivered'))
        .map(nameOf)
      assert.equal(sent.length, 1)
      // Waits, because on PostgreSQL a transaction of another test may hold back what follows it.
      await eventuallyHolds(async () => {
        clock.time += 3_600_000
        const { messages } = await outboxOf(till).claim()
        const settled = messages.map(({ endpoint_id, sequence, part, body }) => {
          sent.push(nameOf({ endpoint_id, type: JSON.parse(body).type }))
          return { endpoint_id, sequence, part, status: 204 }
        })
        await outboxOf(till).settle(settled)
        assert.deepEqual(sent.toSorted(), EVENTS)
      })

      const list = async () => {
        const { purchases } = await till.purchases.list(account, main)
        return purchases.map(({ transaction_id, status }) => `${transaction_id} ${status}`)
      }
      await till.imports.undo(account, { import_id: known.refunds_id })
      const kept = ['T-1 purchased', 'T-2 purchased', 'T-3 pending', 'T-9 cancelled']
      assert.deepEqual(await list(), [...kept, 'R-1 purchased'])
      const file = fileOf(`transaction_id,sku,purchased_at,expires_at,user_id
T-3,gold,2026-01-03T00:00:00Z,,
T-6,pet,2026-01-30T00:00:00Z,2026-02-01T00:00:00Z,
R-1,gold,2026-01-06T00:00:00Z,,eve
R-2,gold,2026-01-06T00:00:00Z,,kim
`)
      const result = await till.purchases.import(account, { ...main, file })
      assert.deepEqual([result.added, result.updated, result.skipped], [1, 1, 2])
      const statuses = (await list()).filter((row) => !kept.includes(row))
      assert.deepEqual(statuses, ['T-3 purchased', 'R-1 purchased', 'T-6 purchased'])
      const eve = await till.purchases.owned(account, { ...main, user_id: 'eve' })
      assert.deepEqual(eve.owned, []) // an import names no erased user
      assert.deepEqual(await till.operator.check(), [])
    })
  })
}

test('only "upgrade" and "serve" change a file of an earlier schema', async (t) => {
  addStep(t, SQLITE, 'CREATE TABLE added (id integer)')
  const path = await firstFile(t)
  const old = readFileSync(path)
  for (const command of [['check'], ['account', 'create', '--name', 'New']]) {
    const { code, stderr } = await tillkit([...command, '--db', path])
    assert.equal(code, 1)
    const hinted = `"tillkit upgrade --db ${path}"`
    assert.ok(stderr.endsWith(`an earlier tillkit wrote it: make a backup, then run ${hinted}\n`))
    assert.deepEqual(readFileSync(path), old)
    assert.deepEqual(readdirSync(dirname(path)), ['till.db'])
  }
  assert.equal((await tillkit(['upgrade', '--db', path])).code, 0)
  const { stdout } = await tillkit(['check', '--db', path])
  assert.match(stdout, /sound/)
})

test('a killed upgrade leaves a file as it was', async (t) => {
  const path = await firstFile(t)
  const upgrade = startWorker(t).ask('upgradeAndDie', path)
  await assert.rejects(upgrade, /died of upgradeAndDie/)
  assert.equal(pragma(await raw(t, path), 'user_version'), 30)
  await (await openSqliteStorage(path)).close()
})

test('an upgrade on a full disk leaves a file as it was', async (t) => {
  const disk = smallDisk(t)
  if (!disk) return
  const path = join(disk, 'till.db')
  writeFileSync(path, readFileSync(await firstFile(t)))
  const filler = join(disk, 'filler')
  assert.throws(() => writeFileSync(filler, Buffer.alloc(4 * 2 ** 20)), { code: 'ENOSPC' })
  truncateSync(filler, statSync(filler).size - 80 * 1024) // has room for a part of the upgrade
  addStep(t, SQLITE, 'CREATE TABLE added (bytes BLOB); INSERT INTO added VALUES (zeroblob(200000))')
  await assert.rejects(openSqliteStorage(path), { code: 'storage_unavailable' })
  rmSync(filler)
  assert.equal(pragma(await raw(t, path), 'user_version'), 30)
  await (await openSqliteStorage(path)).close()
})

/** A file of the first schema. */
async function firstFile(t: TestContext): Promise<string> {
  const path = newPath(t)
  const db = await raw(t, path)
  db.exec(fixture('sqlite.sql'))
  db.close()
  return path
}

/** Adds a step after the last one, until the test ends. */
function addStep(t: TestContext, { steps }: Schema, step: string): void {
  const all = steps as string[]
  all.push(step)
  t.after(() => void all.splice(all.indexOf(step), 1))
}

/** The fields that were recorded. A later version may answer more. */
function likeRecorded(value: unknown, recorded: unknown): unknown {
  if (Array.isArray(value)) {
    return value.map((one, index) => likeRecorded(one, (recorded as unknown[])?.[index]))
  }
  if (typeof value !== 'object' || value === null) return value
  if (typeof recorded !== 'object' || recorded === null) return value
  const shared = Object.entries(value).filter(([field]) => field in recorded)
  return Object.fromEntries(
    shared.map(([field, one]) => [field, likeRecorded(one, recorded[field as keyof object])]),
  )
}
