import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { openSqliteStorage, type Storage } from '../../lib/index.ts'
import type { PurchaseImport, StoreKey } from '../../lib/storage/port.ts'
import type { SqliteDriver, SqliteDriverName } from '../../lib/storage/sqlite/drivers.ts'
import { APPLICATION_ID, MIGRATIONS } from '../../lib/storage/sqlite/schema.ts'
import { hurry } from '../support/clock.ts'
import { pragma, prototypeOf, raw, watchConnections } from '../support/connections.ts'
import { sqliteDrivers } from '../support/drivers.ts'
import { temporaryFolder } from '../support/folder.ts'
import { startWorker } from '../support/worker.ts'
import {
  AT,
  awkwardObject,
  insertShops,
  insertStores,
  itemsOf,
  MAIN,
  newAccount,
  newItem,
  newKey,
  newProject,
  newRow,
  newStore,
  SIDE,
  stage,
} from './fixtures/records.ts'

for (const { driver, skip } of await sqliteDrivers()) {
  describe(`SQLite files with ${driver}`, { skip }, () => {
    describe('that are shared and kept', () => describeSharing(driver))
    describe('that can not be used', () => describeRefusals(driver))
    describe('and how they are kept', () => describeSettings(driver))
    describe('and imports that are cut off', () => describeInterruptions(driver))
    describe('and imports that are taken over', () => describeTakeOver(driver))
    describe('and many processes', () => describeProcesses(driver))
  })
}

function describeSharing(driver: SqliteDriverName): void {
  test('two connections see what the other writes at once', async (t) => {
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
    await a.insertSigningKey({ kid: 'k1', secret: new Uint8Array(32), created_at: AT })
    assert.deepEqual(
      (await b.listSigningKeys()).map(({ kid }) => kid),
      ['k1'],
    )
  })

  test('an import of one connection is not seen by the other before its commit', async (t) => {
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
    await before.insertSigningKey({ kid: 'k1', secret: new Uint8Array(32).fill(7), created_at: AT })
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

  test('an import that its own process leaves open is over after a restart', async (t) => {
    const path = newPath(t)
    const worker = startWorker(t)
    const first = await open(t, path, driver)
    await insertShops(first)
    await worker.ask('open', path, driver)
    await worker.ask('openImport', 'imp_1')
    await worker.ask('stage', 2, 3)
    await worker.end()

    const after = await open(t, path, driver)

    assert.deepEqual(rowsIn(await raw(t, path, driver)), NO_ROWS)
    assert.deepEqual(await transactions(after), [])
  })
}

function describeRefusals(driver: SqliteDriverName): void {
  test('a file that a newer tillkit has written is refused', async (t) => {
    const path = newPath(t)
    await (await openSqliteStorage(path, { driver })).close()
    const db = await raw(t, path, driver)
    db.exec(`PRAGMA user_version = ${MIGRATIONS.length + 1}`)

    await assertRefused(path, driver, 'newer tillkit')

    assert.equal(pragma(db, 'user_version'), MIGRATIONS.length + 1)
  })

  test("another program's SQLite file is refused and stays as it was", async (t) => {
    const path = newPath(t)
    const db = await raw(t, path, driver)
    db.exec('CREATE TABLE notes (text TEXT)')
    db.exec('PRAGMA user_version = 1')
    db.close()
    const before = readFileSync(path)

    await assertRefused(path, driver, 'another program')

    assert.ok(readFileSync(path).equals(before))
    assert.deepEqual(readdirSync(join(path, '..')), ['till.db'])
  })

  test('a text file is refused and stays as it was', async (t) => {
    const path = newPath(t)
    const text = 'A letter, not a database.\n'.repeat(1000)
    writeFileSync(path, text)

    await assertRefused(path, driver, 'not a database')

    assert.equal(readFileSync(path, 'utf8'), text)
  })

  test('a damaged file is refused', async (t) => {
    const path = newPath(t)
    const storage = await openSqliteStorage(path, { driver })
    await insertShops(storage)
    await storage.close()
    const bytes = readFileSync(path)
    writeFileSync(path, bytes.fill(0xff, 100, 8192))

    await assertRefused(path, driver, '')
  })

  test('a folder is refused', async (t) => {
    const path = newPath(t)
    mkdirSync(path)

    await assertRefused(path, driver, 'unable to open database file')
  })

  test('a file in a folder that does not exist is refused, and the folder not made', async (t) => {
    const folder = join(temporaryFolder(t), 'missing')

    await assertRefused(join(folder, 'till.db'), driver, 'ENOENT')

    assert.equal(existsSync(folder), false)
  })

  test('a write into a locked file is storage_unavailable, and goes in later', async (t) => {
    const path = newPath(t)
    hurry(t)
    const storage = await open(t, path, driver)
    const other = await raw(t, path, driver)
    other.exec('BEGIN IMMEDIATE')

    const insert = () => storage.insertAccount(newAccount('acc_1'), newKey('acc_1', 'hash-1'))
    await assert.rejects(insert, { code: 'storage_unavailable' })
    assert.deepEqual(await storage.listAccounts(), [])
    other.exec('ROLLBACK')

    await insert()
    assert.deepEqual(await storage.listAccounts(), [newAccount('acc_1')])
  })

  test('a slice that fills the disk is storage_unavailable, and its import aborts', async (t) => {
    const path = newPath(t)
    const connections = await watchConnections(t, driver)
    const storage = await open(t, path, driver)
    await insertShops(storage)
    const current = await openImport(storage, MAIN, 'imp_1')
    await stage(current, [newRow(2)])
    for (const db of connections) {
      db.exec(`PRAGMA max_page_count = ${Number(pragma(db, 'page_count')) + 4}`)
    }

    const rows = Array.from({ length: 5000 }, (_, index) => newRow(index + 3))
    await assert.rejects(stage(current, rows), { code: 'storage_unavailable' })
    await current.abort()

    assert.deepEqual(await transactions(storage), [])
    assert.deepEqual(rowsIn(await raw(t, path, driver)), NO_ROWS)
  })
}

function describeSettings(driver: SqliteDriverName): void {
  test('no other user of the machine may read the file or its WAL', async (t) => {
    const path = newPath(t)
    const umask = process.umask(0)
    t.after(() => process.umask(umask))

    const storage = await open(t, path, driver)
    await insertShops(storage)

    const modes = ['', '-wal', '-shm'].map((suffix) => statSync(path + suffix).mode & 0o777)
    assert.deepEqual(modes, [0o600, 0o600, 0o600])
  })

  test('every connection has a WAL, syncs it at each commit and checks foreign keys', async (t) => {
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

  test('a file is migrated once: opening it again changes nothing', async (t) => {
    const path = newPath(t)
    await (await openSqliteStorage(path, { driver })).close()
    const before = readFileSync(path)

    await (await openSqliteStorage(path, { driver })).close()

    assert.ok(readFileSync(path).equals(before))
    assert.equal(pragma(await raw(t, path, driver), 'user_version'), MIGRATIONS.length)
  })
}

function describeInterruptions(driver: SqliteDriverName): void {
  test('what a killed process had staged is never seen, and is cleared at the next open', async (t) => {
    const path = newPath(t)
    const witness = await open(t, path, driver)
    await insertShops(witness)
    await importOne(witness, 'imp_1', newRow(2, { status: 'pending' }))
    const worker = startWorker(t)
    await worker.ask('open', path, driver)
    await worker.ask('openImport', 'imp_2')
    await worker.ask('stage', 2, 7000)
    const db = await raw(t, path, driver)
    assert.deepEqual(rowsIn(db), { purchases: 7000, imports: 2, changes: 1 })

    await worker.kill()

    assert.deepEqual(await transactions(witness), ['tx_2'])
    const next = await open(t, path, driver)
    assert.deepEqual(rowsIn(db), { purchases: 1, imports: 1, changes: 0 })
    const { purchases } = await next.listPurchases(MAIN, {}, { limit: 10 })
    assert.deepEqual(
      purchases.map(({ transaction_id, status }) => [transaction_id, status]),
      [['tx_2', 'pending']],
    )
  })

  test('who is open already takes over the store of a killed import', async (t) => {
    const path = newPath(t)
    const witness = await open(t, path, driver)
    await insertShops(witness)
    const worker = startWorker(t)
    await worker.ask('open', path, driver)
    await worker.ask('openImport', 'imp_1')
    await worker.ask('stage', 2, 3)
    assert.equal(await witness.openImport(MAIN, 'imp_2'), undefined)

    await worker.kill()
    await importOne(witness, 'imp_2', newRow(3, { sku: 'gem' }))

    const { purchases } = await witness.listPurchases(MAIN, {}, { limit: 10 })
    assert.deepEqual(
      purchases.map(({ transaction_id, sku, import_id }) => [transaction_id, sku, import_id]),
      [['tx_3', 'gem', 'imp_2']],
    )
  })

  test('what a process has committed before it was killed is there', async (t) => {
    const path = newPath(t)
    const witness = await open(t, path, driver)
    await insertShops(witness)
    const worker = startWorker(t)
    await worker.ask('open', path, driver)
    await worker.ask('openImport', 'imp_1')
    await worker.ask('stage', 2, 3)
    await worker.ask('commit')

    await worker.kill()

    const next = await open(t, path, driver)
    assert.deepEqual(await transactions(next), ['tx_2', 'tx_3', 'tx_4'])
  })

  test('the import of a process that lives is left alone by one that opens the file', async (t) => {
    const path = newPath(t)
    const witness = await open(t, path, driver)
    await insertShops(witness)
    const worker = startWorker(t)
    await worker.ask('open', path, driver)
    await worker.ask('openImport', 'imp_1')
    await worker.ask('stage', 2, 3)

    const next = await open(t, path, driver)
    assert.equal(await next.openImport(MAIN, 'imp_2'), undefined)
    assert.deepEqual(await transactions(next), [])
    await worker.ask('commit')

    assert.deepEqual(await transactions(next), ['tx_2', 'tx_3', 'tx_4'])
  })

  test('an import from another machine is left alone while its lease lasts', async (t) => {
    const path = newPath(t)
    const storage = await open(t, path, driver)
    await insertShops(storage)
    const lost = await openImport(storage, MAIN, 'imp_1')
    await stage(lost, [newRow(2)])
    const db = await raw(t, path, driver)
    giveAway(db, { host: 'elsewhere', aliveAt: Date.now() })

    assert.equal(await storage.openImport(MAIN, 'imp_2'), undefined)
    let passed = 0
    const now = performance.now.bind(performance)
    t.mock.method(performance, 'now', () => now() + passed)
    passed = 25_000
    assert.equal(await storage.openImport(MAIN, 'imp_2'), undefined)

    passed = 31_000
    await (await openImport(storage, MAIN, 'imp_2')).commit()
    assert.deepEqual(await transactions(storage), [])
  })

  test('a clock that jumps makes no import of another process dead', async (t) => {
    const path = newPath(t)
    const storage = await open(t, path, driver)
    await insertShops(storage)
    const theirs = await openImport(storage, MAIN, 'imp_1')
    await stage(theirs, [newRow(2)])
    const db = await raw(t, path, driver)
    for (const jump of [3_600_000, -3_600_000]) {
      giveAway(db, { host: 'elsewhere', aliveAt: Date.now() - jump })
      assert.equal(await storage.openImport(MAIN, 'imp_2'), undefined)
      assert.equal(await storage.openImport(MAIN, 'imp_2'), undefined)
    }
  })

  test('an import that others took for dead can neither go on nor commit', async (t) => {
    const path = newPath(t)
    const storage = await open(t, path, driver)
    await insertShops(storage)
    const lost = await openImport(storage, MAIN, 'imp_1')
    await stage(lost, [newRow(2)])
    giveAway(await raw(t, path, driver))
    await importOne(storage, 'imp_2', newRow(9))

    await assert.rejects(stage(lost, [newRow(3)]), { code: 'storage_unavailable' })
    await assert.rejects(lost.commit(), { code: 'storage_unavailable' })

    assert.deepEqual(await transactions(storage), ['tx_9'])
  })

  test('an import that others took for dead does not abort theirs', async (t) => {
    const path = newPath(t)
    const storage = await open(t, path, driver)
    await insertShops(storage)
    const lost = await openImport(storage, MAIN, 'imp_1')
    await stage(lost, [newRow(2)])
    giveAway(await raw(t, path, driver))
    await importOne(storage, 'imp_2', newRow(9))

    await lost.abort()

    assert.deepEqual(await transactions(storage), ['tx_9'])
  })
}

function describeTakeOver(driver: SqliteDriverName): void {
  test('an import that is being cleared can not be committed any more', async (t) => {
    const path = newPath(t)
    const storage = await open(t, path, driver)
    await insertShops(storage)
    const lost = await openImport(storage, MAIN, 'imp_1')
    await stage(
      lost,
      Array.from({ length: 12_000 }, (_, index) => newRow(index + 2)),
    )
    const db = await raw(t, path, driver)
    giveAway(db)

    const taking = openImport(storage, MAIN, 'imp_2') // has deleted a first slice when it returns
    await assert.rejects(lost.commit(), { code: 'storage_unavailable' })

    assert.deepEqual(await transactions(storage), [])
    await (await taking).abort()
    assert.deepEqual(rowsIn(db), NO_ROWS)
  })

  test('a commit whose changes can not be moved yet is done, and the next import moves them', async (t) => {
    const path = newPath(t)
    const storage = await open(t, path, driver)
    await insertShops(storage)
    await importOne(storage, 'imp_1', newRow(2))
    const db = await raw(t, path, driver)
    db.exec(`CREATE TRIGGER full BEFORE DELETE ON purchase_changes
      BEGIN SELECT RAISE(ABORT, 'no room'); END`)

    await importOne(storage, 'imp_2', newRow(2, { status: 'refunded' }))

    const [changed] = (await storage.listPurchases(MAIN, {}, { limit: 10 })).purchases
    assert.equal(changed?.status, 'refunded')
    db.exec('DROP TRIGGER full')
    await importOne(storage, 'imp_3', newRow(3))
    assert.deepEqual(rowsIn(db), { purchases: 2, imports: 3, changes: 0 })
  })

  test('an abort after the commit takes nothing back', async (t) => {
    const storage = await open(t, newPath(t), driver)
    await insertShops(storage)
    const current = await openImport(storage, MAIN, 'imp_1')
    await stage(current, [newRow(2)])
    await current.commit()

    await current.abort()

    assert.deepEqual(await transactions(storage), ['tx_2'])
  })

  test('an abort that fails keeps no other import out', async (t) => {
    const path = newPath(t)
    hurry(t)
    const storage = await open(t, path, driver)
    await insertShops(storage)
    const current = await openImport(storage, MAIN, 'imp_1')
    await stage(current, [newRow(2)])
    const db = await raw(t, path, driver)
    db.exec('BEGIN IMMEDIATE')
    await assert.rejects(current.abort(), { code: 'storage_unavailable' })
    db.exec('ROLLBACK')

    await importOne(storage, 'imp_2', newRow(3))

    assert.deepEqual(await transactions(storage), ['tx_3'])
    assert.deepEqual(rowsIn(db), { purchases: 1, imports: 1, changes: 0 })
  })
}

function describeProcesses(driver: SqliteDriverName): void {
  for (const look of [1, 2, 3]) {
    test(`a file may be migrated by another process before look ${look} of the one that opens it`, async (t) => {
      const path = newPath(t)
      const other = await raw(t, path, driver)
      const prototype = await prototypeOf(driver)
      const { prepare } = prototype
      let looks = 0
      t.mock.method(prototype, 'prepare', function (this: SqliteDriver, sql: string) {
        if (++looks === look) migrate(other)
        return prepare.call(this, sql)
      })

      const storage = await open(t, path, driver)

      assert.deepEqual(await storage.listAccounts(), [])
    })
  }

  test('six processes open new files at once, and none loses an update', async (t) => {
    const workers = Array.from({ length: 6 }, () => startWorker(t))
    const paths = Array.from({ length: 4 }, () => newPath(t))

    for (const path of paths) {
      await Promise.all(workers.map((worker) => worker.ask('open', path, driver)))
      await Promise.all(workers.map((worker, i) => worker.ask('insertAccount', `acc_${i}`)))
    }

    for (const path of paths) {
      const storage = await open(t, path, driver)
      const ids = (await storage.listAccounts()).map(({ account_id }) => account_id)
      assert.deepEqual(ids.sort(), ['acc_0', 'acc_1', 'acc_2', 'acc_3', 'acc_4', 'acc_5'])
      assert.equal(pragma(await raw(t, path, driver), 'user_version'), MIGRATIONS.length)
    }

    const last = await open(t, paths.at(-1) ?? '', driver)
    await last.insertProject(newProject('prj_1', { config: { count: 0 } }))
    await Promise.all(workers.map((worker) => worker.ask('count', 'prj_1', 10)))
    assert.deepEqual((await last.findProject('prj_1'))?.config, { count: 60 })
  })
}

/** `PRAGMA synchronous` as SQLite answers it. */
const FULL = 2

const NO_ROWS = { purchases: 0, imports: 0, changes: 0 }

function newPath(t: TestContext): string {
  return join(temporaryFolder(t), 'till.db')
}

async function open(t: TestContext, path: string, driver: SqliteDriverName): Promise<Storage> {
  const storage = await openSqliteStorage(path, { driver })
  t.after(() => storage.close())
  return storage
}

function rowsIn(db: SqliteDriver): unknown {
  const row = db
    .prepare(
      `SELECT (SELECT count(*) FROM purchases) AS purchases,
         (SELECT count(*) FROM imports) AS imports,
         (SELECT count(*) FROM purchase_changes) AS changes`,
    )
    .get()
  return { ...(row as object) }
}

function migrate(db: SqliteDriver): void {
  db.exec(`BEGIN; ${MIGRATIONS.join(';')}`)
  db.exec(`PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${MIGRATIONS.length}`)
  db.exec('COMMIT')
}

/**
 * Gives the import under way to a process that is not there, by default a dead one of this host.
 */
function giveAway(db: SqliteDriver, { host = hostname(), aliveAt = 0 } = {}): void {
  const owner = JSON.stringify({ host, pid: process.pid, instance: 'another' })
  db.prepare('UPDATE imports SET owner = ?, alive_at = ? WHERE owner IS NOT NULL').run(
    owner,
    aliveAt,
  )
}

async function assertRefused(
  path: string,
  driver: SqliteDriverName,
  reason: string,
): Promise<void> {
  await assert.rejects(openSqliteStorage(path, { driver }), (error: Error & { code?: string }) => {
    assert.equal(error.code, 'storage_unavailable')
    assert.ok(error.message.includes(path), error.message)
    assert.ok(error.message.includes(reason), error.message)
    return true
  })
}

async function openImport(
  storage: Storage,
  store: StoreKey,
  import_id: string,
): Promise<PurchaseImport> {
  const opened = await storage.openImport(store, import_id)
  return opened ?? assert.fail('another import is under way')
}

async function importOne(
  storage: Storage,
  import_id: string,
  row: ReturnType<typeof newRow>,
): Promise<void> {
  const current = await openImport(storage, MAIN, import_id)
  await stage(current, [row])
  await current.commit()
}

async function transactions(storage: Storage): Promise<string[]> {
  const { purchases } = await storage.listPurchases(MAIN, {}, { limit: 1000 })
  return purchases.map(({ transaction_id }) => transaction_id)
}

async function everything(storage: Storage) {
  return {
    accounts: await storage.listAccounts(),
    byKey: await storage.findAccountByKeyHash('hash-2'),
    projects: await storage.listProjects('acc_1'),
    stores: await storage.listStores('prj_1'),
    items: await itemsOf(storage, MAIN),
    purchases: await storage.listPurchases(MAIN, {}, { limit: 10 }),
    side: await storage.listPurchases(SIDE, {}, { limit: 10 }),
    keys: await storage.listSigningKeys(),
  }
}
