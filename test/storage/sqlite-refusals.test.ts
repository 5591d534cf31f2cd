import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { openSqliteStorage } from '../../lib/index.ts'
import type { SqliteDriverName } from '../../lib/storage/sqlite/drivers.ts'
import { hurry } from '../support/clock.ts'
import { all } from '../support/collect.ts'
import { pragma, raw, watchConnections } from '../support/connections.ts'
import { sqliteDrivers } from '../support/drivers.ts'
import { temporaryFolder } from '../support/folder.ts'
import { openImport } from './fixtures/imports.ts'
import { insertShops, MAIN, newAccount, newKey, newRow, stage } from './fixtures/records.ts'
import { NEWEST, NO_ROWS, newPath, open, rowsIn, transactions } from './fixtures/sqlite.ts'

for (const { driver, skip } of await sqliteDrivers()) {
  describe(`SQLite files with ${driver}`, { skip }, () => {
    describe('that are unusable', () => describeRefusals(driver))
  })
}

function describeRefusals(driver: SqliteDriverName): void {
  test('a file that a newer tillkit has written is refused', async (t) => {
    const path = newPath(t)
    await (await openSqliteStorage(path, { driver })).close()
    const db = await raw(t, path, driver)
    db.exec(`PRAGMA user_version = ${NEWEST + 1}`)

    await assertRefused(path, driver, 'newer tillkit')

    assert.equal(pragma(db, 'user_version'), NEWEST + 1)
  })

  test("another program's SQLite file is refused and not changed", async (t) => {
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

  test('a text file is refused and not changed', async (t) => {
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

  test('a file in a folder that does not exist is refused, and the folder is not created', async (t) => {
    const folder = join(temporaryFolder(t), 'missing')

    await assertRefused(join(folder, 'till.db'), driver, 'ENOENT')

    assert.equal(existsSync(folder), false)
  })

  test('a write to a locked file fails with storage_unavailable, and succeeds later', async (t) => {
    const path = newPath(t)
    hurry(t)
    const storage = await open(t, path, driver)
    const other = await raw(t, path, driver)
    other.exec('BEGIN IMMEDIATE')

    const insert = () => storage.insertAccount(newAccount('acc_1'), newKey('acc_1', 'hash-1'))
    await assert.rejects(insert, { code: 'storage_unavailable' })
    assert.deepEqual(await all((page) => storage.listAccounts(page)), [])
    other.exec('ROLLBACK')
    t.mock.restoreAll()

    await insert()
    assert.deepEqual(await all((page) => storage.listAccounts(page)), [newAccount('acc_1')])
  })

  test('a slice that fills the disk fails with storage_unavailable, and its import can be aborted', async (t) => {
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
