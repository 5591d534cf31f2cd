import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { openSqliteStorage, type Storage } from '../../lib/index.ts'
import type { SqliteDriverName } from '../../lib/storage/sqlite/drivers.ts'
import { createWriteQueue, type GroupTransaction } from '../../lib/storage/sqlite/queue.ts'
import { bePatient, hurry } from '../support/clock.ts'
import { all } from '../support/collect.ts'
import { pragma, raw, watchConnections } from '../support/connections.ts'
import { sqliteDrivers } from '../support/drivers.ts'
import { temporaryFolder } from '../support/folder.ts'
import { startWorker } from '../support/worker.ts'
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

/** A quarter of the number of writes. TILLKIT_TEST_WRITES sets it: 500 in a full run. */
const WRITES = Number(process.env.TILLKIT_TEST_WRITES ?? 60)
/** The number of kills. TILLKIT_TEST_KILLS sets it: 100 in a full run. */
const KILLS = Number(process.env.TILLKIT_TEST_KILLS ?? 2)

describe('a queue of writes', describeQueue)
for (const { driver, skip } of await sqliteDrivers()) {
  describe(`writes into a file with ${driver}`, { skip }, () => {
    describe('that share a transaction', () => describeGroups(driver))
    describe('that wait for a lock', () => describeLocks(driver))
  })
}

function describeQueue(): void {
  test('a commit that fails rejects the whole group, and the next group is written', async () => {
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

    assert.deepEqual(
      group.map(({ status }) => status),
      ['rejected', 'rejected'],
    )
    assert.equal(await write(() => 3), 3)
    assert.deepEqual(done, ['begin', 'rollback', 'begin', 'commit'])
  })

  test('a transaction that SQLite has rolled back by itself rejects the whole group', async () => {
    const done: string[] = []
    const lost: GroupTransaction = {
      ...transaction(done),
      attempt(work) {
        try {
          return work()
        } catch {
          throw new Error('no such savepoint')
        }
      },
    }
    const { write } = createWriteQueue(lost)
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

  test('an error after a wait for the lock does not stop the queue', async () => {
    const begins = [() => false, () => assert.fail('disk'), () => true]
    const { write } = createWriteQueue({
      ...transaction([]),
      begin: () => begins.shift()?.() ?? true,
    })

    await assert.rejects(
      write(() => 1),
      { message: 'disk' },
    )

    assert.equal(await write(() => 2), 2)
  })

  test('each write waits equally long for the lock, whenever it was queued', async (t) => {
    let now = 0
    t.mock.method(performance, 'now', () => now)
    let isFree = false
    let tries = 0
    const { write } = createWriteQueue({
      ...transaction([]),
      begin: () => ++tries > 0 && isFree,
    })
    const nextTry = async () => {
      for (const last = tries; tries === last; ) await setImmediate()
    }

    const early = write(() => 'early')
    await nextTry()
    now = 9_000
    const late = write(() => 'late')
    await nextTry()
    now = 10_000
    await assert.rejects(early, { code: 'storage_unavailable' })
    isFree = true

    assert.equal(await late, 'late')
  })

  test('end() resolves after all queued writes, or at once without any', async () => {
    const queue = createWriteQueue(transaction([]))
    const done: unknown[] = []
    for (let i = 0; i < 1_200; i++) queue.write(() => done.push(i))

    await queue.end()

    assert.equal(done.length, 1_200)
    await queue.end()
  })
}

function describeGroups(driver: SqliteDriverName): void {
  test('64 writes in one turn of the event loop share a transaction, and 64 turns need 64', async (t) => {
    const { storage, path } = await openFile(t, driver)
    const before = commitsIn(path)

    await Promise.all(Array.from({ length: 64 }, (_, i) => storage.insertItem(newItem(`a_${i}`))))
    assert.equal(commitsIn(path) - before, 1)
    for (let i = 0; i < 64; i++) await storage.insertItem(newItem(`b_${i}`))
    assert.equal(commitsIn(path) - before, 65)
  })

  test('a failed write leaves nothing, and the other writes of its transaction are stored', async (t) => {
    const { storage, path } = await openFile(t, driver)
    const item = (name: string) => storage.insertItem(newItem(name))
    const results = await Promise.allSettled([
      item('first'),
      storage.insertAccount(newAccount('acc_3'), newKey('acc_3', 'hash-1')), // a taken hash
      item('second'),
      storage.updateProject('prj_1', () => assert.fail('a change that throws')),
      item('second'),
      storage.insertStore(newStore('lost', { project_id: 'prj_none' })),
      item('third'),
      storage.updateProject('prj_1', (project) => ({ ...project, name: 'Changed' })),
    ])

    const outcomes = results.map((each) => (each.status === 'fulfilled' ? each.value : each.status))
    const inserted = [outcomes[0], outcomes[2], outcomes[4], outcomes[6]]
    assert.deepEqual(inserted, ['inserted', 'inserted', 'taken', 'inserted'])
    assert.deepEqual([outcomes[1], outcomes[3], outcomes[5]], ['rejected', 'rejected', 'rejected'])
    await storage.close()
    const again = await open(t, path, driver)
    const names = (await itemsOf(again, MAIN)).map(({ name }) => name)
    assert.deepEqual(names, ['gold', 'gem', 'first', 'second', 'third'])
    assert.equal(await again.findAccount('acc_3'), undefined)
    assert.equal(await again.findStore('acc_1', 'lost'), undefined)
    assert.equal((await again.findProject('prj_1'))?.name, 'Changed')
    assert.deepEqual(await again.check(), [])
  })

  test('acknowledged writes survive kill -9', async (t) => {
    const path = join(temporaryFolder(t), 'till.db')
    const storage = await open(t, path, driver)
    for (let round = 0; round < KILLS; round++) {
      const line = `line-${round}`
      await insertLine(storage, line)
      const worker = startWorker(t)
      await worker.ask('open', path, driver)
      const reported = worker.takeSteps(line)
      const enough = 2 + (round % 5)
      while (reported.steps < enough) await setImmediate()
      await worker.kill()

      const after = await openSqliteStorage(path, { driver })
      assert.deepEqual(await findStale(after, line, reported.steps), [])
      await after.close()
    }
    assert.deepEqual(await storage.check(), [])
  })

  test('on a full disk writes fail and reads work, and writes succeed once there is space', async (t) => {
    const connections = await watchConnections(t, driver)
    const { storage, path } = await openFile(t, driver)
    const limit = (pages: number) => {
      for (const db of connections) db.exec(`PRAGMA max_page_count = ${pages}`)
    }
    limit(Number(pragma(await raw(t, path, driver), 'page_count')) + 2)
    const large = (name: string) => newItem(name, { metadata: { text: 'x'.repeat(60_000) } })

    const results = await Promise.allSettled(
      ['a', 'b', 'c'].map((name) => storage.insertItem(large(name))),
    )
    for (const each of results) {
      assert.equal(each.status === 'rejected' && each.reason.code, 'storage_unavailable')
    }
    assert.equal((await itemsOf(storage, MAIN)).length, 2)
    assert.deepEqual(await storage.check(), [])

    limit(1_000_000)
    assert.equal(await storage.insertItem(large('a')), 'inserted')
    assert.equal((await itemsOf(storage, MAIN)).length, 3)
  })

  test('writes queued before close() are stored, and later ones are refused', async (t) => {
    const { storage, path } = await openFile(t, driver)
    const read = storage.findItem('itm_gold')
    const writes = ['a', 'b', 'c'].map((name) => storage.insertItem(newItem(name)))

    const closing = storage.close()
    const late = storage.insertItem(newItem('late'))
    await assert.rejects(late, { code: 'storage_unavailable', message: 'The storage is closed' })
    await Promise.all([closing, storage.close()])

    assert.deepEqual(await Promise.all(writes), ['inserted', 'inserted', 'inserted'])
    assert.equal((await read)?.name, 'gold')
    await assert.rejects(storage.findItem('itm_gold'), { code: 'storage_unavailable' })
    await assert.rejects(storage.ping(), { code: 'storage_unavailable' })
    const again = await open(t, path, driver)
    assert.equal((await itemsOf(again, MAIN)).length, 5)
  })
}

function describeLocks(driver: SqliteDriverName): void {
  test('reads work while writes and imports wait for the lock of another process', async (t) => {
    const { storage, path } = await openFile(t, driver)
    bePatient(t)
    const other = startWorker(t)
    await other.ask('lock', path, driver)
    let settled = 0
    const waiting = [
      storage.insertItem(newItem('a')),
      storage.insertItem(newItem('b')),
      importOne(storage),
    ].map((each) => each.finally(() => settled++))

    for (let i = 0; i < 200; i++) assert.equal((await storage.findItem('itm_gold'))?.name, 'gold')
    assert.equal(settled, 0)
    await other.ask('unlock')

    assert.deepEqual(await Promise.all(waiting), ['inserted', 'inserted', undefined])
  })

  test('a lock that is never released causes storage_unavailable, also in close()', async (t) => {
    hurry(t)
    const { storage, path } = await openFile(t, driver)
    const other = startWorker(t)
    await other.ask('lock', path, driver)

    await assert.rejects(storage.insertItem(newItem('a')), { code: 'storage_unavailable' })
    await assert.rejects(importOne(storage), { code: 'storage_unavailable' })
    const last = assert.rejects(storage.insertItem(newItem('b')), { code: 'storage_unavailable' })
    await storage.close()
    await last
  })

  test('four processes write concurrently during an import, and all make progress', async (t) => {
    bePatient(t)
    const { storage, path } = await openFile(t, driver)
    const workers = Array.from({ length: 4 }, () => startWorker(t))
    for (const worker of workers) {
      await worker.ask('bePatient')
      await worker.ask('open', path, driver)
    }

    await Promise.all([
      ...workers.map((worker, i) => worker.ask('insertAccounts', `acc-${i}`, WRITES)),
      importOne(storage),
    ])

    assert.equal((await all((page) => storage.listAccounts(page))).length, 2 + 4 * WRITES)
    assert.equal((await storage.listPurchases(MAIN, {}, { limit: 10 })).purchases.length, 1)
    assert.deepEqual(await storage.check(), [])
  })
}

/** A transaction that records its calls. */
function transaction(done: string[]): GroupTransaction {
  return {
    begin: () => done.push('begin') > 0,
    attempt: (work) => work(),
    commit: () => void done.push('commit'),
    rollback: () => void done.push('rollback'),
  }
}

/** Counts the transactions in a WAL: the last frame of each contains the size of the file. */
function commitsIn(path: string): number {
  const wal = readFileSync(`${path}-wal`)
  const frame = 24 + wal.readUInt32BE(8) // sqlite.org/fileformat.html section 4.1
  let commits = 0
  for (let at = 32; at < wal.length; at += frame) if (wal.readUInt32BE(at + 4) > 0) commits++
  return commits
}

async function importOne(storage: Storage): Promise<void> {
  const current = (await storage.openImport(MAIN, 'imp_1')) ?? assert.fail()
  await current.stage([newRow(2)])
  await current.finish()
  await current.commit()
}

async function openFile(t: TestContext, driver: SqliteDriverName) {
  const path = join(temporaryFolder(t), 'till.db')
  const storage = await open(t, path, driver)
  await insertShops(storage)
  return { storage, path }
}

async function open(t: TestContext, path: string, driver: SqliteDriverName): Promise<Storage> {
  const storage = await openSqliteStorage(path, { driver })
  t.after(() => storage.close())
  return storage
}
