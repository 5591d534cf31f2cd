import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Storage } from '../../lib/storage/port.ts'
import type { SqliteDriver, SqliteDriverName } from '../../lib/storage/sqlite/drivers.ts'
import { userKey } from '../../lib/storage/sqlite/user-key.ts'
import { raw } from '../support/connections.ts'
import { sqliteDrivers } from '../support/drivers.ts'
import { importRows, openImport } from './fixtures/imports.ts'
import { insertShops, MAIN, newRow, SIDE, stage } from './fixtures/records.ts'
import { newPath, open } from './fixtures/sqlite.ts'

for (const { driver, skip } of await sqliteDrivers()) {
  describe(`the index of users in SQLite with ${driver}`, { skip }, () => describeIndex(driver))
}

async function ofUser(storage: Storage, user_id: string): Promise<string[]> {
  const { purchases } = await storage.listPurchases(MAIN, { user_id }, { limit: 1000 })
  return purchases.map(({ transaction_id }) => transaction_id)
}

function indexed(db: SqliteDriver, user_id: string): number {
  const row = db
    .prepare('SELECT count(*) AS n FROM purchase_users WHERE user_key = ?')
    .get(userKey(1, user_id))
  return (row as { n: number }).n
}

/** The first two ids of a series that share a key: some 50,000 ids are enough. */
function usersWithOneKey(): [string, string] {
  const seen = new Map<number, string>()
  for (let i = 0; ; i++) {
    const user_id = `user_${i}`
    const other = seen.get(userKey(1, user_id))
    if (other) return [other, user_id]
    seen.set(userKey(1, user_id), user_id)
  }
}

function describeIndex(driver: SqliteDriverName): void {
  test('two users with the same key have their own purchases', async (t) => {
    const path = newPath(t)
    const storage = await open(t, path, driver)
    await insertShops(storage)
    const [ann, bob] = usersWithOneKey()
    const rows = [ann, bob, ann].map((user_id, i) => newRow(i + 2, { user_id }))

    await importRows(storage, MAIN, 'imp_1', rows)

    assert.equal(indexed(await raw(t, path, driver), ann), 3)
    assert.deepEqual(await ofUser(storage, ann), ['tx_2', 'tx_4'])
    assert.deepEqual(await ofUser(storage, bob), ['tx_3'])
  })

  test('only rows that stay are in the index: not repeats, not those of an aborted import', async (t) => {
    const path = newPath(t)
    const storage = await open(t, path, driver)
    await insertShops(storage)
    const db = await raw(t, path, driver)
    const ascending = [2, 3, 4].map((line) => newRow(line, { user_id: 'ann' }))
    await importRows(storage, MAIN, 'imp_1', ascending)
    await importRows(storage, MAIN, 'imp_2', [...ascending, newRow(5, { user_id: 'ann' })])
    const descending = [9, 8, 5].map((line) => newRow(line, { user_id: 'ann' }))
    await importRows(storage, MAIN, 'imp_3', descending)
    assert.equal(indexed(db, 'ann'), 6)

    const current = await openImport(storage, MAIN, 'imp_4')
    await stage(current, [newRow(11, { user_id: 'ann' }), newRow(10, { user_id: 'ann' })])
    assert.equal(indexed(db, 'ann'), 8)
    await current.abort()

    assert.equal(indexed(db, 'ann'), 6)
    assert.deepEqual(await storage.check(), [])
  })

  test('a repeat is not in the index, even if another store has used its seq again', async (t) => {
    const path = newPath(t)
    const storage = await open(t, path, driver)
    await insertShops(storage)
    const rows = [5, 6, 7].map((line) => newRow(line, { user_id: 'ann' }))
    await importRows(storage, MAIN, 'imp_1', rows)

    const current = await openImport(storage, MAIN, 'imp_2')
    await current.stage([newRow(4, { user_id: 'ann' }), ...rows])
    await storage.recordPurchase(SIDE, 'imp_3', newRow(1, { user_id: 'bob' }))
    await current.finish()
    await current.commit()

    assert.deepEqual(await storage.check(), [])
  })

  test('check names rows that are missing from the index, and entries without a row', async (t) => {
    const path = newPath(t)
    const storage = await open(t, path, driver)
    await insertShops(storage)
    await importRows(storage, MAIN, 'imp_1', [newRow(2, { user_id: 'ann' })])
    const db = await raw(t, path, driver)

    db.exec('UPDATE purchase_users SET user_key = 0')

    const problems = await storage.check()
    assert.equal(problems.length, 2)
    assert.match(problems[0] ?? '', /^1 purchases are missing from the index of users/)
    assert.match(problems[1] ?? '', /^1 entries of the index of users/)
  })
}
