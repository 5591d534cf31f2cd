import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { openSqliteStorage } from '../../lib/index.ts'
import type { PurchaseImport, Storage, StoreKey } from '../../lib/storage/port.ts'
import { sumStaged } from '../../lib/storage/staged.ts'
import { start } from '../support/cli.ts'
import { raw } from '../support/connections.ts'
import { eventuallyHolds } from '../support/eventually.ts'
import { soakOnly } from '../support/soak.ts'
import { openSqlite } from '../support/sqlite.ts'
import { threadsOf } from '../support/threads.ts'
import { describeImports, describeTurns } from './contract/imports.ts'
import { openImport } from './fixtures/imports.ts'
import { insertShops, itemsOf, MAIN, newItem, newRow, SIDE } from './fixtures/records.ts'
import { newPath, rowsIn } from './fixtures/sqlite.ts'

describe('an import in a thread of its own', () => {
  const open = async (t: TestContext) => (await openShops(t, 0, false)).storage
  describe('stages rows', { skip: soakOnly }, () => describeImports(open))
  describe('beside another one', () => describeTurns(open))
})

test('an import that changes to the thread keeps each id once, and the order of its rows', async (t) => {
  const { storage } = await openShops(t, 1_000)
  const threads = threadsOf(t)
  const ids = Array.from({ length: 6_000 }, (_, i) => `tx_${(i * 7919) % 6_007}`)
  const current = await openImport(storage, MAIN, 'imp_1')

  const { added, skipped } = await stageAll(current, [...ids, ...ids.slice(500, 3_500)])
  await current.commit()

  assert.deepEqual([added, skipped], [6_000, 3_000])
  assert.deepEqual(await transactions(storage, MAIN), ids)
  assert.ok(threads.length > 0)
  assert.ok(
    threads.every(({ threadId }) => threadId === -1),
    'the threads have ended',
  )
  assert.deepEqual(await storage.check(), [])
})

test('imports into two stores at a time have a thread each, which ends with its import', async (t) => {
  const { storage } = await openShops(t, 0)
  const threads = threadsOf(t)
  const first = await openImport(storage, MAIN, 'imp_1')
  const second = await openImport(storage, SIDE, 'imp_2')
  const rows = idsOf(2_000)
  await Promise.all([stageAll(first, rows), stageAll(second, rows)])

  await first.abort()
  assert.equal(threads.filter(({ threadId }) => threadId !== -1).length, 1)
  await second.commit()

  assert.ok(threads.every(({ threadId }) => threadId === -1))
  assert.deepEqual(await transactions(storage, MAIN), [])
  assert.equal((await transactions(storage, SIDE)).length, 2_000)
})

test('the index of users is complete when imports take turns, with gaps between their rows', async (t) => {
  const { storage } = await openShops(t, 0)
  const imports = [
    await openImport(storage, MAIN, 'imp_1'),
    await openImport(storage, SIDE, 'imp_2'),
  ] as const
  const rows = idsOf(700).map((id, i) => ({ ...rowOf(id, i), user_id: `user_${i % 350}` }))
  for (let turn = 0; turn < 8; turn++) {
    for (const current of imports) {
      await current.stage(
        rows.map((row) => ({ ...row, transaction_id: `${turn}_${row.transaction_id}` })),
      )
      await current.stage(rows.slice(0, 3)) // repeats from the second turn on
    }
  }
  for (const current of imports) {
    await current.finish()
    await current.commit()
  }

  assert.deepEqual(await storage.check(), [])
  const { purchases } = await storage.listPurchases(SIDE, { user_id: 'user_349' }, { limit: 100 })
  const expected = Array.from({ length: 16 }, (_, i) => `${i >> 1}_tx_${i % 2 ? 699 : 349}`)
  assert.deepEqual(
    purchases.map(({ transaction_id }) => transaction_id),
    expected,
  )
})

test('writes go on beside the thread, and its commits leave the read cache filled', async (t) => {
  const { storage } = await openShops(t, 0)
  const current = await openImport(storage, MAIN, 'imp_1')
  const gold = await storage.findItem('itm_gold')
  let isStaged = false
  const staging = stageAll(current, idsOf(20_000)).finally(() => {
    isStaged = true
  })
  while (!isStaged) {
    assert.equal(await storage.findItem('itm_gold'), gold, 'the same frozen object')
    await setTimeout(1)
  }
  assert.equal((await staging).added, 20_000)

  const names = Array.from({ length: 20 }, (_, i) => `new_${i}`)
  const again = stageAll(current, idsOf(20_000))
  for (const name of names) await storage.insertItem(newItem(name))
  assert.equal((await again).skipped, 20_000)
  await current.commit()

  const items = await itemsOf(storage, MAIN)
  assert.deepEqual(
    items.map(({ name }) => name).filter((name) => name.startsWith('new_')),
    names,
  )
})

test('the thread keeps the write-ahead log short', { skip: soakOnly }, async (t) => {
  const { storage, path } = await openShops(t, 0)
  const current = await openImport(storage, MAIN, 'imp_1')

  await stageAll(current, idsOf(400_000))

  assert.ok(statSync(`${path}-wal`).size < 24 * 2 ** 20)
  await current.commit()
})

test('an import fails when its thread ends, and leaves nothing', async (t) => {
  const { storage, path } = await openShops(t, 0)
  const threads = threadsOf(t)
  const current = await openImport(storage, MAIN, 'imp_1')
  await current.stage(idsOf(500).map(rowOf))
  await threads[0]?.terminate()

  await assert.rejects(stageAll(current, idsOf(2_000)), /thread .* has ended/)
  await current.abort()

  assert.deepEqual(rowsIn(await raw(t, path)), { purchases: 0, imports: 0, changes: 0 })
  const next = await openImport(storage, MAIN, 'imp_2')
  await stageAll(next, idsOf(10))
  await next.commit()
  assert.equal((await transactions(storage, MAIN)).length, 10)
})

test('an abort and a close end the calls that wait for the thread', async (t) => {
  const { storage } = await openShops(t, 0)
  const threads = threadsOf(t)
  const rows = idsOf(500).map(rowOf)
  const first = await openImport(storage, MAIN, 'imp_1')
  const second = await openImport(storage, SIDE, 'imp_2')
  await first.stage(rows)
  const waiting = Promise.allSettled(Array.from({ length: 60 }, () => first.stage(rows)))

  await first.abort()
  const outcomes = await waiting
  const staging = assert.rejects(stageAll(second, idsOf(20_000)), { code: 'storage_unavailable' })
  await storage.close()

  assert.ok(outcomes.some(({ status }) => status === 'rejected'))
  await staging
  assert.ok(threads.every(({ threadId }) => threadId === -1))
})

test('an import goes on in the main thread when its thread dies before it takes over', async (t) => {
  const { storage } = await openShops(t, 1_000)
  const threads = threadsOf(t, (thread) => void thread.terminate())
  const current = await openImport(storage, MAIN, 'imp_1')
  const rows = idsOf(6_000).map(rowOf)
  await current.stage(rows.slice(0, 1_000))
  await current.stage(rows.slice(1_000, 1_500))
  assert.equal(threads.length, 1)

  for (let i = 1_500; i < rows.length; i += 500) await current.stage(rows.slice(i, i + 500))

  await current.finish()
  await current.commit()
  assert.equal((await transactions(storage, MAIN)).length, 6_000)
})

test('a program goes on when its thread becomes ready at the end of the import', async (t) => {
  const program = fileURLToPath(new URL('./fixtures/late-thread.ts', import.meta.url))

  const { stdout } = await promisify(execFile)(process.execPath, [program, newPath(t)])

  assert.equal(stdout, 'done\n')
})

test('the thread and writes that follow each other without pause both get the lock', async (t) => {
  const { storage } = await openShops(t, 0)
  const current = await openImport(storage, MAIN, 'imp_1')
  let isStaged = false
  const staging = stageAll(current, idsOf(10_000)).finally(() => {
    isStaged = true
  })
  let writes = 0
  while (!isStaged) await storage.insertItem(newItem(`new_${writes++}`))

  assert.equal((await staging).added, 10_000)
  assert.ok(writes > 0)
})

test('importThreadRows must be a number that is not negative', async (t) => {
  const open = (importThreadRows: number) => openSqliteStorage(newPath(t), { importThreadRows })
  for (const wrong of [-1, Number.NaN]) await assert.rejects(open(wrong), TypeError)
})

test('an import is not half visible after kill -9 while its thread stages rows', {
  skip: soakOnly,
}, async (t) => {
  const { storage, path } = await openShops(t, 0)
  const file = join(dirname(path), 'purchases.csv')
  const rows = idsOf(200_000).map((id) => `${id},gold,2024-01-15T10:00:00Z\n`)
  writeFileSync(file, `transaction_id,sku,purchased_at\n${rows.join('')}`)
  const db = await raw(t, path)
  const count = db.prepare('SELECT count(*) AS rows FROM purchases')
  const args = ['purchases', 'import', file, '--store', 'main', '--account', 'acc_1', '--db', path]
  const child = start(args, {})
  t.after(() => child.kill('SIGKILL'))
  const closed = once(child, 'close')

  // The thread takes over after 10,000 rows, or up to twice as many.
  await eventuallyHolds(() => assert.ok((count.get() as { rows: number }).rows > 45_000))
  child.kill('SIGKILL')
  const [code] = await closed

  assert.equal(code, null, 'it was killed before its end')
  assert.deepEqual(await transactions(storage, MAIN), [])
  let next: PurchaseImport | undefined
  await eventuallyHolds(async () => {
    next = await storage.openImport(MAIN, 'imp_2')
    assert.ok(next)
  })
  assert.equal((await stageAll(next as PurchaseImport, idsOf(10))).added, 10)
  await next?.commit()
  assert.deepEqual(rowsIn(db), { purchases: 10, imports: 1, changes: 0 })
  assert.deepEqual(await storage.check(), [])
})

async function openShops(t: TestContext, importThreadRows: number, hasShops = true) {
  const path = newPath(t)
  const storage = await openSqlite(path, { importThreadRows })
  t.after(() => storage.close())
  if (hasShops) await insertShops(storage)
  return { storage, path }
}

const idsOf = (count: number) => Array.from({ length: count }, (_, i) => `tx_${i}`)
const rowOf = (transaction_id: string, i: number) => newRow(i + 2, { transaction_id })

async function stageAll(current: PurchaseImport, ids: readonly string[]) {
  const results = []
  const rows = ids.map(rowOf)
  for (let i = 0; i < rows.length; i += 500)
    results.push(await current.stage(rows.slice(i, i + 500)))
  return sumStaged([...results, await current.finish()])
}

async function transactions(storage: Storage, store: StoreKey): Promise<string[]> {
  const { purchases } = await storage.listPurchases(store, {}, { limit: 10_000 })
  return purchases.map(({ transaction_id }) => transaction_id)
}
