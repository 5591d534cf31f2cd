// run: runtime
import assert from 'node:assert/strict'
import { statSync } from 'node:fs'
import { test } from 'node:test'
import { setImmediate, setTimeout } from 'node:timers/promises'
import type { Storage } from '../../lib/storage/port.ts'
import type { SqliteDriver } from '../../lib/storage/sqlite/drivers.ts'
import { userKey } from '../../lib/storage/sqlite/user-key.ts'
import { hurry } from '../support/clock.ts'
import { raw, watchConnections } from '../support/connections.ts'
import { eventuallyHolds } from '../support/eventually.ts'
import {
  DETAILS,
  importRows,
  openImport,
  statuses,
  transactions,
} from '../support/storage/imports.ts'
import { createSchema, newPath, open, openShops } from '../support/storage/places.ts'
import {
  AT,
  addRows,
  insertShops,
  itemsOf,
  MAIN,
  newItem,
  newRow,
  SIDE,
} from '../support/storage/records.ts'
import { startWorker } from '../support/worker.ts'

const UNAVAILABLE = { code: 'storage_unavailable' }
const LONG = 'x'.repeat(200)
/** Rows of about 1 MiB in total. */
const ROWS = Array.from({ length: 5_000 }, (_, i) => newRow(i + 2, { metadata: { i, x: LONG } }))

/** The size of the file after a checkpoint empties its WAL. */
function sizeOf(db: SqliteDriver, path: string): number {
  db.prepare('SELECT 1 FROM accounts').get() // opens the WAL, which the checkpoint needs
  db.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get()
  return statSync(path).size
}

test('aborted imports, sequential and concurrent, do not enlarge the file', async (t) => {
  const { path, storage, db } = await openShops(t)
  const before = sizeOf(db, path)

  for (let i = 0; i < 3; i++) {
    const both = [MAIN, SIDE].map(async (store) => {
      const current = await openImport(storage, store, `imp_${store.store_id}_${i}`)
      await addRows(current, ROWS)
      await current.abort()
    })
    await Promise.all(both)
  }

  assert.ok(sizeOf(db, path) < before + 64 * 1024, `${before}, then ${sizeOf(db, path)}`)
  assert.deepEqual(await storage.check(), [])
})

test('a file without auto_vacuum reuses its pages, and gets auto_vacuum when secrets are sealed', async (t) => {
  const path = newPath(t)
  const old = await raw(t, path)
  createSchema(old)
  const storage = await open(t, path)
  await insertShops(storage)
  const abortOne = async (import_id: string) => {
    const current = await openImport(storage, MAIN, import_id)
    await addRows(current, ROWS)
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

test('an import is not ended before its lease expires, unless it is dated in the future', async (t) => {
  const { storage, db } = await openShops(t)
  await addRows(await openImport(storage, MAIN, 'imp_1'), [newRow(2)])
  for (const [i, age] of [31_000, -3_600_000].entries()) {
    db.exec(`UPDATE imports SET alive_at = ${Date.now() - 25_000}`)
    assert.equal(await storage.openImport(MAIN, 'imp_2'), undefined)
    db.exec(`UPDATE imports SET alive_at = ${Date.now() - age}`)

    await openImport(storage, MAIN, `imp_next_${i}`)
    assert.deepEqual(await transactions(storage, MAIN), [])
  }
})

test('reads during an import are from the cache, and writes go on', async (t) => {
  const { storage } = await openShops(t)
  const gold = await storage.findItem('itm_gold')
  const names: string[] = []
  const during: Record<string, () => Promise<unknown>> = {
    main: async () => assert.equal(await storage.findItem('itm_gold'), gold, 'the same object'),
    side: () => storage.insertItem(newItem(`new_${names.push('') - 1}`)),
  }
  const imports = await Promise.all(
    [MAIN, SIDE].map(async (store) => {
      return { ...store, current: await openImport(storage, store, `imp_${store.store_id}`) }
    }),
  )

  for (const { store_id, current } of imports) {
    let isAdded = false
    const adding = addRows(current, ROWS).finally(() => {
      isAdded = true
    })
    while (!isAdded) {
      await during[store_id]?.()
      await setImmediate()
    }
    assert.equal((await adding).added, ROWS.length)
  }
  for (const { current } of imports) await current.commit()

  assert.equal((await itemsOf(storage, MAIN)).length, 2 + names.length)
  assert.deepEqual(await storage.check(), [])
})

test('a commit succeeds when its status changes cannot be applied yet, and the next import applies them', async (t) => {
  const { storage, db, rows } = await openShops(t)
  await importRows(storage, MAIN, 'imp_1', [newRow(2)])
  db.exec(`CREATE TRIGGER full BEFORE DELETE ON purchase_changes
    BEGIN SELECT RAISE(ABORT, 'no room'); END`)

  await importRows(storage, MAIN, 'imp_2', [newRow(2, { status: 'refunded' })])

  assert.deepEqual(await statuses(storage, MAIN), ['refunded'])
  db.exec('DROP TRIGGER full')
  await importRows(storage, MAIN, 'imp_3', [newRow(3)])
  assert.deepEqual(await rows(), [2, 3, 0])
})

test('an aborted import changes no status, although its process froze before it had the lease', async (t) => {
  const { path, storage, db } = await openShops(t)
  await importRows(storage, MAIN, 'imp_1', [newRow(2, { status: 'pending' })])
  const worker = startWorker(t)
  await worker.ask('open', path)
  db.exec('BEGIN IMMEDIATE')
  const opening = worker.ask('openImport', 'imp_3')
  await setTimeout(500) // the worker waits for the lock
  worker.pause()
  db.exec('ROLLBACK')
  db.exec(`CREATE TRIGGER full BEFORE DELETE ON purchase_changes
    BEGIN SELECT RAISE(ABORT, 'no room'); END`)
  await importRows(storage, MAIN, 'imp_2', [newRow(2)])
  db.exec('DROP TRIGGER full')
  worker.resume()

  if (!(await opening)) assert.equal(await worker.ask('openImport', 'imp_3'), true)
  await worker.ask('refund', 2)
  assert.deepEqual(await statuses(storage, MAIN), ['purchased'])
  await worker.ask('abort')

  assert.deepEqual(await statuses(storage, MAIN), ['purchased'])
  assert.deepEqual(await storage.check(), [])
})

test('an import does not overwrite the status changes of another one', async (t) => {
  const { storage, db } = await openShops(t)
  await importRows(storage, MAIN, 'imp_1', [newRow(2, { status: 'pending' })])
  const current = await openImport(storage, MAIN, 'imp_2')
  db.exec(
    'INSERT INTO purchase_changes (purchase, import, status) SELECT seq, import, 0 FROM purchases',
  )

  await assert.rejects(addRows(current, [newRow(2, { status: 'refunded' })]), UNAVAILABLE)
  await current.abort()

  assert.deepEqual(await statuses(storage, MAIN), ['purchased'])
})

test('reads show filled values, and emptied ones, before they are applied to the purchases', async (t) => {
  const { storage, db } = await openShops(t)
  const END = 4_000_000_000_000
  const values = { user_id: 'ann', price: 499, currency: 'USD', expires_at: END }
  await importRows(storage, MAIN, 'imp_1', [newRow(2), newRow(3)], DETAILS)
  const shown = async () => {
    const { records: own } = await storage.listPurchases(MAIN, { user_id: 'ann' }, { limit: 9 })
    const { records: owned } = await storage.listOwned(MAIN, 'ann', { limit: 9 }, 0)
    const [all] = await storage.summarizePurchases(MAIN, {}, ['currency'], {
      isTop: true,
      limit: 1,
    })
    const [ofUser] = await storage.summarizePurchases(MAIN, { user_id: 'ann' }, [])
    const { records: refunds } = await storage.listRefunds('imp_2', { limit: 9 })
    return {
      own: own.map(({ transaction_id, price, status }) => [transaction_id, price, status]),
      owned: owned.map(({ quantity, expires_at }) => [quantity, expires_at]),
      revenue: ofUser?.revenue,
      group: [all?.currency, all?.buyers],
      refunds: refunds.map(({ transaction_id, user_id }) => [transaction_id, user_id]),
      user: await storage.findPurchaseUser(MAIN, 'tx_2'),
      searched: (await storage.findTransactions(MAIN, 'tx_2', {}, { limit: 1 })).records[0]
        ?.user_id,
    }
  }
  const none = {
    own: [],
    owned: [],
    revenue: undefined,
    group: ['', 0],
    refunds: [],
    user: undefined,
    searched: undefined,
  }
  assert.deepEqual(await shown(), none)
  const hold = 'BEFORE DELETE ON purchase_changes BEGIN SELECT raise(ABORT, 1); END'
  const waiting = () => db.prepare('SELECT * FROM purchase_changes').all().length
  const current = await openImport(storage, MAIN, 'imp_2')
  await addRows(current, [newRow(2, values), newRow(3, { ...values, status: 'refunded' })])
  assert.deepEqual(await shown(), none)
  db.exec(`CREATE TRIGGER hold ${hold}`)

  await current.commit({}, DETAILS)

  const filled = {
    own: [
      ['tx_2', 499, 'purchased'],
      ['tx_3', 499, 'refunded'],
    ],
    owned: [[1, new Date(END).toISOString()]],
    revenue: '499',
    group: ['USD', 1],
    refunds: [['tx_3', 'ann']],
    user: 'ann',
    searched: 'ann',
  }
  assert.equal(waiting(), 2)
  assert.deepEqual(await shown(), filled)
  assert.deepEqual(await storage.check(), [])
  db.exec('DROP TRIGGER hold')
  await importRows(storage, SIDE, 'imp_3', [newRow(2)], DETAILS)
  assert.equal(waiting(), 0)
  assert.deepEqual(await shown(), filled)

  db.exec(`CREATE TRIGGER hold ${hold}`)
  await storage.undoImport(MAIN, { import_id: 'imp_2', undone_at: AT, force: false })

  assert.equal(waiting(), 2)
  assert.deepEqual(await shown(), none)
  assert.deepEqual(await storage.check(), [])
  db.exec('DROP TRIGGER hold')
  await importRows(storage, SIDE, 'imp_4', [newRow(3)], DETAILS)
  assert.equal(waiting(), 0)
  assert.deepEqual(await shown(), none)
  assert.deepEqual(await storage.check(), [])
})

test('an abandoned import leaves no entries of the users that it would have filled', async (t) => {
  const { storage, db } = await openShops(t)
  await importRows(storage, MAIN, 'imp_1', [newRow(2), newRow(3)])
  const current = await openImport(storage, MAIN, 'imp_2')
  await addRows(current, [newRow(2, { user_id: 'ann' }), newRow(3, { user_id: 'bob' })])
  const entries = () => db.prepare('SELECT * FROM purchase_users').all().length
  assert.deepEqual([entries(), await storage.check()], [2, []])

  await current.abort()

  assert.deepEqual([entries(), await storage.check()], [0, []])
})

test('the check before an undo of many changes lets other calls run between its slices', async (t) => {
  const { storage, db } = await openShops(t)
  await importRows(storage, MAIN, 'imp_1', [newRow(2, { status: 'pending' })], DETAILS)
  await importRows(storage, MAIN, 'imp_2', [newRow(2)], DETAILS)
  await importRows(storage, MAIN, 'imp_3', [newRow(2, { status: 'refunded' })])
  const turnsOfUndo = async () => {
    let [turns, isOver] = [0, false]
    const undoing = storage.undoImport(MAIN, { import_id: 'imp_2', undone_at: AT, force: false })
    const ended = undoing.finally(() => {
      isOver = true
    })
    for (; !isOver; turns++) await setImmediate()
    assert.deepEqual(await ended, { outcome: 'changed', rows: 1, by: 'imp_3' })
    return turns
  }
  const few = await turnsOfUndo()
  db.exec(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
    INSERT INTO status_changes SELECT c.import, c.purchase + i, c.before, c.after, 0
    FROM n, status_changes c JOIN imports ON seq = c.import WHERE import_id = 'imp_2'`)

  const many = await turnsOfUndo()

  assert.ok(many >= few + 8, `${few} and ${many} turns`)
})

test('refunds of many large orders let other calls run between their slices', async (t) => {
  const { storage } = await openShops(t)
  const orders = Array.from({ length: 200 }, (_, i) => `order-${i}`)
  const ids = orders.flatMap((id) => Array.from({ length: 100 }, (_, i) => `${id}/${100 + i}`))
  const rows = ids.sort().map((transaction_id, i) => newRow(i + 2, { transaction_id }))
  await importRows(storage, MAIN, 'imp_1', rows)
  const refunds = orders.map((transaction_id, i) => {
    return { line: i + 2, transaction_id, status: 'refunded' as const }
  })
  const current = await openImport(storage, MAIN, 'imp_2')
  let [turns, longest, isOver] = [0, 0, false]

  const advancing = current.advance(refunds).finally(() => {
    isOver = true
  })
  for (let before = performance.now(); !isOver; turns++) {
    await setImmediate()
    const now = performance.now()
    longest = Math.max(longest, now - before)
    before = now
  }

  assert.equal((await advancing).updated, 200)
  await current.commit()
  // 20 steps of 10 orders, a few of which make a slice.
  t.diagnostic(`${turns} turns, the longest took ${Math.round(longest)} ms`)
  assert.ok(turns >= 4, `${turns} turns`)
  assert.deepEqual(new Set(await statuses(storage, MAIN)), new Set(['refunded']))
})

test('an erasure deletes the status changes that were committed just before it began', async (t) => {
  const { storage, db, rows } = await openShops(t)
  await importRows(storage, MAIN, 'imp_1', [newRow(2, { user_id: 'ann' })])
  db.exec(`CREATE TRIGGER late AFTER INSERT ON imports
    BEGIN INSERT INTO purchase_changes (purchase, import, status) SELECT seq, import, 2 FROM purchases; END`)

  await storage.erasePurchases(MAIN, 'imp_2', { user_id: 'ann', deletes: true })

  assert.deepEqual(await rows(), [0, 1, 0])
})

test('an abort deletes the rows although the temporary table fails', async (t) => {
  const connections = await watchConnections(t)
  const { storage, rows } = await openShops(t)
  const current = await openImport(storage, MAIN, 'imp_1')
  await addRows(current, [newRow(2)])
  for (const db of connections) db.exec('DROP TABLE IF EXISTS temp.sorted_ids')

  await assert.rejects(current.abort(), /sorted_ids/)

  assert.deepEqual(await rows(), [0, 0, 0])
})

test('an abort that fails ends its lease as soon as it can write again', async (t) => {
  hurry(t)
  const { storage, db, rows } = await openShops(t)
  const current = await openImport(storage, MAIN, 'imp_1')
  await addRows(current, [newRow(2)])
  db.exec('BEGIN IMMEDIATE')
  await assert.rejects(current.abort(), UNAVAILABLE)
  db.exec('ROLLBACK')
  t.mock.restoreAll()
  const alive = () =>
    db.prepare('SELECT alive_at FROM imports').all() as unknown as { alive_at: number }[]
  await eventuallyHolds(() => {
    const times = alive().map(({ alive_at }) => alive_at)
    assert.deepEqual(times, [0])
  })

  await importRows(storage, MAIN, 'imp_2', [newRow(3)])

  assert.deepEqual(await transactions(storage, MAIN), ['tx_3'])
  assert.deepEqual(await rows(), [1, 1, 0])
})

const ofUser = (storage: Storage, user_id: string) => transactions(storage, MAIN, { user_id })

function indexed(db: SqliteDriver, user_id: string): number {
  const query = db.prepare('SELECT count(*) AS n FROM purchase_users WHERE user_key = ?')
  return (query.get(userKey(1, user_id)) as { n: number }).n
}

const rowsOf = (user_id: string, ...lines: number[]) =>
  lines.map((line) => newRow(line, { user_id }))

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

test('two users with the same key have their own purchases', async (t) => {
  const { storage, db } = await openShops(t)
  const [ann, bob] = usersWithOneKey()

  const rows = [...rowsOf(ann, 2), ...rowsOf(bob, 3), ...rowsOf(ann, 4)]
  await importRows(storage, MAIN, 'imp_1', rows)

  assert.equal(indexed(db, ann), 3)
  assert.deepEqual(await ofUser(storage, ann), ['tx_2', 'tx_4'])
  assert.deepEqual(await ofUser(storage, bob), ['tx_3'])
})

test('only rows that stay are in the index of users: not repeats, not those of an aborted import', async (t) => {
  const { storage, db } = await openShops(t)
  await importRows(storage, MAIN, 'imp_1', rowsOf('ann', 2, 3, 4))
  await importRows(storage, MAIN, 'imp_2', rowsOf('ann', 2, 3, 4, 5))
  await importRows(storage, MAIN, 'imp_3', rowsOf('ann', 9, 8, 5)) // descending
  assert.equal(indexed(db, 'ann'), 6)

  const current = await openImport(storage, MAIN, 'imp_4')
  await addRows(current, rowsOf('ann', 11, 10))
  assert.equal(indexed(db, 'ann'), 8)
  await current.abort()

  assert.equal(indexed(db, 'ann'), 6)
  assert.deepEqual(await storage.check(), [])
  db.exec('UPDATE purchase_users SET user_key = 0')
  const [missing = '', wrong = ''] = await storage.check()
  assert.match(missing, /^6 purchases are missing from the index of users/)
  assert.match(wrong, /^6 entries of the index of users/)
})

test('a repeat is not in the index of users, even if another store has used its seq again', async (t) => {
  const { storage } = await openShops(t)
  await importRows(storage, MAIN, 'imp_1', rowsOf('ann', 5, 6, 7))

  const current = await openImport(storage, MAIN, 'imp_2')
  await current.add(rowsOf('ann', 4, 5, 6, 7))
  await storage.recordPurchase(SIDE, 'imp_3', newRow(1, { user_id: 'bob' }))
  await current.finish()
  await current.commit()

  assert.deepEqual(await storage.check(), [])
})

test('a purchase that is recorded while the rows of an undone import are deleted is the last one', async (t) => {
  const { storage, db } = await openShops(t)
  await importRows(storage, MAIN, 'imp_1', [newRow(2)])
  await importRows(storage, MAIN, 'imp_2', [newRow(3)])
  db.exec(`UPDATE imports SET owner = 'gone', undone_at = '2026-02-02T00:00:00.000Z'
    WHERE import_id = 'imp_1'`)

  await storage.recordPurchase(MAIN, 'rec_1', newRow(4))

  assert.deepEqual(await transactions(storage, MAIN), ['tx_3', 'tx_4'])
})
