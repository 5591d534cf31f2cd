import assert from 'node:assert/strict'
import { readFileSync, statSync } from 'node:fs'
import { describe, test } from 'node:test'
import { openSqliteStorage } from '../../lib/index.ts'
import type { Storage } from '../../lib/storage/port.ts'
import type { SqliteDriver, SqliteDriverName } from '../../lib/storage/sqlite/drivers.ts'
import { all } from '../support/collect.ts'
import { pragma, prototypeOf, raw, watchConnections } from '../support/connections.ts'
import { sqliteDrivers } from '../support/drivers.ts'
import { eventuallyHolds } from '../support/eventually.ts'
import { startWorker } from '../support/worker.ts'
import { openImport } from './fixtures/imports.ts'
import {
  AT,
  awkwardObject,
  insertShops,
  insertStores,
  itemsOf,
  MAIN,
  newItem,
  newProject,
  newRow,
  newStore,
  SIDE,
  stage,
} from './fixtures/records.ts'
import {
  createSchema,
  NEWEST,
  NO_ROWS,
  newPath,
  open,
  rowsIn,
  transactions,
} from './fixtures/sqlite.ts'
import { LATER, newIdempotencyRecord } from './fixtures/writes.ts'

for (const { driver, skip } of await sqliteDrivers()) {
  describe(`SQLite files with ${driver}`, { skip }, () => {
    describe('that are shared and reopened', () => describeSharing(driver))
    describe('and their settings', () => describeSettings(driver))
    describe('and many processes', () => describeProcesses(driver))
  })
}

function describeSharing(driver: SqliteDriverName): void {
  test('each of two connections sees the writes of the other at once', async (t) => {
    const path = newPath(t)
    const a = await open(t, path, driver)
    const b = await open(t, path, driver)

    await insertStores(a)
    assert.deepEqual(await b.findStore('acc_1', 'main'), newStore('main'))
    await b.insertItem(newItem('gold'))
    assert.deepEqual(await itemsOf(a, MAIN), [newItem('gold')])
    await b.updateProject('prj_1', (project) => ({ ...project, name: 'By b' }))
    await a.updateProject('prj_1', (project) => ({ ...project, platform: 'web' }))
    assert.deepEqual(await b.findProject('prj_1'), {
      ...newProject('prj_1'),
      name: 'By b',
      platform: 'web',
    })
    await a.insertFirstSigningKey({ kid: 'k1', secret: new Uint8Array(32), created_at: AT })
    assert.deepEqual(
      (await b.listSigningKeys()).map(({ kid }) => kid),
      ['k1'],
    )
  })

  test('an authority is verified while another connection holds the write lock', async (t) => {
    const path = newPath(t)
    const storage = await open(t, path, driver)
    await insertShops(storage)
    const other = await raw(t, path, driver)
    other.exec('BEGIN IMMEDIATE')
    await storage.verifyAuthority({ store: MAIN })
    await assert.rejects(storage.verifyAuthority({ key_id: 'none' }), {
      code: 'account_key_required',
    })
    other.exec('ROLLBACK')
  })

  test('an import of one connection is invisible to the other before its commit', async (t) => {
    const path = newPath(t)
    const a = await open(t, path, driver)
    const b = await open(t, path, driver)
    await insertShops(a)

    const current = await openImport(a, MAIN, 'imp_1')
    await stage(current, [newRow(2)])
    assert.deepEqual(await transactions(b), [])
    assert.equal(await b.openImport(MAIN, 'imp_2'), undefined)
    await current.commit()

    assert.deepEqual(await transactions(b), ['tx_2'])
    await (await openImport(b, MAIN, 'imp_2')).abort()
  })

  test('a restart keeps everything', async (t) => {
    const path = newPath(t)
    const before = await openSqliteStorage(path, { driver })
    await insertShops(before)
    await before.updateProject('prj_1', (project) => ({ ...project, config: awkwardObject() }))
    await before.insertItem(newItem('sword', { metadata: awkwardObject() }))
    await before.insertFirstSigningKey({
      kid: 'k1',
      secret: new Uint8Array(32).fill(7),
      created_at: AT,
    })
    const current = await openImport(before, MAIN, 'imp_1')
    await stage(current, [newRow(2), newRow(3, { price: 499, currency: 'USD', user_id: 'player' })])
    await current.commit()
    const kept = await everything(before)
    await before.close()

    const after = await open(t, path, driver)

    assert.deepEqual(await everything(after), kept)
    assert.equal(kept.purchases.purchases.length, 2)
    assert.equal(kept.stores.length, 2)
  })

  test('many expired idempotency records are deleted by many writes, not by one', async (t) => {
    const storage = await open(t, newPath(t), driver)
    await insertStores(storage)
    const old = Array.from({ length: 250 }, (_, i) => newIdempotencyRecord({ key: `old-${i}` }))
    await storage.insertAudit(...old.map((idempotency) => ({ idempotency })))

    const left = []
    for (const key of ['old-249', 'new-1', 'new-2']) {
      const idempotency = newIdempotencyRecord({ key, created_at: LATER, expires_at: '2025' })
      await storage.insertItem(newItem(key), { idempotency })
      left.push(await storage.countRows('idempotency_records'))
    }

    assert.deepEqual(left, [150, 51, 3])
  })

  test('a list of imports uses its index, and does not read each recorded purchase', async (t) => {
    const path = newPath(t)
    const storage = await open(t, path, driver)
    const { mock } = t.mock.method(await prototypeOf(driver), 'prepare')
    await storage.listImports(MAIN, { limit: 10 })

    const sql = mock.calls.map(({ arguments: [sql] }) => sql).find((each) => /ORDER BY/.test(each))
    const plan = (await raw(t, path, driver)).prepare(`EXPLAIN QUERY PLAN ${sql}`)
    const steps = plan.all('acc_1', 'main', '0', 11) as { readonly detail: string }[]
    const { detail } = steps.at(-1) ?? {}
    assert.match(detail ?? '', /imports_listed \(store=\? AND seq>\?\)$/)
  })

  test('an import left open by its own process is deleted by a restart', async (t) => {
    const path = newPath(t)
    const worker = startWorker(t)
    const first = await open(t, path, driver)
    await insertShops(first)
    await worker.ask('open', path, driver)
    await worker.ask('openImport', 'imp_1')
    await worker.ask('stage', 2, 3)
    await worker.end()

    const after = await open(t, path, driver)

    const db = await raw(t, path, driver)
    await eventuallyHolds(() => assert.deepEqual(rowsIn(db), NO_ROWS))
    assert.deepEqual(await transactions(after), [])
  })
}

function describeSettings(driver: SqliteDriverName): void {
  test('other users of the machine cannot read the file or its WAL', async (t) => {
    const path = newPath(t)
    const umask = process.umask(0)
    t.after(() => process.umask(umask))

    const storage = await open(t, path, driver)
    await insertShops(storage)

    const modes = ['', '-wal', '-shm'].map((suffix) => statSync(path + suffix).mode & 0o777)
    assert.deepEqual(modes, [0o600, 0o600, 0o600])
  })

  test('every connection uses a WAL, syncs it at each commit and checks foreign keys', async (t) => {
    const path = newPath(t)
    const connections = await watchConnections(t, driver)

    await open(t, path, driver)
    await open(t, path, driver)

    const settings = [...connections].map((db) => [
      pragma(db, 'journal_mode'),
      pragma(db, 'synchronous'),
      pragma(db, 'foreign_keys'),
    ])
    assert.deepEqual(settings, [
      ['wal', FULL, 1],
      ['wal', FULL, 1],
    ])
  })

  test('the schema is created once, and opening it again changes nothing', async (t) => {
    const path = newPath(t)
    await (await openSqliteStorage(path, { driver })).close()
    const before = readFileSync(path)

    await (await openSqliteStorage(path, { driver })).close()

    assert.ok(readFileSync(path).equals(before))
    assert.equal(pragma(await raw(t, path, driver), 'user_version'), NEWEST)
  })
}

function describeProcesses(driver: SqliteDriverName): void {
  for (const statement of [1, 2, 3]) {
    test(`opening a file succeeds when another process creates its schema before statement ${statement}`, async (t) => {
      const path = newPath(t)
      const other = await raw(t, path, driver)
      const prototype = await prototypeOf(driver)
      const { prepare } = prototype
      let statements = 0
      t.mock.method(prototype, 'prepare', function (this: SqliteDriver, sql: string) {
        if (++statements === statement) createSchema(other)
        return prepare.call(this, sql)
      })

      const storage = await open(t, path, driver)

      assert.deepEqual(await all((page) => storage.listAccounts(page)), [])
    })
  }

  test('six processes open new files concurrently, and no update is lost', async (t) => {
    const workers = Array.from({ length: 6 }, () => startWorker(t))
    const paths = Array.from({ length: 4 }, () => newPath(t))

    for (const path of paths) {
      await Promise.all(workers.map((worker) => worker.ask('open', path, driver)))
      await Promise.all(workers.map((worker, i) => worker.ask('insertAccount', `acc_${i}`)))
    }

    for (const path of paths) {
      const storage = await open(t, path, driver)
      const ids = (await all((page) => storage.listAccounts(page))).map(
        ({ account_id }) => account_id,
      )
      assert.deepEqual(ids.sort(), ['acc_0', 'acc_1', 'acc_2', 'acc_3', 'acc_4', 'acc_5'])
      assert.equal(pragma(await raw(t, path, driver), 'user_version'), NEWEST)
    }

    const last = await open(t, paths.at(-1) ?? '', driver)
    await last.insertProject(newProject('prj_1', { config: { count: 0 } }))
    await Promise.all(workers.map((worker) => worker.ask('count', 'prj_1', 10)))
    assert.deepEqual((await last.findProject('prj_1'))?.config, { count: 60 })
  })
}

/** `PRAGMA synchronous=FULL`, as SQLite returns it. */
const FULL = 2

async function everything(storage: Storage) {
  return {
    accounts: await all((page) => storage.listAccounts(page)),
    byKey: await storage.findAccountByKeyHash('hash-2'),
    projects: await all((page) => storage.listProjects('acc_1', page)),
    stores: await all((page) => storage.listStores('prj_1', page)),
    items: await itemsOf(storage, MAIN),
    purchases: await storage.listPurchases(MAIN, {}, { limit: 10 }),
    side: await storage.listPurchases(SIDE, {}, { limit: 10 }),
    keys: await storage.listSigningKeys(),
  }
}
