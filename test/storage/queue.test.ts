import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, type TestContext, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { openSqliteStorage, type Storage } from '../../lib/index.ts'
import { createWriteQueue, type GroupTransaction } from '../../lib/storage/sqlite/queue.ts'
import { bePatient, hurry } from '../support/clock.ts'
import { pragma, raw, watchConnections } from '../support/connections.ts'
import { soakOnly } from '../support/soak.ts'
import { startWorker } from '../support/worker.ts'
import { importRows, transactions } from './fixtures/imports.ts'
import { newPath, open } from './fixtures/places.ts'
import {
  insertShops,
  itemsOf,
  MAIN,
  newAccount,
  newItem,
  newKey,
  newRow,
  newStore,
} from './fixtures/records.ts'
import { findStale, insertLine } from './fixtures/steps.ts'

const UNAVAILABLE = { code: 'storage_unavailable' }
/** A quarter of the number of writes. */
const WRITES = soakOnly ? 40 : 500
const KILLS = soakOnly ? 2 : 30

describe('a queue of writes', () => {
  /** A transaction that records its calls. */
  const transaction = (done: string[] = []): GroupTransaction => ({
    begin: () => done.push('begin') > 0,
    attempt: (work) => work(),
    commit: () => void done.push('commit'),
    rollback: () => void done.push('rollback'),
  })

  test('rejects the whole group whose commit fails, and writes the next one', async () => {
    const done: string[] = []
    let isBroken = true
    const { write } = createWriteQueue({
      ...transaction(done),
      commit() {
        if (isBroken) throw new Error('disk')
        done.push('commit')
      },
    })

    const group = await Promise.allSettled([write(() => 1), write(() => 2)])
    isBroken = false

    const statuses = group.map(({ status }) => status)
    assert.deepEqual(statuses, ['rejected', 'rejected'])
    assert.equal(await write(() => 3), 3)
    assert.deepEqual(done, ['begin', 'rollback', 'begin', 'commit'])
  })

  test('rejects the whole group whose transaction SQLite has rolled back by itself', async () => {
    const done: string[] = []
    const { write } = createWriteQueue({
      ...transaction(done),
      attempt(work) {
        try {
          return work()
        } catch {
          throw new Error('no such savepoint')
        }
      },
    })
    const fail = () => {
      throw new Error('full')
    }

    const group = await Promise.allSettled([write(() => 1), write(fail), write(() => 2)])

    const reasons = group.map((each) => each.status === 'rejected' && each.reason.message)
    assert.deepEqual(reasons, ['full', 'full', 'full'])
    assert.deepEqual(done, ['begin', 'rollback', 'begin', 'rollback'])
  })

  test('a group without errors uses no savepoint, and a group with one uses them from the start', async () => {
    const done: string[] = []
    const { write } = createWriteQueue({
      ...transaction(done),
      attempt(work) {
        done.push('savepoint')
        return work()
      },
    })
    const fail = () => {
      throw new Error('own')
    }

    await Promise.all([write(() => 1), write(() => 2)])
    assert.deepEqual(done.splice(0), ['begin', 'commit'])
    const group = await Promise.allSettled([write(() => 1), write(fail), write(() => 2)])
    const outcomes = group.map((each) => (each.status === 'fulfilled' ? each.value : 'own'))
    assert.deepEqual(outcomes, [1, 'own', 2])
    const repeated = ['begin', 'savepoint', 'savepoint', 'savepoint', 'commit']
    assert.deepEqual(done.splice(0), ['begin', 'rollback', ...repeated])
    await assert.rejects(write(fail), { message: 'own' })
    assert.deepEqual(done.splice(0), ['begin', 'rollback'])
    await Promise.all([write(() => 1), write(() => 2)])
    assert.deepEqual(done, ['begin', 'commit'])
  })

  test('goes on after an error that follows a wait for the lock', async () => {
    const begins = [() => false, () => assert.fail('disk'), () => true]
    const begin = () => begins.shift()?.() ?? true
    const { write } = createWriteQueue({ ...transaction(), begin })

    const first = write(() => 1)
    await assert.rejects(first, { message: 'disk' })

    assert.equal(await write(() => 2), 2)
  })

  test('lets each write wait equally long for the lock, whenever it was queued', async (t) => {
    let now = 0
    t.mock.method(performance, 'now', () => now)
    let isFree = false
    let tries = 0
    const begin = () => ++tries > 0 && isFree
    const { write } = createWriteQueue({ ...transaction(), begin })
    const nextTry = async () => {
      for (const last = tries; tries === last; ) await setImmediate()
    }

    const early = write(() => 'early')
    await nextTry()
    now = 9_000
    const late = write(() => 'late')
    await nextTry()
    now = 10_000
    await assert.rejects(early, UNAVAILABLE)
    isFree = true

    assert.equal(await late, 'late')
  })

  test('end() resolves after all queued writes, or at once without any', async () => {
    const queue = createWriteQueue(transaction())
    const done: unknown[] = []
    for (let i = 0; i < 1_200; i++) queue.write(() => done.push(i))

    await queue.end()

    assert.equal(done.length, 1_200)
    await queue.end()
  })
})

async function openShops(t: TestContext) {
  const path = newPath(t)
  const storage = await open(t, path)
  await insertShops(storage)
  return { storage, path }
}

const namesIn = async (storage: Storage) => (await itemsOf(storage, MAIN)).map(({ name }) => name)

/** Counts the transactions in a WAL: the last frame of each contains the size of the file. */
function commitsIn(path: string): number {
  const wal = readFileSync(`${path}-wal`)
  const frame = 24 + wal.readUInt32BE(8) // sqlite.org/fileformat.html section 4.1
  let commits = 0
  for (let at = 32; at < wal.length; at += frame) if (wal.readUInt32BE(at + 4) > 0) commits++
  return commits
}

describe('writes into a file that share a transaction', () => {
  test('64 writes in one turn of the event loop share one, and 64 turns need 64', async (t) => {
    const { storage, path } = await openShops(t)
    const before = commitsIn(path)

    await Promise.all(Array.from({ length: 64 }, (_, i) => storage.insertItem(newItem(`a_${i}`))))
    assert.equal(commitsIn(path) - before, 1)
    for (let i = 0; i < 64; i++) await storage.insertItem(newItem(`b_${i}`))
    assert.equal(commitsIn(path) - before, 65)
  })

  test('a failed write leaves nothing, and the other writes of its transaction are stored', async (t) => {
    const { storage, path } = await openShops(t)
    const item = (name: string) => storage.insertItem(newItem(name))
    const results = await Promise.allSettled([
      item('first'),
      storage.insertAccount(newAccount('acc_3'), newKey('acc_3', 'hash-1')), // a taken hash
      item('second'),
      storage.updateProject('prj_1', () => assert.fail('a change that throws')),
      item('second'),
      storage.insertStore(newStore('lost', { project_id: 'prj_none' })),
      item('third'),
      storage.insertStore(newStore('kept')),
    ])

    const outcomes = results.map((each) => (each.status === 'fulfilled' ? each.value : each.status))
    const [ok, no] = ['inserted', 'rejected']
    assert.deepEqual(outcomes, [ok, no, ok, no, 'taken', no, ok, ok])
    await storage.close()
    const again = await open(t, path)
    assert.deepEqual(await namesIn(again), ['gold', 'gem', 'first', 'second', 'third'])
    assert.equal(await again.findAccount('acc_3'), undefined)
    assert.equal(await again.findStore('acc_1', 'lost'), undefined)
    assert.equal((await again.findStore('acc_1', 'kept'))?.store_id, 'kept')
    assert.deepEqual(await again.check(), [])
  })

  test('acknowledged writes survive kill -9', async (t) => {
    const path = newPath(t)
    const storage = await open(t, path)
    for (let round = 0; round < KILLS; round++) {
      const line = `line-${round}`
      await insertLine(storage, line)
      const worker = startWorker(t)
      await worker.ask('open', path)
      const reported = worker.takeSteps(line)
      while (reported.steps < 2 + (round % 5)) await setImmediate()
      await worker.kill()

      const after = await openSqliteStorage(path)
      assert.deepEqual(await findStale(after, line, reported.steps), [])
      await after.close()
    }
    assert.deepEqual(await storage.check(), [])
  })

  test('on a full disk writes fail and reads work, and writes succeed once there is space', async (t) => {
    const connections = await watchConnections(t)
    const { storage, path } = await openShops(t)
    const limit = (pages: number) => {
      for (const db of connections) db.exec(`PRAGMA max_page_count = ${pages}`)
    }
    limit(Number(pragma(await raw(t, path), 'page_count')) + 2)
    const large = (name: string) => newItem(name, { metadata: { text: 'x'.repeat(60_000) } })

    const inserted = ['a', 'b', 'c'].map((name) => storage.insertItem(large(name)))
    for (const each of await Promise.allSettled(inserted)) {
      assert.equal(each.status === 'rejected' && each.reason.code, 'storage_unavailable')
    }
    assert.deepEqual(await namesIn(storage), ['gold', 'gem'])
    assert.deepEqual(await storage.check(), [])

    limit(1_000_000)
    assert.equal(await storage.insertItem(large('a')), 'inserted')
    assert.deepEqual(await namesIn(storage), ['gold', 'gem', 'a'])
  })

  test('writes queued before close() are stored, and later ones are refused', async (t) => {
    const { storage, path } = await openShops(t)
    const read = storage.findItem('itm_gold')
    const writes = ['a', 'b', 'c'].map((name) => storage.insertItem(newItem(name)))

    const closing = storage.close()
    const late = storage.insertItem(newItem('late'))
    await assert.rejects(late, { ...UNAVAILABLE, message: 'The storage is closed' })
    await Promise.all([closing, storage.close()])

    assert.deepEqual(await Promise.all(writes), ['inserted', 'inserted', 'inserted'])
    assert.equal((await read)?.name, 'gold')
    await assert.rejects(storage.findItem('itm_gold'), UNAVAILABLE)
    await assert.rejects(storage.ping(), UNAVAILABLE)
    assert.equal((await namesIn(await open(t, path))).length, 5)
  })
})

describe('writes into a file that wait for a lock', () => {
  const importOne = (storage: Storage) => importRows(storage, MAIN, 'imp_1', [newRow(2)])

  test('let reads work while they wait for another process, as imports do', async (t) => {
    const { storage, path } = await openShops(t)
    bePatient(t)
    const other = startWorker(t)
    await other.ask('lock', path)
    let settled = 0
    const waiting = [
      storage.insertItem(newItem('a')),
      storage.insertItem(newItem('b')),
      importOne(storage),
    ].map((each: Promise<unknown>) => each.finally(() => settled++))

    for (let i = 0; i < 200; i++) assert.equal((await storage.findItem('itm_gold'))?.name, 'gold')
    assert.equal(settled, 0)
    await other.ask('unlock')

    const outcomes = await Promise.all(waiting)
    assert.deepEqual(outcomes.slice(0, 2), ['inserted', 'inserted'])
  })

  test('fail with storage_unavailable if the lock is never released, also in close()', async (t) => {
    hurry(t)
    const { storage, path } = await openShops(t)
    const other = startWorker(t)
    await other.ask('lock', path)

    await assert.rejects(storage.insertItem(newItem('a')), UNAVAILABLE)
    await assert.rejects(importOne(storage), UNAVAILABLE)
    const last = assert.rejects(storage.insertItem(newItem('b')), UNAVAILABLE)
    await storage.close()
    await last
  })

  test('of four processes all make progress, also during an import', async (t) => {
    bePatient(t)
    const { storage, path } = await openShops(t)
    const workers = Array.from({ length: 4 }, () => startWorker(t))
    for (const worker of workers) {
      await worker.ask('bePatient')
      await worker.ask('open', path)
    }

    await Promise.all([
      ...workers.map((worker, i) => worker.ask('insertAccounts', `acc-${i}`, WRITES)),
      importOne(storage),
    ])

    assert.equal(await storage.countRows('accounts'), 2 + 4 * WRITES)
    assert.deepEqual(await transactions(storage, MAIN), ['tx_2'])
    assert.deepEqual(await storage.check(), [])
  })
})
