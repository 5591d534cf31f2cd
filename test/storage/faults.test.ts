// run: runtime
import assert from 'node:assert/strict'
import {
  copyFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { openSqliteStorage, type Storage } from '../../lib/index.ts'
import type { SqliteDriver } from '../../lib/storage/sqlite/drivers.ts'
import { hurry } from '../support/clock.ts'
import { pragma, prototypeOf, raw, watchConnections } from '../support/connections.ts'
import { makeReadOnly, smallDisk } from '../support/disk.ts'
import { sqliteDrivers } from '../support/drivers.ts'
import { eventuallyHolds } from '../support/eventually.ts'
import { importRows, openImport, transactions } from '../support/storage/imports.ts'
import { newPath, rowsIn } from '../support/storage/places.ts'
import { addRows, insertShops, itemsOf, MAIN, newItem, newRow } from '../support/storage/records.ts'
import { findStale, insertLine, takeStep } from '../support/storage/steps.ts'

const UNAVAILABLE = { code: 'storage_unavailable' }

const nextTurn = () => new Promise((resolve) => setImmediate(resolve))
const largeItem = (name: string) => newItem(name, { metadata: { text: 'x'.repeat(30_000) } })
const namesIn = async (storage: Storage) => (await itemsOf(storage, MAIN)).map(({ name }) => name)

/** Opens a file with its own schema, and closes it after the test. */
async function open(t: TestContext, path: string): Promise<Storage> {
  const storage = await openSqliteStorage(path)
  t.after(() => storage.close())
  return storage
}

/** Creates and closes a file with two shops and an import of three purchases. */
async function filledFile(t: TestContext): Promise<string> {
  const path = newPath(t)
  const storage = await openSqliteStorage(path)
  await insertShops(storage)
  await importRows(storage, MAIN, 'imp_1', [newRow(2), newRow(3), newRow(4)])
  await storage.close()
  return path
}

describe('a check of a damaged file', () => {
  const DAMAGE: readonly (readonly [sql: string, found: RegExp])[] = [
    ["DELETE FROM accounts WHERE account_id = 'acc_1'", /account_keys names a missing row of acc/],
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
      "UPDATE transactions SET purchase = purchase + 1 WHERE transaction_id = 'tx_2'",
      /missing from the index/,
    ],
    ["INSERT INTO transactions VALUES (1, 'ghost', 1)", /1 transactions name a purchase/],
    ['UPDATE imports SET last_purchase = last_purchase - 1', /1 purchases .* outside the rows/],
    ['UPDATE imports SET last_purchase = NULL', /3 purchases .* outside the rows/],
    [
      'INSERT INTO purchase_changes (purchase, import, status) VALUES (99, 99, 2)',
      /changes name a purchase/,
    ],
    [
      'INSERT INTO purchase_changes (purchase, import, status) VALUES (1, 99, 2)',
      /changes name an import/,
    ],
  ]

  test('names rows with missing references', async (t) => {
    const path = await filledFile(t)
    for (const [index, [sql, found]] of DAMAGE.entries()) {
      const copy = `${path}.${index}`
      copyFileSync(path, copy)
      const db = await raw(t, copy)
      db.exec(`PRAGMA foreign_keys = OFF; ${sql}`)
      db.close()
      const storage = await open(t, copy)
      assert.match((await storage.check()).join('\n'), found, sql)
      await storage.close()
    }
  })

  test('finds an overwritten page, or the file does not open', async (t) => {
    const path = await filledFile(t)
    const bytes = readFileSync(path)
    for (let page = 0; page < bytes.length / 4096; page++) {
      const copy = `${path}.${page}`
      writeFileSync(copy, Buffer.from(bytes).fill(0x41, page * 4096, (page + 1) * 4096))
      const storage = await open(t, copy).catch((error) => error)
      if (storage instanceof Error) {
        assert.equal((storage as { code?: string }).code, 'storage_unavailable')
        assert.ok(storage.message.startsWith(`Cannot open the database ${copy}: `))
      } else {
        assert.notDeepEqual(await storage.check(), [], `page ${page}`)
      }
    }
  })
})

async function assertNoBackup(storage: Storage, path: string, reason: string): Promise<void> {
  const backup = async () => storage.backup?.(path)
  await assert.rejects(backup, (error: Error & { code?: string }) => {
    assert.equal(error.code, 'storage_unavailable')
    assert.ok(error.message.startsWith(`Cannot write the backup ${path}: `), error.message)
    assert.ok(error.message.includes(reason), error.message)
    return true
  })
}

describe('a backup', () => {
  test('during writes and an import is consistent, and has mode 0600', async (t) => {
    const umask = process.umask(0)
    t.after(() => process.umask(umask))
    const path = await filledFile(t)
    const storage = await open(t, path)
    await insertLine(storage, 'line')
    const half = await openImport(storage, MAIN, 'imp_half')
    await addRows(half, [newRow(100), newRow(101)])
    const other = await open(t, path)
    let written = 0
    let isOver = false
    const writing = (async () => {
      for (; !isOver; written++) await takeStep(other, 'line', written + 1)
    })()

    for (let round = 0; round < 3; round++) {
      while (written < 3 * round + 2) await nextTurn()
      const copy = join(dirname(path), `copy-${round}.db`)
      const steps = written
      await storage.backup?.(copy)
      await storage.insertItem(newItem(`later_${round}`))

      assert.equal(statSync(copy).mode & 0o777, 0o600)
      const restored = await open(t, copy)
      assert.deepEqual(await restored.check(), [])
      assert.deepEqual(await findStale(restored, 'line', steps), [])
      assert.deepEqual(await transactions(restored, MAIN), ['tx_2', 'tx_3', 'tx_4'])
      assert.ok(!(await namesIn(restored)).includes(`later_${round}`))
      assert.equal(await restored.insertItem(newItem(`later_${round}`)), 'inserted')
      await restored.close()
    }
    isOver = true
    await writing
    await half.commit()
    assert.equal((await transactions(storage, MAIN)).length, 5)
  })

  test('on a full disk leaves no file, and one that is there already stays', async (t) => {
    const disk = smallDisk(t)
    if (!disk) return
    const storage = await open(t, await filledFile(t))
    const items = Array.from({ length: 80 }, (_, i) => largeItem(`large_${i}`))
    await Promise.all(items.map((item) => storage.insertItem(item)))

    await assertNoBackup(storage, join(disk, 'copy.db'), 'full')
    assert.deepEqual(readdirSync(disk), [])

    const there = join(disk, 'there.db')
    writeFileSync(there, 'kept')
    await assertNoBackup(storage, there, 'it is there already')
    assert.equal(readFileSync(there, 'utf8'), 'kept')
    await assertNoBackup(storage, join(disk, 'none', 'copy.db'), 'ENOENT')
  })

  test('is named .partial until it is complete, and does not overwrite one that is there', async (t) => {
    const storage = await open(t, await filledFile(t))
    const copy = newPath(t)
    const partial = `${copy}.partial`
    let during: readonly string[] = []
    const prototype = await prototypeOf()
    const { prepare } = prototype
    t.mock.method(prototype, 'prepare', function (this: SqliteDriver, sql: string) {
      if (sql.startsWith('VACUUM INTO')) during = readdirSync(dirname(copy))
      return prepare.call(this, sql)
    })
    await storage.backup?.(copy)
    assert.deepEqual(during, ['till.db.partial'])
    assert.deepEqual(readdirSync(dirname(copy)), ['till.db'])

    const second = join(dirname(copy), 'second.db')
    writeFileSync(`${second}.partial`, 'left')
    const remedy = `${second}.partial is there already: delete it if no backup is running`
    await assertNoBackup(storage, second, remedy)
    assert.equal(readFileSync(`${second}.partial`, 'utf8'), 'left')
    symlinkSync(join(dirname(copy), 'nowhere'), partial.replace('.partial', '2'))
    await assertNoBackup(storage, `${copy}2`, 'it is there already')
  })

  test('that replaces the open file makes writes fail', async (t) => {
    const path = newPath(t)
    const storage = await open(t, path)
    await insertShops(storage)
    await storage.backup?.(`${path}.backup`)
    const current = await openImport(storage, MAIN, 'imp_1')
    await current.add([newRow(2)])

    for (const suffix of ['', '-wal', '-shm']) rmSync(`${path}${suffix}`)
    const gone = { ...UNAVAILABLE, message: /was replaced or moved/ }
    await assert.rejects(storage.insertItem(newItem('lost')), gone)
    symlinkSync(path, path) // a cycle
    await assert.rejects(storage.insertItem(newItem('lost')), gone)
    unlinkSync(path)
    renameSync(`${path}.backup`, path)
    await assert.rejects(storage.insertItem(newItem('lost')), gone)
    await assert.rejects(storage.ping(), gone)
    await assert.rejects(current.commit(), gone)

    const restored = await open(t, path)
    await restored.insertItem(newItem('kept'))
    assert.deepEqual(await restored.check(), [])
  })
})

for (const suffix of ['-wal', '-shm']) {
  test(`writes are refused after the file ${suffix} was deleted or replaced, and closing saves the earlier ones`, async (t) => {
    const path = newPath(t)
    const storage = await open(t, path)
    await insertShops(storage)
    await storage.insertItem(newItem('acknowledged'))
    const bytes = readFileSync(`${path}${suffix}`)
    rmSync(`${path}${suffix}`)

    const gone = { ...UNAVAILABLE, message: /write-ahead log .* deleted or replaced/ }
    await assert.rejects(storage.insertItem(newItem('lost')), gone)
    await assert.rejects(storage.ping(), gone)
    writeFileSync(`${path}${suffix}`, bytes)
    await assert.rejects(storage.insertItem(newItem('lost')), gone)
    rmSync(`${path}${suffix}`)
    await storage.close()

    const again = await open(t, path)
    assert.ok((await namesIn(again)).includes('acknowledged'))
    assert.deepEqual(await again.check(), [])
  })
}

describe('a discarded new database', () => {
  test('is deleted when it has no account, or only an unfinished copy', async (t) => {
    const path = newPath(t)
    const empty = await open(t, path)
    await empty.discard?.()
    assert.deepEqual(readdirSync(dirname(path)), [])

    const copy = await open(t, path)
    await copy.beginCopy(new Date().toISOString())
    await insertShops(copy)
    await copy.discard?.()
    assert.deepEqual(readdirSync(dirname(path)), [])
  })

  test('stays when it has an account, when another connection uses it, and when it was there before', async (t) => {
    const path = newPath(t)
    const first = await open(t, path)
    const other = await open(t, path)
    assert.equal(other.discard, undefined)
    await first.discard?.()
    await insertShops(other)
    await other.close()

    const kept = join(dirname(path), 'kept.db')
    const shop = await open(t, kept)
    await insertShops(shop)
    await shop.discard?.()

    for (const each of [path, kept]) {
      assert.equal(
        (await (await open(t, each)).listStores('prj_1', { limit: 9 })).records.length > 0,
        true,
      )
    }
  })
})

test('a missing driver leaves no empty file behind', async (t) => {
  const missing = (await sqliteDrivers()).find(({ skip }) => skip)
  if (!missing) return t.skip('this Node loads every driver')
  const path = newPath(t)
  const opening = openSqliteStorage(path, { driver: missing.driver })
  await assert.rejects(opening, { ...UNAVAILABLE, message: /No SQLite driver/ })
  assert.deepEqual(readdirSync(dirname(path)), [])
})

test('forget does not resolve while a reader keeps old data in the WAL', async (t) => {
  const path = newPath(t)
  const storage = await open(t, path)
  await insertShops(storage)
  const reader = await raw(t, path)
  reader.exec('BEGIN')
  reader.prepare('SELECT * FROM accounts').all()
  for (const name of ['forget-me', 'New']) {
    await storage.updateProject('prj_1', (project) => ({ record: { ...project, name } }))
  }
  hurry(t)

  await assert.rejects(async () => storage.forget?.(), UNAVAILABLE)
  assert.ok(readFileSync(`${path}-wal`).includes('forget-me'))

  t.mock.restoreAll()
  const forgetting = storage.forget?.()
  reader.exec('COMMIT')
  await forgetting
  for (const file of [path, `${path}-wal`]) assert.ok(!readFileSync(file).includes('forget-me'))
})

describe('a full or read-only disk', () => {
  test('makes a slice of an import fail, which can be aborted, and reads work', async (t) => {
    const path = newPath(t)
    const connections = await watchConnections(t)
    const storage = await open(t, path)
    await insertShops(storage)
    const current = await openImport(storage, MAIN, 'imp_1')
    await addRows(current, [newRow(2)])
    for (const db of connections) {
      db.exec(`PRAGMA max_page_count = ${Number(pragma(db, 'page_count')) + 4}`)
    }

    const rows = Array.from({ length: 5000 }, (_, index) => newRow(index + 3))
    await assert.rejects(addRows(current, rows), UNAVAILABLE)
    await current.abort()

    assert.deepEqual(await transactions(storage, MAIN), [])
    const db = await raw(t, path)
    assert.deepEqual(
      await rowsIn({ run: async (sql) => db.prepare(sql).all() as never }),
      [0, 0, 0],
    )
  })

  test('delays the next import only until it has space again', async (t) => {
    const disk = smallDisk(t)
    if (!disk) return
    const path = join(disk, 'till.db')
    const storage = await open(t, path)
    await insertShops(storage)
    const current = await openImport(storage, MAIN, 'imp_1')
    await addRows(current, [newRow(2)])
    const junk = join(disk, 'junk')
    assert.throws(() => writeFileSync(junk, Buffer.alloc(4 * 2 ** 20)), { code: 'ENOSPC' })
    await assert.rejects(addRows(current, [newRow(3)]), UNAVAILABLE)
    await assert.rejects(current.abort(), UNAVAILABLE)
    assert.equal(await storage.openImport(MAIN, 'imp_2'), undefined)

    rmSync(junk)
    const since = performance.now()
    await eventuallyHolds(() => importRows(storage, MAIN, 'imp_2', [newRow(4)]))

    assert.ok(performance.now() - since < 20_000) // less than a lease
    assert.deepEqual(await transactions(storage, MAIN), ['tx_4'])
  })

  test('is refused with one clear message when it is read-only', async (t) => {
    const disk = smallDisk(t)
    if (!disk) return
    const path = join(disk, 'till.db')
    copyFileSync(await filledFile(t), path)
    makeReadOnly(disk)

    const message = /^Cannot open the database .*till\.db: .*(readonly|read-only|unable to open)/
    await assert.rejects(openSqliteStorage(path), { ...UNAVAILABLE, message })
    const missing = { ...UNAVAILABLE, message: /^Cannot open the database .*new\.db: EROFS/ }
    await assert.rejects(openSqliteStorage(join(disk, 'new.db')), missing)
  })
})

test('opening a file again keeps the locks of its first connection', async (t) => {
  if (!existsSync('/proc/locks')) return t.skip('only Linux lists the holders of locks')
  const path = await filledFile(t)
  const locks = () => {
    const inode = `:${statSync(path).ino} `
    const lines = readFileSync('/proc/locks', 'utf8').split('\n')
    return lines.filter((line) => line.includes(inode)).length
  }
  await open(t, path)
  const held = locks()
  assert.ok(held > 0)

  await open(t, path)

  assert.equal(locks(), held)
})
