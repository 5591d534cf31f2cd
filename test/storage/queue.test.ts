// run: runtime
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { createTill, type Storage } from '../../lib/index.ts'
import { createWriteQueue } from '../../lib/storage/sqlite/queue.ts'
import { bePatient, hurry } from '../support/clock.ts'
import { raw } from '../support/connections.ts'
import { createSignal } from '../support/server.ts'
import { soakOnly } from '../support/soak.ts'
import { importRows, transactions } from '../support/storage/imports.ts'
import { newPath, open, openShops } from '../support/storage/places.ts'
import {
  insertShops,
  itemsOf,
  MAIN,
  newAccount,
  newItem,
  newKey,
  newRow,
  newStore,
} from '../support/storage/records.ts'
import { createShop, fileOf } from '../support/till.ts'
import { startWorker } from '../support/worker.ts'

const ITEM = { display_name: 'Gem', price: '499', type: 'consumable' } as const
const UNAVAILABLE = { code: 'storage_unavailable' }
/** The writes of each of three processes. */
const WRITES = soakOnly ? 40 : 500

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
    bePatient(t) // a group ends after 10 ms, which a busy machine needs for fewer writes
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

  test('are those of each account in turn', async (t) => {
    const { storage } = await openShops(t)
    const till = createTill({ storage })
    const shops = [await createShop(till, 'Many'), await createShop(till, 'One')] as const
    const create = ({ account }: (typeof shops)[number], name: string) =>
      till.items.create(account, { ...ITEM, store_id: 'main', name })
    const { next } = await till.operator.followAudit({})

    const many = Array.from({ length: 50 }, (_, i) => create(shops[0], `gem_${i}`))
    await Promise.all([...many, create(shops[1], 'gem')])

    const { entries } = await till.operator.followAudit({ cursor: next })
    const owners = entries.map(({ account_id }) => account_id)
    assert.equal(owners.length, 51)
    assert.equal(owners.indexOf(shops[1].account_id), 1)
  })

  test('if their commit fails, all are refused, and none is repeated', async () => {
    let commits = 0
    const transaction = async (work: () => void) => {
      work()
      if (commits++ === 0) throw new Error('disk full')
    }
    const { write } = createWriteQueue(transaction, () => 0)
    const results = await Promise.allSettled([write(() => 1), write(() => 2)])
    const outcomes = results.map(({ status }) => status)
    assert.deepEqual(outcomes, ['rejected', 'rejected'])
    assert.equal(await write(() => 3), 3)
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

  test('let reads work while they wait for another connection, as imports do', async (t) => {
    const { storage, path } = await openShops(t)
    bePatient(t)
    const other = await raw(t, path)
    other.exec('BEGIN IMMEDIATE')
    let settled = 0
    const waiting = [
      storage.insertItem(newItem('a')),
      storage.insertItem(newItem('b')),
      importOne(storage),
    ].map((each: Promise<unknown>) => each.finally(() => settled++))

    for (let i = 0; i < 200; i++) assert.equal((await storage.findItem('itm_gold'))?.name, 'gold')
    await storage.verifyAuthority({ store: MAIN })
    const refused = storage.verifyAuthority({ key_id: 'none' })
    await assert.rejects(refused, { code: 'account_key_required' })
    assert.equal(settled, 0)
    other.exec('ROLLBACK')

    const outcomes = await Promise.all(waiting)
    assert.deepEqual(outcomes.slice(0, 2), ['inserted', 'inserted'])
  })

  test('keep no turn for files: two imports stopped the files of all other accounts', async (t) => {
    const { storage, path } = await openShops(t)
    bePatient(t)
    const till = createTill({ storage })
    const [one, two, three] = [
      await createShop(till, 'One'),
      await createShop(till, 'Two'),
      await createShop(till, 'Three'),
    ]
    const other = await raw(t, path)
    const begun = [createSignal(), createSignal()]
    const locked = createSignal()
    const file = () =>
      fileOf('transaction_id,sku,purchased_at\n', 'T-1,gold,2024-03-01T12:00:00Z\n')
    const importing = [one, two].map(({ account }, i) => {
      async function* slowFile() {
        begun[i]?.give() // the import has its lease
        await locked.given
        yield* file()
      }
      return till.purchases.import(account, { store_id: 'main', file: slowFile() })
    })
    await Promise.all(begun.map(({ given }) => given))
    other.exec('BEGIN IMMEDIATE')
    let settled = 0
    const waiting = importing.map((each) => each.finally(() => settled++))
    locked.give()

    for (let i = 0; i < 20; i++) await till.purchases.explain(three.account, { file: file() })

    assert.equal(settled, 0)
    other.exec('ROLLBACK')
    assert.deepEqual(
      (await Promise.all(waiting)).map(({ added }) => added),
      [1, 1],
    )
  })

  test('fail with storage_unavailable if the lock is never released, also in close()', async (t) => {
    hurry(t)
    const { storage, path } = await openShops(t)
    const other = await raw(t, path)
    other.exec('BEGIN IMMEDIATE')

    await assert.rejects(storage.insertItem(newItem('a')), UNAVAILABLE)
    await assert.rejects(importOne(storage), UNAVAILABLE)
    other.exec('ROLLBACK')
    assert.equal(await storage.insertItem(newItem('a')), 'inserted')
    other.exec('BEGIN IMMEDIATE')
    const last = assert.rejects(storage.insertItem(newItem('b')), UNAVAILABLE)
    await storage.close()
    await last
  })

  test('of three processes, which create the file, all make progress and lose no update, also during an import', async (t) => {
    bePatient(t)
    const path = newPath(t)
    const workers = Array.from({ length: 3 }, () => startWorker(t))
    for (const worker of workers) await worker.ask('bePatient')
    await Promise.all(workers.map((worker) => worker.ask('open', path)))
    const storage = await open(t, path)
    await insertShops(storage)
    await storage.updateProject('prj_1', (project) => ({
      record: { ...project, config: { count: 0 } },
    }))

    const writing = workers.map(async (worker, i) => {
      await worker.ask('insertAccounts', `acc-${i}`, WRITES)
      await worker.ask('count', 'prj_1', 10)
    })
    await Promise.all([...writing, importOne(storage)])

    const accounts = await storage.readRows('accounts', { limit: 9_999, now: '' })
    assert.equal(accounts.length, 2 + 3 * WRITES)
    assert.deepEqual((await storage.findProject('prj_1'))?.config, { count: 30 })
    assert.deepEqual(await transactions(storage, MAIN), ['tx_2'])
    assert.deepEqual(await storage.check(), [])
  })
})
