import assert from 'node:assert/strict'
import {
  copyFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  statfsSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { openSqliteStorage, type Storage } from '../../lib/index.ts'
import type { SqliteDriverName } from '../../lib/storage/sqlite/drivers.ts'
import { prototypeOf, raw } from '../support/connections.ts'
import { makeReadOnly, smallDisk } from '../support/disk.ts'
import { sqliteDrivers } from '../support/drivers.ts'
import { temporaryFolder } from '../support/folder.ts'
import { startWorker } from '../support/worker.ts'
import { insertShops, itemsOf, MAIN, newItem, newRow } from './fixtures/records.ts'
import { findStale, insertLine } from './fixtures/steps.ts'

for (const { driver, skip } of await sqliteDrivers()) {
  describe(`damaged files with ${driver}`, { skip }, () => {
    describe('and checks', () => describeChecks(driver))
    describe('and backups', () => describeBackups(driver))
    describe('and file systems', () => describePlaces(driver))
  })
}

function describeChecks(driver: SqliteDriverName): void {
  test('a check names rows with missing references', async (t) => {
    const path = await filledFile(t, driver)
    const damage: [sql: string, found: RegExp][] = [
      [
        "DELETE FROM accounts WHERE account_id = 'acc_1'",
        /account_keys names a missing row of acc/,
      ],
      ["DELETE FROM projects WHERE id = 'prj_1'", /stores names a missing row of projects/],
      ["DELETE FROM stores WHERE store_id = 'main'", /items names a missing row of stores/],
      ['DELETE FROM items', /purchases name an item/],
      ['DELETE FROM imports', /purchases name an import/],
      [
        'DELETE FROM purchases WHERE seq = (SELECT max(seq) FROM purchases)',
        /1 transactions name a purchase/,
      ],
      ['DELETE FROM transactions', /3 purchases .* missing from the index/],
      [
        'UPDATE transactions SET purchase = purchase + 1 WHERE transaction_id = (SELECT min(transaction_id) FROM transactions)',
        /missing from the index/,
      ],
      ["INSERT INTO transactions VALUES (1, 'ghost', 1)", /1 transactions name a purchase/],
      ['UPDATE imports SET last_purchase = last_purchase - 1', /1 purchases .* outside the rows/],
      ['UPDATE imports SET last_purchase = NULL', /3 purchases .* outside the rows/],
      ['INSERT INTO purchase_changes VALUES (99, 99, 2)', /changes name a purchase/],
      ['INSERT INTO purchase_changes VALUES (1, 99, 2)', /changes name an import/],
    ]
    for (const [index, [sql, found]] of damage.entries()) {
      const copy = `${path}.${index}`
      copyFileSync(path, copy)
      const db = await raw(t, copy, driver)
      db.exec('PRAGMA foreign_keys = OFF')
      db.exec(sql)
      db.close()
      const storage = await open(t, copy, driver)
      assert.match((await storage.check()).join('\n'), found, sql)
      await storage.close()
    }
  })

  test('an overwritten page is found by a check, or the file does not open', async (t) => {
    const path = await filledFile(t, driver)
    const bytes = readFileSync(path)
    for (let page = 0; page < bytes.length / 4096; page++) {
      const copy = `${path}.${page}`
      writeFileSync(copy, Buffer.from(bytes).fill(0x41, page * 4096, (page + 1) * 4096))
      const storage = await open(t, copy, driver).catch((error) => error)
      if (storage instanceof Error) {
        assert.equal((storage as { code?: string }).code, 'storage_unavailable')
        assert.ok(storage.message.startsWith(`Cannot open the database ${copy}: `))
      } else {
        assert.notDeepEqual(await storage.check(), [], `page ${page}`)
      }
    }
  })

  test('a check of a closed storage rejects and reports no damage', async (t) => {
    const storage = await open(t, await filledFile(t, driver), driver)
    await storage.close()

    await assert.rejects(storage.check(), { code: 'storage_unavailable' })
  })
}

function describeBackups(driver: SqliteDriverName): void {
  test('a backup during writes and an import is consistent', async (t) => {
    const path = await filledFile(t, driver)
    const storage = await open(t, path, driver)
    await insertLine(storage, 'line')
    const staged = (await storage.openImport(MAIN, 'imp_half')) ?? assert.fail()
    await staged.stage([newRow(100), newRow(101)])
    const worker = startWorker(t)
    await worker.ask('open', path, driver)
    const reported = worker.takeSteps('line')

    for (let round = 0; round < 5; round++) {
      while (reported.steps < 3 * round + 2) await storage.ping().then(nextTurn)
      const copy = join(dirname(path), `copy-${round}.db`)
      const { steps } = reported
      await backup(storage, copy)

      assert.equal(statSync(copy).mode & 0o777, 0o600)
      const restored = await open(t, copy, driver)
      assert.deepEqual(await restored.check(), [])
      assert.deepEqual(await findStale(restored, 'line', steps), [])
      const { purchases } = await restored.listPurchases(MAIN, {}, { limit: 100 })
      assert.equal(purchases.length, 3)
      await restored.close()
    }
    await staged.finish()
    await staged.commit()
    assert.equal((await storage.listPurchases(MAIN, {}, { limit: 100 })).purchases.length, 5)
  })

  test('a backup refuses an existing file and an impossible path', async (t) => {
    const path = await filledFile(t, driver)
    const storage = await open(t, path, driver)
    const there = join(dirname(path), 'there.db')
    for (const text of ['kept', '']) {
      writeFileSync(there, text)
      await assertNoBackup(storage, there, 'it is there already')
      assert.equal(readFileSync(there, 'utf8'), text)
    }
    await assertNoBackup(storage, path, 'it is there already')
    await assertNoBackup(storage, dirname(path), 'it is there already')
    await assertNoBackup(storage, '', 'it is there already')
    await assertNoBackup(storage, join(dirname(path), 'none', 'copy.db'), 'ENOENT')
    assert.deepEqual(await storage.check(), [])
  })

  test('a backup on a full disk leaves no file', async (t) => {
    const disk = smallDisk(t)
    if (!disk) return
    const storage = await open(t, await filledFile(t, driver), driver)
    const items = Array.from({ length: 80 }, (_, i) => largeItem(`large_${i}`))
    await Promise.all(items.map((item) => storage.insertItem(item)))

    await assertNoBackup(storage, join(disk, 'copy.db'), 'full')

    assert.deepEqual(readdirSync(disk), [])
  })
}

function describePlaces(driver: SqliteDriverName): void {
  test('on a full disk writes fail without loss, and succeed once there is space', async (t) => {
    const disk = smallDisk(t)
    if (!disk) return
    const path = join(disk, 'till.db')
    const storage = await open(t, path, driver)
    await insertShops(storage)
    const ballast = join(disk, 'ballast')
    writeFileSync(ballast, Buffer.alloc(200_000))

    const kept: string[] = []
    let refused = 0
    for (let round = 0; round < 12; round++) {
      const names = Array.from({ length: 4 }, (_, i) => `item_${round}_${i}`)
      const results = await Promise.allSettled(
        names.map((name) => storage.insertItem(largeItem(name))),
      )
      results.forEach((each, i) => {
        if (each.status === 'fulfilled') kept.push(names[i] as string)
        else assert.equal(each.reason.code, 'storage_unavailable')
        if (each.status === 'rejected') refused++
      })
    }
    assert.ok(refused > 0 && kept.length > 0)
    const names = async (from: Storage) => (await itemsOf(from, MAIN)).map(({ name }) => name)
    assert.deepEqual(await names(storage), ['gold', 'gem', ...kept])
    assert.deepEqual(await storage.check(), [])

    rmSync(ballast)
    assert.equal(await storage.insertItem(newItem('after')), 'inserted')
    await storage.close()
    const again = await open(t, path, driver)
    assert.deepEqual(await names(again), ['gold', 'gem', ...kept, 'after'])
    assert.deepEqual(await again.check(), [])
  })

  test('on a full disk opening fails at once, without the retries for a lock', async (t) => {
    const disk = smallDisk(t)
    if (!disk) return
    const { bavail, bsize } = statfsSync(disk)
    writeFileSync(join(disk, 'ballast'), Buffer.alloc(bavail * bsize))
    const exec = t.mock.method(await prototypeOf(driver), 'exec')

    await assert.rejects(openSqliteStorage(join(disk, 'till.db'), { driver }), {
      code: 'storage_unavailable',
      message: /^Cannot open the database .*till\.db: .*(full|disk I\/O error)/,
    })

    const tried = exec.mock.calls.filter(({ arguments: [sql] }) =>
      /auto_vacuum|journal_mode/.test(String(sql)),
    )
    assert.equal(tried.length, 1)
  })

  test('a file on a read-only disk is refused with one clear message', async (t) => {
    const disk = smallDisk(t)
    if (!disk) return
    const path = join(disk, 'till.db')
    copyFileSync(await filledFile(t, driver), path)
    makeReadOnly(disk)

    await assert.rejects(openSqliteStorage(path, { driver }), {
      code: 'storage_unavailable',
      message: /^Cannot open the database .*till\.db: .*(readonly|read-only|unable to open)/,
    })
    const missing = join(disk, 'new.db')
    await assert.rejects(openSqliteStorage(missing, { driver }), {
      code: 'storage_unavailable',
      message: /^Cannot open the database .*new\.db: EROFS/,
    })
  })

  test('opening a file again keeps the locks of its first connection', async (t) => {
    if (!existsSync('/proc/locks')) return t.skip('only Linux lists the holders of locks')
    const path = await filledFile(t, driver)
    await open(t, path, driver)
    const held = locksOn(path)
    assert.ok(held > 0)

    await open(t, path, driver)

    assert.equal(locksOn(path), held)
  })
}

function locksOn(path: string): number {
  const inode = `:${statSync(path).ino} `
  return readFileSync('/proc/locks', 'utf8')
    .split('\n')
    .filter((line) => line.includes(inode)).length
}

const nextTurn = () => new Promise((resolve) => setImmediate(resolve))

const largeItem = (name: string) => newItem(name, { metadata: { text: 'x'.repeat(30_000) } })

async function backup(storage: Storage, path: string): Promise<void> {
  await (storage.backup ?? assert.fail())(path)
}

async function assertNoBackup(storage: Storage, path: string, reason: string): Promise<void> {
  await assert.rejects(backup(storage, path), (error: Error & { code?: string }) => {
    assert.equal(error.code, 'storage_unavailable')
    assert.ok(error.message.startsWith(`Cannot write the backup ${path}: `), error.message)
    assert.ok(error.message.includes(reason), error.message)
    return true
  })
}

/** Creates and closes a file with two shops and an import of three purchases. */
async function filledFile(t: TestContext, driver: SqliteDriverName): Promise<string> {
  const path = join(temporaryFolder(t), 'till.db')
  const storage = await openSqliteStorage(path, { driver })
  await insertShops(storage)
  const current = (await storage.openImport(MAIN, 'imp_1')) ?? assert.fail()
  await current.stage([newRow(2), newRow(3), newRow(4)])
  await current.finish()
  await current.commit()
  await storage.close()
  return path
}

async function open(t: TestContext, path: string, driver: SqliteDriverName): Promise<Storage> {
  const storage = await openSqliteStorage(path, { driver })
  t.after(() => storage.close())
  return storage
}
