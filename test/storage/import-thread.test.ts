import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { openSqliteStorage } from '../../lib/index.ts'
import type { PurchaseImport } from '../../lib/storage/port.ts'
import { sumOutcomes } from '../../lib/storage/row-outcomes.ts'
import { start } from '../support/cli.ts'
import { eventuallyHolds } from '../support/eventually.ts'
import { soakOnly } from '../support/soak.ts'
import { threadsOf } from '../support/threads.ts'
import { openImport, transactions } from './fixtures/imports.ts'
import { newPath, openShops } from './fixtures/places.ts'
import { itemsOf, MAIN, newItem, newRow, SIDE } from './fixtures/records.ts'

const SLICE = 500
const idsOf = (count: number) => Array.from({ length: count }, (_, i) => `tx_${i}`)
const rowOf = (transaction_id: string, i: number) => newRow(i + 2, { transaction_id })

async function addAll(current: PurchaseImport, ids: readonly string[]) {
  const results = []
  const rows = ids.map(rowOf)
  for (let i = 0; i < rows.length; i += SLICE) {
    results.push(await current.add(rows.slice(i, i + SLICE)))
  }
  return sumOutcomes([...results, await current.finish()])
}

test('an import that changes to the thread keeps each id once, and the order of its rows', async (t) => {
  const { storage } = await openShops(t, { importThreadRows: 1_000 })
  const threads = threadsOf(t)
  const ids = Array.from({ length: 6_000 }, (_, i) => `tx_${(i * 7919) % 6_007}`)
  const current = await openImport(storage, MAIN, 'imp_1')

  const { added, skipped } = await addAll(current, [...ids, ...ids.slice(500, 3_500)])
  await current.commit()

  assert.deepEqual([added, skipped], [6_000, 3_000])
  assert.deepEqual(await transactions(storage, MAIN), ids)
  assert.ok(threads.length > 0)
  assert.ok(threads.every(({ threadId }) => threadId === -1)) // the threads have ended
  assert.deepEqual(await storage.check(), [])
})

test('two imports at a time have a thread each, and the index of users is complete', async (t) => {
  const { storage } = await openShops(t, { importThreadRows: 0 })
  const threads = threadsOf(t)
  const imports = [
    await openImport(storage, MAIN, 'imp_1'),
    await openImport(storage, SIDE, 'imp_2'),
  ]
  const rows = idsOf(700).map((id, i) => ({ ...rowOf(id, i), user_id: `user_${i % 350}` }))
  for (let turn = 0; turn < 8; turn++) {
    for (const current of imports) {
      const own = rows.map((row) => ({ ...row, transaction_id: `${turn}_${row.transaction_id}` }))
      await current.add(own)
      await current.add(rows.slice(0, 3)) // repeats from the second turn on
    }
  }
  for (const current of imports) {
    assert.equal(
      threads.filter(({ threadId }) => threadId !== -1).length,
      current === imports[0] ? 2 : 1,
    )
    await current.finish()
    await current.commit()
  }
  assert.ok(threads.every(({ threadId }) => threadId === -1))

  assert.deepEqual(await storage.check(), [])
  const expected = Array.from({ length: 16 }, (_, i) => `${i >> 1}_tx_${i % 2 ? 699 : 349}`)
  assert.deepEqual(await transactions(storage, SIDE, { user_id: 'user_349' }), expected)
})

test('writes go on beside the thread, and its commits leave the read cache filled', async (t) => {
  const { storage } = await openShops(t, { importThreadRows: 0 })
  const current = await openImport(storage, MAIN, 'imp_1')
  const gold = await storage.findItem('itm_gold')
  let isAdded = false
  const adding = addAll(current, idsOf(10_000)).finally(() => {
    isAdded = true
  })
  while (!isAdded) {
    assert.equal(await storage.findItem('itm_gold'), gold, 'the same frozen object')
    await setTimeout(1)
  }
  assert.equal((await adding).added, 10_000)

  isAdded = false
  const again = addAll(current, idsOf(5_000)).finally(() => {
    isAdded = true
  })
  const names: string[] = []
  // Writes that follow each other without pause. The thread gets the lock too.
  while (!isAdded) {
    names.push(`new_${names.length}`)
    await storage.insertItem(newItem(names.at(-1) as string))
  }
  assert.equal((await again).skipped, 5_000)
  await current.commit()

  const items = (await itemsOf(storage, MAIN)).map(({ name }) => name)
  assert.ok(names.length > 0)
  assert.deepEqual(items.slice(2), names)
})

test('the thread keeps the write-ahead log short', { skip: soakOnly }, async (t) => {
  const { storage, path } = await openShops(t, { importThreadRows: 0 })
  const current = await openImport(storage, MAIN, 'imp_1')

  await addAll(current, idsOf(400_000))

  assert.ok(statSync(`${path}-wal`).size < 24 * 2 ** 20)
  await current.commit()
})

test('an import fails when its thread ends, and leaves nothing', async (t) => {
  const { storage, rows } = await openShops(t, { importThreadRows: 0 })
  const threads = threadsOf(t)
  const current = await openImport(storage, MAIN, 'imp_1')
  await current.add(idsOf(500).map(rowOf))
  await threads[0]?.terminate()

  await assert.rejects(addAll(current, idsOf(2_000)), /thread .* has ended/)
  await current.abort()

  assert.deepEqual(await rows(), [0, 0, 0])
  const next = await openImport(storage, MAIN, 'imp_2')
  await addAll(next, idsOf(10))
  await next.commit()
  assert.equal((await transactions(storage, MAIN)).length, 10)
})

test('an abort and a close end the calls that wait for the thread', async (t) => {
  const { storage } = await openShops(t, { importThreadRows: 0 })
  const threads = threadsOf(t)
  const rows = idsOf(500).map(rowOf)
  const first = await openImport(storage, MAIN, 'imp_1')
  const second = await openImport(storage, SIDE, 'imp_2')
  await first.add(rows)
  const waiting = Promise.allSettled(Array.from({ length: 60 }, () => first.add(rows)))

  await first.abort()
  const outcomes = await waiting
  const adding = assert.rejects(addAll(second, idsOf(20_000)), { code: 'storage_unavailable' })
  await storage.close()

  assert.ok(outcomes.some(({ status }) => status === 'rejected'))
  await adding
  assert.ok(threads.every(({ threadId }) => threadId === -1))
})

test('an import goes on in the main thread when its thread dies before it takes over', async (t) => {
  const { storage } = await openShops(t, { importThreadRows: 1_000 })
  const threads = threadsOf(t, (thread) => void thread.terminate())
  const current = await openImport(storage, MAIN, 'imp_1')
  const rows = idsOf(6_000).map(rowOf)
  await current.add(rows.slice(0, 1_000))
  await current.add(rows.slice(1_000, 1_500))
  assert.equal(threads.length, 1)

  for (let i = 1_500; i < rows.length; i += SLICE) await current.add(rows.slice(i, i + SLICE))

  await current.finish()
  await current.commit()
  assert.equal((await transactions(storage, MAIN)).length, 6_000)
})

/** Runs a program. Returns what it prints. */
async function outputOf(script: string, ...args: string[]): Promise<string> {
  const program = fileURLToPath(new URL(script, import.meta.url))
  return (await promisify(execFile)(process.execPath, [program, ...args])).stdout
}

test('a program goes on when its thread becomes ready at the end of the import', async (t) => {
  assert.equal(await outputOf('./fixtures/late-thread.ts', newPath(t)), 'done\n')
})

test('importThreadRows must be a number that is not negative', async (t) => {
  const open = (importThreadRows: number) => openSqliteStorage(newPath(t), { importThreadRows })
  for (const wrong of [-1, Number.NaN]) await assert.rejects(open(wrong), TypeError)
})

test('an import is not half visible after kill -9 while its thread adds rows', {
  skip: soakOnly,
}, async (t) => {
  const { storage, path, rows, db } = await openShops(t, { importThreadRows: 0 })
  const file = join(dirname(path), 'purchases.csv')
  const lines = idsOf(200_000).map((id) => `${id},gold,2024-01-15T10:00:00Z\n`)
  writeFileSync(file, `transaction_id,sku,purchased_at\n${lines.join('')}`)
  const args = ['purchases', 'import', file, '--store', 'main', '--account', 'acc_1', '--db', path]
  const child = start(args, {})
  t.after(() => child.kill('SIGKILL'))
  const closed = once(child, 'close')

  // The thread takes over after 10,000 rows, or up to twice as many.
  await eventuallyHolds(async () => assert.ok(((await rows())[0] ?? 0) > 45_000))
  child.kill('SIGKILL')
  const [code] = await closed

  assert.equal(code, null, 'it was killed before its end')
  assert.deepEqual(await transactions(storage, MAIN), [])
  db.exec('UPDATE imports SET alive_at = 0')
  let next: PurchaseImport | undefined
  await eventuallyHolds(async () => {
    next = await storage.openImport(MAIN, 'imp_2')
    assert.ok(next)
  })
  assert.equal((await addAll(next as PurchaseImport, idsOf(10))).added, 10)
  await next?.commit()
  assert.deepEqual(await rows(), [10, 1, 0])
  assert.deepEqual(await storage.check(), [])
})
