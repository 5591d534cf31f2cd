import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { openPostgresStorage, openSqliteStorage, type Storage } from '../../lib/index.ts'
import { MIGRATIONS as POSTGRES_MIGRATIONS } from '../../lib/storage/postgres/schema.ts'
import { openSqliteDriver } from '../../lib/storage/sqlite/drivers.ts'
import { APPLICATION_ID, MIGRATIONS } from '../../lib/storage/sqlite/schema.ts'
import { all } from '../support/collect.ts'
import { sqliteDrivers } from '../support/drivers.ts'
import { PATIENT, rawPostgres, startPostgres } from '../support/postgres.ts'
import { AT, itemsOf, MAIN, newItem, newProject, newStore } from './fixtures/records.ts'
import { newPath } from './fixtures/sqlite.ts'
import { auditOf, newEntry } from './fixtures/writes.ts'

const server = await startPostgres()

/**
 * Two accounts: one with a configuration of a project and of a store and with an idempotency record,
 * one with an empty configuration. An item with its audit entry.
 */
const RECORDS = `
  INSERT INTO accounts (account_id, name, created_at) VALUES ('acc_1', '', ''), ('acc_2', '', '');
  INSERT INTO projects (id, account_id, name, bundle_id, platform, status, dlscheme, public_key,
    config, created_at)
    VALUES ('prj_1', 'acc_1', '', '', '', '', '', 'pk_1', '{"text":"üü234567"}', ''),
      ('prj_2', 'acc_2', '', '', '', '', '', 'pk_2', '{}', '');
  INSERT INTO stores (account_id, project_id, store_id, store_type, is_sandbox, status,
    store_config, created_at)
    VALUES ('acc_1', 'prj_1', 'main', 'web', FALSE, '', '{"text":"01234567890123456789"}', '');
  INSERT INTO items (id, store, name, display_name, description, price, type, metadata, created_at)
    SELECT 'itm_gold', seq, 'gold', 'Item', '', 499, 'consumable', '{}', '${AT}' FROM stores;
  INSERT INTO audit (at, actor, action, subject, account_id, request_id)
    VALUES ('${AT}', 'operator', 'item.create', 'itm_gold', 'acc_1', '');
  INSERT INTO idempotency_records (account_id, key, fingerprint, answer, created_at, expires_at)
    VALUES ('acc_1', 'key', 'print', '{}', '2024-01-01', '2024-01-02');
`
const BYTES = Buffer.byteLength('{"text":"üü234567"}{"text":"01234567890123456789"}')

/** Returns the migrations before quotas. */
function before(migrations: readonly string[]): readonly string[] {
  return migrations.slice(
    0,
    migrations.findIndex((step) => step.includes('config_bytes')),
  )
}

async function openOldSqlite(t: TestContext, driver: 'better-sqlite3' | 'node:sqlite') {
  const path = newPath(t)
  const db = await openSqliteDriver(path, driver)
  const steps = before(MIGRATIONS)
  db.exec(steps.join(';'))
  db.exec(`PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${steps.length}`)
  db.exec(RECORDS)
  db.close()
  return openSqliteStorage(path, { driver })
}

async function openOldPostgres(t: TestContext) {
  const url = await server.createSchema(t)
  const sql = rawPostgres(t, url)
  for (const [index, step] of before(POSTGRES_MIGRATIONS).entries()) {
    await sql.unsafe(step)
    await sql`INSERT INTO tillkit_migrations (version) VALUES (${index + 1})`
  }
  await sql.unsafe(RECORDS)
  return openPostgresStorage(url, PATIENT)
}

const places: readonly {
  readonly name: string
  readonly skip: string | false
  readonly open: (t: TestContext) => Promise<Storage>
}[] = [
  ...(await sqliteDrivers()).map(({ driver, skip }) => ({
    name: `SQLite with ${driver}`,
    skip,
    open: (t: TestContext) => openOldSqlite(t, driver),
  })),
  { name: 'PostgreSQL', skip: false as const, open: openOldPostgres },
]

for (const { name, skip, open } of places) {
  describe(`a database from before quotas in ${name}`, { skip }, () => {
    test('counts the configuration bytes of its accounts in the migration', async (t) => {
      const storage = await open(t)
      t.after(() => storage.close())
      const quotaOf = (config_bytes: number) => ({ quota: { account_id: 'acc_1', config_bytes } })

      const early = storage.insertStore(newStore('new'), quotaOf(BYTES + 1))
      await assert.rejects(early, { code: 'quota_exceeded' })
      assert.equal(await storage.insertStore(newStore('new'), quotaOf(BYTES + 2)), 'inserted')

      const other = newProject('prj_3', { account_id: 'acc_2' })
      const quota = { account_id: 'acc_2', config_bytes: 4 }
      assert.equal(await storage.insertProject(other, { quota }), 'inserted')
      assert.equal((await all((page) => storage.listProjects('acc_1', page))).length, 1)
    })

    test('keeps its items and audit entries, and its items can be changed', async (t) => {
      const storage = await open(t)
      t.after(() => storage.close())
      const made = newEntry({ actor: 'operator', project_id: '', store_id: '', request_id: '' })
      const update = newEntry({ action: 'item.update', data: { price: { old: 499, new: 599 } } })

      assert.deepEqual(await itemsOf(storage, MAIN), [newItem('gold')])
      assert.deepEqual(await auditOf(storage), [made])
      await storage.updateItem('itm_gold', (item) => ({ ...item, price: 599 }), { audit: update })

      const changed = newItem('gold', { price: 599, version: 2 })
      assert.deepEqual(await itemsOf(storage, MAIN), [changed])
      assert.deepEqual(await auditOf(storage), [made, update])
      assert.deepEqual(await storage.check(), [])
    })

    test('can be read above its quota, and changed without growth', async (t) => {
      const storage = await open(t)
      t.after(() => storage.close())
      const quota = { account_id: 'acc_1', project_id: 'prj_1', stores: 0, config_bytes: 1 }

      const update = (text: string) =>
        storage.updateStore(MAIN, (store) => ({ ...store, store_config: { text } }), { quota })
      await assert.rejects(update('012345678901234567890'), { code: 'quota_exceeded' })
      await update('0123456789012345678')

      const { records } = await storage.listStores('prj_1', { limit: 10 })
      assert.deepEqual(
        records.map(({ store_config }) => store_config),
        [{ text: '0123456789012345678' }],
      )
      assert.deepEqual(await storage.check(), [])
    })

    test('keeps its idempotency records', async (t) => {
      const storage = await open(t)
      t.after(() => storage.close())

      assert.deepEqual(await storage.findIdempotencyRecord('acc_1', 'key'), {
        account_id: 'acc_1',
        key: 'key',
        fingerprint: 'print',
        answer: '{}',
        created_at: '2024-01-01',
        expires_at: '2024-01-02',
      })
    })
  })
}
