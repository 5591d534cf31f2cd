import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { createMemoryStorage } from '../../lib/index.ts'
import type { Storage } from '../../lib/storage/port.ts'
import type { SqliteDriver, SqliteDriverName } from '../../lib/storage/sqlite/drivers.ts'
import { raw } from '../support/connections.ts'
import { sqliteDrivers } from '../support/drivers.ts'
import { importRows } from './fixtures/imports.ts'
import { insertShops, MAIN, newRow, SIDE } from './fixtures/records.ts'
import { newPath, open } from './fixtures/sqlite.ts'

/** Node 20 runs no TypeScript in threads: the query runs in the calling thread. */
const RUNS_THREADS = process.features.typescript || import.meta.url.endsWith('.js')

/** More rows than are summarized in the calling thread. */
const ROWS = Array.from({ length: 6_000 }, (_, i) =>
  newRow(i + 2, {
    user_id: `user_${i % 70}`,
    purchased_at: 1_709_296_496_789 + i * 7_000_000,
    price: i,
    currency: i % 3 ? 'USD' : 'EUR',
    sku: i % 5 ? 'gold' : 'gem',
  }),
)

for (const { driver, skip } of await sqliteDrivers()) {
  describe(`summaries of many purchases in SQLite files with ${driver}`, { skip }, () => {
    describeThreads(driver)
  })
}

function describeThreads(driver: SqliteDriverName): void {
  test('do not block the event loop, and are correct', async (t) => {
    const storage = await open(t, newPath(t), driver)
    const memory = createMemoryStorage()
    for (const each of [storage, memory]) await fill(each)

    const summarize = () => storage.summarizePurchases({ account_id: 'acc_1' }, {}, ['day', 'sku'])
    const { found, turns } = await countTurns(summarize)

    if (RUNS_THREADS) assert.ok(turns > 1)
    assert.ok(found.length > 400) // more than one batch of rows
    const expected = await memory.summarizePurchases({ account_id: 'acc_1' }, {}, ['day', 'sku'])
    assert.deepEqual(found, expected)
    assert.deepEqual(
      await storage.readTotals(MAIN, {}, 'day'),
      await memory.readTotals(MAIN, {}, 'day'),
    )
  })

  test('the count of an account with many recorded purchases does not block the event loop', async (t) => {
    const path = newPath(t)
    const storage = await open(t, path, driver)
    await insertShops(storage)
    insertRecorded(await raw(t, path, driver))

    const { found, turns } = await countTurns(() => storage.countPurchases('acc_1', 20_000))

    assert.equal(found, 10_001)
    if (RUNS_THREADS) assert.ok(turns > 1)
  })

  test('with many recorded purchases in one store include the other stores', async (t) => {
    const path = newPath(t)
    const storage = await open(t, path, driver)
    await insertShops(storage)
    insertRecorded(await raw(t, path, driver))
    for (const [i, store] of [MAIN, SIDE].entries())
      await importRows(storage, store, `imp_${i}`, [newRow(2)])

    const found = await storage.summarizePurchases({ account_id: 'acc_1' }, {}, ['store'])
    assert.deepEqual(
      found.map(({ store_id, purchased }) => [store_id, purchased]),
      [
        ['main', 1],
        ['side', 1],
      ],
    )
  })

  test('can run concurrently with different filters', async (t) => {
    const storage = await open(t, newPath(t), driver)
    await fill(storage)

    const of = (sku: string) => storage.summarizePurchases(MAIN, { sku }, [])
    const found = await Promise.all([of('gold'), of('gem'), of('gold')])

    assert.deepEqual(
      found.map((rows) => rows.reduce((sum, { purchased }) => sum + purchased, 0)),
      [4_800, 1_200, 4_800],
    )
  })

  test('reject when the statement fails, and later ones succeed', async (t) => {
    const path = newPath(t)
    const storage = await open(t, path, driver)
    await fill(storage)
    const db = await raw(t, path, driver)
    db.exec('ALTER TABLE purchases RENAME COLUMN quantity TO hidden')
    db.exec('ALTER TABLE purchases RENAME COLUMN price TO quantity')

    await assert.rejects(storage.summarizePurchases(MAIN, {}, []), ({ code }) =>
      /SQLITE_ERROR/.test(code),
    )
    db.exec('ALTER TABLE purchases RENAME COLUMN quantity TO price')

    assert.equal((await storage.summarizePurchases(MAIN, {}, [])).length, 2)
  })
}

/** Inserts the imports of 10,001 recorded purchases into the first store, without purchases. */
function insertRecorded(db: SqliteDriver): void {
  db.exec(`
    WITH RECURSIVE n (seq) AS (SELECT 1 UNION ALL SELECT seq + 1 FROM n WHERE seq < 10001)
    INSERT INTO imports (import_id, store, alive_at, first_purchase, last_purchase, created_at,
      added)
    SELECT 'rec_' || n.seq, s.seq, 0, n.seq, n.seq, '', 1
    FROM n, stores s WHERE s.account_id = 'acc_1' AND s.store_id = 'main'`)
}

/** Counts the turns of the event loop in which a call runs. */
async function countTurns<T>(call: () => Promise<T>): Promise<{ found: T; turns: number }> {
  let turns = 0
  let isDone = false
  const counting = (async () => {
    for (; !isDone; turns++) await setImmediate()
  })()
  const found = await call().finally(() => {
    isDone = true
  })
  await counting
  return { found, turns }
}

async function fill(storage: Storage): Promise<void> {
  await insertShops(storage)
  await importRows(storage, MAIN, 'imp_1', ROWS)
  await importRows(storage, SIDE, 'imp_2', [newRow(2)])
}
