// run: early
import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { TestContext } from 'node:test'
import { setImmediate, setTimeout } from 'node:timers/promises'
import type { Storage } from '../../lib/index.ts'
import type { PurchaseImport } from '../../lib/storage/port.ts'
import { start } from '../support/cli.ts'
import { testOnEach as test } from '../support/databases.ts'
import { eventuallyHolds } from '../support/eventually.ts'
import { newPlace, type Place } from '../support/place.ts'
import { soakOnly } from '../support/soak.ts'
import {
  DETAILS,
  importRows,
  openImport,
  statuses,
  transactions,
} from '../support/storage/imports.ts'
import { expire, rowsIn } from '../support/storage/places.ts'
import { addRows, insertShops, MAIN, newItem, newRow } from '../support/storage/records.ts'
import { startWorker } from '../support/worker.ts'

const UNAVAILABLE = { code: 'storage_unavailable' }
const NO_ROWS = [0, 0, 0]
/** Several times the rows of a slice of the cleanup. */
const MANY = soakOnly ? 20_000 : 60_000

const UNDO = { import_id: 'imp_2', undone_at: '2026-02-02T00:00:00.000Z', force: false }
const UNDONE_ROWS = 3_000

const openShops = async (t: TestContext) => {
  const place = newPlace(t)
  const storage = await place.storage()
  await insertShops(storage)
  return { place, storage }
}

/** A process that has added rows of an import. */
const startImport = async (t: TestContext, place: Place, import_id: string, count: number) => {
  const worker = startWorker(t)
  await worker.ask('open', await place.db())
  assert.equal(await worker.ask('openImport', import_id), true)
  return { worker, added: await worker.ask('addRows', 2, count) }
}

/** A database with an import of many rows whose process is gone. */
const createAbandoned = async (t: TestContext) => {
  const { place, storage } = await openShops(t)
  await addRows(await openImport(storage, MAIN, 'imp_1'), [newRow(2)])
  const numbers = `WITH RECURSIVE n (i) AS (SELECT 10 UNION ALL SELECT i + 1 FROM n WHERE i < ${MANY})`
  await place.run(
    place.isPostgres
      ? `INSERT INTO purchases (store, import, seq, purchased_at, item, quantity, status, transaction_id)
          ${numbers} SELECT store, seq, 1000000 + i, 0, 1, 1, 0, 'tx_' || i FROM n, imports`
      : `INSERT INTO purchases (seq, import, transaction_id, item, purchased_at, quantity, status)
          ${numbers} SELECT first_purchase + i, 1, 'tx_' || i, 1, 0, 1, 0 FROM n, imports`,
  )
  await storage.close()
  await expire(place)
  return place
}

test('rows added by a killed process are never visible, and an open storage takes over its store', async (t) => {
  const { place, storage } = await openShops(t)
  await importRows(storage, MAIN, 'imp_1', [newRow(2, { status: 'pending' })])
  const { worker } = await startImport(t, place, 'imp_2', 7000)
  assert.deepEqual(await rowsIn(place), [7000, 2, 1])
  const next = await place.storage() // does not end the import of a running process
  for (const each of [storage, next]) {
    assert.equal(await each.openImport(MAIN, 'imp_3'), undefined)
    assert.deepEqual(await statuses(each, MAIN), ['pending'])
  }
  await worker.kill()
  assert.equal(await storage.openImport(MAIN, 'imp_3'), undefined)

  await expire(place)
  let taken: PurchaseImport | undefined
  await eventuallyHolds(async () => {
    taken = await storage.openImport(MAIN, 'imp_3')
    assert.ok(taken)
  })
  await taken?.add([newRow(5)])
  await taken?.finish()
  await taken?.commit()

  assert.deepEqual(await transactions(next, MAIN), ['tx_2', 'tx_5'])
  assert.deepEqual(await statuses(next, MAIN), ['pending', 'purchased'])
  await eventuallyHolds(async () => assert.deepEqual(await rowsIn(place), [2, 2, 0]))
})

test('an import whose lease was taken over can neither continue nor commit, nor abort its successor', async (t) => {
  const { place, storage } = await openShops(t)
  const lost = await openImport(storage, MAIN, 'imp_1')
  await addRows(lost, [newRow(2)])
  await expire(place)
  const other = await openImport(storage, MAIN, 'imp_2')
  await addRows(other, [newRow(9)])

  await assert.rejects(addRows(lost, [newRow(3)]), UNAVAILABLE)
  await assert.rejects(lost.commit())
  await lost.abort()
  await other.commit()

  assert.deepEqual(await transactions(storage, MAIN), ['tx_9'])
  assert.deepEqual(await storage.check(), [])
})

test('a database with a large abandoned import opens at once, and its rows are deleted in the background', async (t) => {
  const place = await createAbandoned(t)

  const storage = await place.storage()

  assert.equal(await storage.insertItem(newItem('meanwhile')), 'inserted')
  assert.deepEqual(await transactions(storage, MAIN), [])
  await eventuallyHolds(async () => assert.deepEqual(await rowsIn(place), NO_ROWS))
})

test('a closed storage stops the cleanup, and the next one continues it, before an import can open', async (t) => {
  if (soakOnly) return t.skip(soakOnly)
  const place = await createAbandoned(t)
  const count = async () => (await rowsIn(place))[0] ?? 0
  const added = await count()
  const first = await place.storage()
  while ((await count()) === added) await setImmediate()

  await first.close()

  assert.ok((await count()) > 0)
  const second = await place.storage()
  const early = await second.openImport(MAIN, 'imp_2')
  if (early) assert.equal(await count(), 0)
  await early?.abort()
  await eventuallyHolds(async () => assert.deepEqual(await rowsIn(place), NO_ROWS))
  await importRows(second, MAIN, 'imp_3', [newRow(3)])
  assert.deepEqual(await rowsIn(place), [1, 1, 0])
})

/** Imports pending rows, then an import that advances all of them and adds as many. */
const fill = async (storage: Storage) => {
  const lines = Array.from({ length: UNDONE_ROWS }, (_, i) => i + 2)
  const pending = lines.map((line) => newRow(line, { status: 'pending' }))
  await importRows(storage, MAIN, 'imp_1', pending, DETAILS)
  const more = [...lines, ...lines.map((line) => line + UNDONE_ROWS)]
  await importRows(
    storage,
    MAIN,
    'imp_2',
    more.map((line) => newRow(line)),
    DETAILS,
  )
}

/** Whether an undo is in the middle of a step; the second is for PostgreSQL where it differs. */
const steps: Record<string, readonly [sql: string, onPostgres?: string]> = {
  'while it restores the statuses': [
    'SELECT count(*) > 0 AS yes FROM purchase_changes',
    'SELECT count(*) > 0 AS yes FROM imports WHERE undoes > 0',
  ],
  'while it deletes rows': [`SELECT count(*) < ${2 * UNDONE_ROWS} AS yes FROM purchases`],
}
for (const [step, [sql, onPostgres = sql]] of Object.entries(steps)) {
  const skip = step === 'while it deletes rows' ? false : soakOnly
  test(`an undo is not half visible after kill -9 ${step}`, async (t) => {
    if (skip) return t.skip(skip)
    const { place, storage } = await openShops(t)
    await fill(storage)
    const query = place.isPostgres ? onPostgres : sql
    const args = [
      'imports',
      'undo',
      'imp_2',
      '--account',
      'acc_1',
      '--db',
      await place.db(),
      '--yes',
    ]
    const child = start(args, {})
    t.after(() => child.kill('SIGKILL'))
    const closed = once(child, 'close')
    while (child.exitCode === null && !(await place.run(query))[0]?.yes) await setTimeout(1)
    child.kill('SIGKILL')
    await closed

    const counts = async () => {
      const { records: purchases } = await storage.listPurchases(
        MAIN,
        {},
        { limit: 3 * UNDONE_ROWS },
      )
      const pending = purchases.filter(({ status }) => status === 'pending').length
      return [pending, purchases.length - pending]
    }
    const [before, after] = [
      [0, 2 * UNDONE_ROWS],
      [UNDONE_ROWS, 0],
    ]
    const found = await counts()
    assert.deepEqual(found, found[0] === 0 ? before : after)
    await expire(place)
    assert.deepEqual(await storage.undoImport(MAIN, UNDO), { outcome: 'undone' })
    assert.deepEqual(await counts(), after)
    const again = await importRows(storage, MAIN, 'imp_3', [newRow(UNDONE_ROWS + 2)])
    assert.equal(again.added, 1)
    assert.deepEqual(await storage.check(), [])
  })
}
