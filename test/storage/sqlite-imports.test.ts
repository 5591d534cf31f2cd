import assert from 'node:assert/strict'
import { once } from 'node:events'
import { statSync } from 'node:fs'
import { describe, test } from 'node:test'
import { Worker } from 'node:worker_threads'
import type { SqliteDriver, SqliteDriverName } from '../../lib/storage/sqlite/drivers.ts'
import { hurry } from '../support/clock.ts'
import { raw } from '../support/connections.ts'
import { sqliteDrivers } from '../support/drivers.ts'
import { eventuallyHolds } from '../support/eventually.ts'
import { startWorker } from '../support/worker.ts'
import { openImport } from './fixtures/imports.ts'
import { insertShops, MAIN, newRow, SIDE, stage } from './fixtures/records.ts'
import {
  createSchema,
  giveAway,
  importOne,
  NO_ROWS,
  newPath,
  open,
  rowsIn,
  transactions,
} from './fixtures/sqlite.ts'

for (const { driver, skip } of await sqliteDrivers()) {
  describe(`SQLite files with ${driver}`, { skip }, () => {
    describe('and interrupted imports', () => describeInterruptions(driver))
    describe('and the space that imports use', () => describeRoom(driver))
    describe('and imports whose lease is taken over', () => describeTakeOver(driver))
  })
}

const LONG = 'x'.repeat(200)
/** Rows of about 1 MiB in total. */
const ROWS = Array.from({ length: 5_000 }, (_, i) => newRow(i + 2, { metadata: { i, x: LONG } }))

function describeRoom(driver: SqliteDriverName): void {
  test('aborted imports, sequential and concurrent, do not enlarge the file', async (t) => {
    const path = newPath(t)
    const storage = await open(t, path, driver)
    await insertShops(storage)
    const db = await raw(t, path, driver)
    const before = sizeOf(db, path)

    for (let i = 0; i < 3; i++) {
      const both = [MAIN, SIDE].map(async (store) => {
        const current = await openImport(storage, store, `imp_${store.store_id}_${i}`)
        await stage(current, ROWS)
        await current.abort()
      })
      await Promise.all(both)
    }

    assert.ok(sizeOf(db, path) < before + 64 * 1024, `${before}, then ${sizeOf(db, path)}`)
    assert.deepEqual(await storage.check(), [])
  })

  test('a file without auto_vacuum reuses its pages, and gets auto_vacuum when secrets are sealed', async (t) => {
    const path = newPath(t)
    const old = await raw(t, path, driver)
    createSchema(old)
    const storage = await open(t, path, driver)
    await insertShops(storage)
    const abortOne = async (import_id: string) => {
      const current = await openImport(storage, MAIN, import_id)
      await stage(current, ROWS)
      await current.abort()
      return sizeOf(old, path)
    }
    const first = await abortOne('imp_1')

    const second = await abortOne('imp_2')
    await storage.forget?.()
    const third = await abortOne('imp_3')

    assert.ok(second < first + 64 * 1024, `${first}, then ${second}`)
    assert.ok(third < first / 2, `${first}, then ${third}`)
  })
}

/** The size of the file after a checkpoint empties its WAL. */
function sizeOf(db: SqliteDriver, path: string): number {
  db.prepare('SELECT 1 FROM accounts').get() // opens the WAL, which the checkpoint needs
  db.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get()
  return statSync(path).size
}

function describeInterruptions(driver: SqliteDriverName): void {
  test('rows staged by a killed process are never visible, and are deleted after the next open', async (t) => {
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
    await eventuallyHolds(() =>
      assert.deepEqual(rowsIn(db), { purchases: 1, imports: 1, changes: 0 }),
    )
    const { purchases } = await next.listPurchases(MAIN, {}, { limit: 10 })
    assert.deepEqual(
      purchases.map(({ transaction_id, status }) => [transaction_id, status]),
      [['tx_2', 'pending']],
    )
  })

  test('an open storage takes over the store of a killed import', async (t) => {
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

  test('an import committed before its process was killed is stored', async (t) => {
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

  test('opening a file does not end the import of a running process', async (t) => {
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

  test('an import on another machine is not ended before its lease expires', async (t) => {
    const path = newPath(t)
    const storage = await open(t, path, driver)
    await insertShops(storage)
    const lost = await openImport(storage, MAIN, 'imp_1')
    await stage(lost, [newRow(2)])
    const db = await raw(t, path, driver)
    giveAway(db, { host: 'elsewhere', aliveAt: Date.now() - 25_000 })
    assert.equal(await storage.openImport(MAIN, 'imp_2'), undefined)

    giveAway(db, { host: 'elsewhere', aliveAt: Date.now() - 31_000 })
    await (await openImport(storage, MAIN, 'imp_2')).commit()
    assert.deepEqual(await transactions(storage), [])
  })

  test('an import that the clock dates in the future does not block its store', async (t) => {
    const path = newPath(t)
    const storage = await open(t, path, driver)
    await insertShops(storage)
    await openImport(storage, MAIN, 'imp_1')
    giveAway(await raw(t, path, driver), { host: 'elsewhere', aliveAt: Date.now() + 3_600_000 })

    await (await openImport(storage, MAIN, 'imp_2')).commit()
  })

  test('an import whose lease was taken over can neither continue nor commit', async (t) => {
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

  test('an import whose lease was taken over does not abort its successor', async (t) => {
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
  test('another thread of the process does not take over a running import', async (t) => {
    const path = newPath(t)
    const storage = await open(t, path, driver)
    await insertShops(storage)
    const running = await openImport(storage, MAIN, 'imp_1')
    await stage(running, [newRow(2)])

    const thread = new Worker(new URL('./fixtures/thread.ts', import.meta.url), {
      workerData: { path, store: MAIN, driver },
    })
    const [isTaken] = await once(thread, 'message')
    await once(thread, 'exit')

    assert.equal(isTaken, false)
    await stage(running, [newRow(3)])
    await running.commit()
    assert.equal((await transactions(storage)).length, 2)
  })

  test('an import that is being deleted can no longer be committed', async (t) => {
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

  test('a commit succeeds when its status changes cannot be applied yet, and the next import applies them', async (t) => {
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

  test('an abort after the commit has no effect', async (t) => {
    const storage = await open(t, newPath(t), driver)
    await insertShops(storage)
    const current = await openImport(storage, MAIN, 'imp_1')
    await stage(current, [newRow(2)])
    await current.commit()

    await current.abort()

    assert.deepEqual(await transactions(storage), ['tx_2'])
  })

  test('an abort that fails does not block other imports after its lease', async (t) => {
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
    t.mock.restoreAll()
    db.exec(`UPDATE imports SET alive_at = ${Date.now() - 31_000}`)

    await importOne(storage, 'imp_2', newRow(3))

    assert.deepEqual(await transactions(storage), ['tx_3'])
    assert.deepEqual(rowsIn(db), { purchases: 1, imports: 1, changes: 0 })
  })
}
