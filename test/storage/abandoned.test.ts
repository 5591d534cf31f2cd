import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { openPostgresStorage, openSqliteStorage } from '../../lib/index.ts'
import { openSqliteDriver } from '../../lib/storage/sqlite/drivers.ts'
import { eventuallyHolds } from '../support/eventually.ts'
import { PATIENT, rawPostgres, startPostgres } from '../support/postgres.ts'
import { soakOnly } from '../support/soak.ts'
import { openImport } from './fixtures/imports.ts'
import { insertShops, MAIN, newItem, newRow, stage } from './fixtures/records.ts'
import { giveAway, NO_ROWS, newPath, rowsIn } from './fixtures/sqlite.ts'

const server = await startPostgres()

/** Several times the rows of a slice of the cleanup. */
const ROWS = 60_000
const NUMBERS = `WITH RECURSIVE n(i) AS (SELECT 10 UNION ALL SELECT i + 1 FROM n WHERE i < ${ROWS})`

/** Creates a file with an import of many rows whose process is dead. */
async function abandonedFile(t: TestContext) {
  const path = newPath(t)
  const before = await openSqliteStorage(path)
  await insertShops(before)
  await stage(await openImport(before, MAIN, 'imp_1'), [newRow(2)])
  await before.close()
  const db = await openSqliteDriver(path)
  t.after(() => db.close())
  db.exec(`INSERT INTO purchases (seq, import, transaction_id, item, purchased_at, quantity, status)
    ${NUMBERS} SELECT first_purchase + i, 1, 'tx_' || i, 1, 0, 1, 0 FROM n, imports`)
  giveAway(db)
  const rows = () => rowsIn(db) as typeof NO_ROWS
  return { path, rows, staged: rows().purchases }
}

test('a file with an abandoned import opens at once, and the import is deleted in the background', async (t) => {
  const { path, rows, staged } = await abandonedFile(t)

  const storage = await openSqliteStorage(path)
  t.after(() => storage.close())

  assert.equal(rows().purchases, staged)
  assert.equal(await storage.insertItem(newItem('meanwhile')), 'inserted')
  assert.deepEqual((await storage.listPurchases(MAIN, {}, { limit: 10 })).purchases, [])
  await eventuallyHolds(() => assert.deepEqual(rows(), NO_ROWS))
})

test('a closed storage stops the cleanup, and the next one continues it', {
  skip: soakOnly,
}, async (t) => {
  const { path, rows, staged } = await abandonedFile(t)
  const first = await openSqliteStorage(path)
  while (rows().purchases === staged) await setImmediate()

  await first.close()

  const left = rows().purchases
  assert.ok(left > 0)
  const second = await openSqliteStorage(path)
  t.after(() => second.close())
  await eventuallyHolds(() => assert.deepEqual(rows(), NO_ROWS))
})

test('an import can open once the abandoned one in its store is deleted', {
  skip: soakOnly,
}, async (t) => {
  const { path, rows, staged } = await abandonedFile(t)
  const storage = await openSqliteStorage(path)
  t.after(() => storage.close())
  while (rows().purchases === staged) await setImmediate()

  assert.equal(await storage.openImport(MAIN, 'imp_2'), undefined)
  await eventuallyHolds(() => assert.deepEqual(rows(), NO_ROWS))
  const next = await openImport(storage, MAIN, 'imp_3')
  await stage(next, [newRow(3)])
  await next.commit()

  assert.equal(rows().purchases, 1)
})

test('a second server does not delete a running import of the first', async (t) => {
  const path = newPath(t)
  const first = await openSqliteStorage(path)
  t.after(() => first.close())
  await insertShops(first)
  const current = await openImport(first, MAIN, 'imp_1')
  await stage(current, [newRow(2)])

  const second = await openSqliteStorage(path)
  await second.insertItem(newItem('later'))
  await second.close()

  await stage(current, [newRow(3)])
  await current.commit()
  assert.equal((await first.listPurchases(MAIN, {}, { limit: 10 })).purchases.length, 2)
})

test('PostgreSQL deletes an abandoned import in the background', { skip: soakOnly }, async (t) => {
  const url = await server.createSchema(t)
  const before = await openPostgresStorage(url, PATIENT)
  await insertShops(before)
  await stage(await openImport(before, MAIN, 'imp_1'), [newRow(2)])
  const sql = rawPostgres(t, url)
  await sql.unsafe(`
    INSERT INTO purchases (store, import, seq, purchased_at, item, quantity, status, transaction_id)
      ${NUMBERS} SELECT imports.store, imports.seq, 1000000 + i, 0, 1, 1, 0, 'tx_' || i FROM n, imports;
    UPDATE imports SET owner = 'gone', alive_at = now() - interval '1 hour'`)
  const count = async () => Number((await sql`SELECT count(*) AS n FROM purchases`)[0]?.n)

  const first = await openPostgresStorage(url, PATIENT)
  while ((await count()) >= ROWS - 10);
  await first.close()
  const left = await count()
  const second = await openPostgresStorage(url, PATIENT)
  t.after(() => Promise.all([second.close(), before.close()]))

  assert.ok(left > 0, String(left))
  assert.deepEqual((await second.listPurchases(MAIN, {}, { limit: 10 })).purchases, [])
  await eventuallyHolds(async () => assert.equal(await count(), 0))
  await eventuallyHolds(async () => (await openImport(second, MAIN, 'imp_2')).abort())
})
