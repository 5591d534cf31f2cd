import assert from 'node:assert/strict'
import {
  existsSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { openSqliteStorage, type Storage } from '../../lib/index.ts'
import { openSqliteDriver, type SqliteDriverName } from '../../lib/storage/sqlite/drivers.ts'
import { hurry } from '../support/clock.ts'
import { sqliteDrivers } from '../support/drivers.ts'
import { temporaryFolder } from '../support/folder.ts'
import { insertShops, itemsOf, MAIN, newItem, newRow, stage } from './fixtures/records.ts'

for (const { driver, skip } of await sqliteDrivers()) {
  describe(`maintenance of a SQLite file with ${driver}`, { skip }, () => describeUpkeep(driver))
}

function describeUpkeep(driver: SqliteDriverName): void {
  test('a missing file is refused and not created with create: false', async (t) => {
    const path = join(temporaryFolder(t), 'mistyped.db')

    const opened = openSqliteStorage(path, { driver, create: false })

    const message = `Cannot open the database ${path}: there is no such file`
    await assert.rejects(opened, { code: 'storage_unavailable', message })
    assert.equal(existsSync(path), false)
  })

  test('an empty file is refused and stays empty with create: false', async (t) => {
    const path = join(temporaryFolder(t), 'empty.db')
    writeFileSync(path, '')

    const opened = openSqliteStorage(path, { driver, create: false })

    const message = `Cannot open the database ${path}: the file is empty`
    await assert.rejects(opened, { code: 'storage_unavailable', message })
    assert.equal(statSync(path).size, 0)
    await (await openSqliteStorage(path, { driver })).close()
    assert.ok(statSync(path).size > 0)
  })

  test('a backup during an import has all committed records', async (t) => {
    const { storage, folder } = await newStorage(t, driver)
    await insertShops(storage)
    const done = await storage.openImport(MAIN, 'imp_1')
    assert.ok(done)
    await stage(done, [newRow(2)])
    await done.commit()
    const current = await storage.openImport(MAIN, 'imp_2')
    assert.ok(current)
    await stage(current, [newRow(3), newRow(4)])

    const copy = join(folder, 'copy.db')
    await Promise.all([storage.insertItem(newItem('at_the_same_time')), storage.backup?.(copy)])
    await storage.insertItem(newItem('later'))
    await current.commit()

    const restored = await openSqliteStorage(copy, { driver, create: false })
    t.after(() => restored.close())
    assert.deepEqual(await restored.check(), [])
    const { purchases } = await restored.listPurchases(MAIN, {}, { limit: 10 })
    assert.deepEqual(
      purchases.map(({ transaction_id }) => transaction_id),
      ['tx_2'],
    )
    assert.equal(
      (await itemsOf(restored, MAIN)).some(({ name }) => name === 'later'),
      false,
    )
    await restored.insertItem(newItem('later'))
  })

  test('forget does not resolve while a reader keeps old data in the WAL', async (t) => {
    const path = join(temporaryFolder(t), 'till.db')
    const storage = await openSqliteStorage(path, { driver })
    t.after(() => storage.close())
    await insertShops(storage)
    const reader = await openSqliteDriver(path, driver)
    t.after(() => reader.close())
    reader.exec('BEGIN')
    reader.prepare('SELECT * FROM accounts').all()
    await storage.updateProject('prj_1', (project) => ({ ...project, name: 'forget-me' }))
    await storage.updateProject('prj_1', (project) => ({ ...project, name: 'New' }))
    hurry(t)

    await assert.rejects(async () => storage.forget?.(), { code: 'storage_unavailable' })
    assert.ok(readFileSync(`${path}-wal`).includes('forget-me'))

    t.mock.restoreAll()
    const forgetting = storage.forget?.()
    reader.exec('COMMIT')
    await forgetting
    for (const file of [path, `${path}-wal`]) assert.ok(!readFileSync(file).includes('forget-me'))
  })

  test('writes fail after a backup replaced the open file', async (t) => {
    const path = join(temporaryFolder(t), 'till.db')
    const storage = await openSqliteStorage(path, { driver })
    t.after(() => storage.close())
    await insertShops(storage)
    await storage.backup?.(`${path}.backup`)
    const current = await storage.openImport(MAIN, 'imp_1')
    await current?.stage([newRow(2)])

    for (const suffix of ['', '-wal', '-shm']) rmSync(`${path}${suffix}`)
    const gone = { code: 'storage_unavailable', message: /was replaced or moved/ }
    await assert.rejects(storage.insertItem(newItem('lost')), gone)
    symlinkSync(path, path) // a cycle
    await assert.rejects(storage.insertItem(newItem('lost')), gone)
    unlinkSync(path)
    renameSync(`${path}.backup`, path)
    await assert.rejects(storage.insertItem(newItem('lost')), gone)
    await assert.rejects(storage.ping(), gone)
    await assert.rejects(async () => current?.commit(), gone)

    const restored = await openSqliteStorage(path, { driver })
    t.after(() => restored.close())
    await restored.insertItem(newItem('kept'))
    assert.deepEqual(await restored.check(), [])
  })

  test('a backup has mode 0600 and does not replace a file', async (t) => {
    const { storage, folder } = await newStorage(t, driver)
    const umask = process.umask(0)
    t.after(() => process.umask(umask))
    const copy = join(folder, 'copy.db')

    await storage.backup?.(copy)

    assert.equal(statSync(copy).mode & 0o777, 0o600)
    writeFileSync(copy, 'precious')
    await assert.rejects(async () => storage.backup?.(copy), {
      code: 'storage_unavailable',
    })
    assert.equal(readFileSync(copy, 'utf8'), 'precious')
    await assert.rejects(async () => storage.backup?.(join(folder, 'none', 'copy.db')), {
      code: 'storage_unavailable',
    })
  })

  test('a check names rows with missing references', async (t) => {
    const { storage, path } = await newStorage(t, driver)
    await insertShops(storage)
    const current = await storage.openImport(MAIN, 'imp_1')
    assert.ok(current)
    await stage(current, [newRow(2), newRow(3)])
    await current.commit()
    const db = await openSqliteDriver(path, driver)
    db.exec('PRAGMA foreign_keys = OFF')
    db.exec("DELETE FROM transactions WHERE transaction_id = 'tx_2'")
    db.exec("UPDATE projects SET account_id = 'acc_none' WHERE id = 'prj_2'")
    db.close()

    const problems = await storage.check()

    assert.deepEqual(problems, [
      'row 2 of projects names a missing row of accounts',
      '1 purchases of imports that are done are missing from the index of transactions',
    ])
  })
}

async function newStorage(t: TestContext, driver: SqliteDriverName) {
  const opened: Storage[] = []
  // Hooks run in order of registration: the storage closes before its folder is deleted.
  t.after(() => opened[0]?.close())
  const folder = temporaryFolder(t)
  const path = join(folder, 'till.db')
  const storage = await openSqliteStorage(path, { driver })
  opened.push(storage)
  return { storage, folder, path }
}
