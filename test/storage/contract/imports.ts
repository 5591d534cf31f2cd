import assert from 'node:assert/strict'
import { test } from 'node:test'
import { importRows, openImport, purchaseOf, readPages, transactions } from '../fixtures/imports.ts'
import { append, assertUnchanged } from '../fixtures/mutate.ts'
import {
  awkwardObject,
  FOREIGN,
  insertShops,
  MAIN,
  newItem,
  newRow,
  newStore,
  SIDE,
  stage,
} from '../fixtures/records.ts'
import type { OpenStorage } from './open.ts'

export function describeImports(open: OpenStorage): void {
  test('imported rows are listed as purchases, and absent fields stay absent', async (t) => {
    const storage = await open(t)
    await insertShops(storage)
    const full = newRow(2, {
      transaction_id: 'tx 日本 \u{1F600} "quoted", comma',
      user_id: 'player',
      quantity: 1_000_000,
      price: Number.MAX_SAFE_INTEGER,
      currency: 'USD',
      status: 'refunded',
      metadata: awkwardObject(),
    })
    const before1970 = newRow(3, { purchased_at: -62_135_596_800_000 })
    const free = newRow(4, { price: 0, currency: 'EUR' })
    const current = await openImport(storage, MAIN, 'imp_1')

    const staged = await stage(current, [full, before1970, free])
    await current.commit()

    assert.deepEqual(staged, { added: 3, skipped: 0, updated: 0, conflicts: [] })
    const purchases = [full, before1970, free].map((row) => purchaseOf(row, 'imp_1'))
    assertUnchanged((await storage.listPurchases(MAIN, {}, { limit: 10 })).purchases, purchases)
  })

  test('staged rows are invisible before the commit, and all visible after it', async (t) => {
    const storage = await open(t)
    await insertShops(storage)
    const current = await openImport(storage, MAIN, 'imp_1')

    await stage(current, [newRow(2), newRow(3)])
    assert.deepEqual(await storage.listPurchases(MAIN, {}, { limit: 10 }), { purchases: [] })
    await stage(current, [newRow(4)])
    assert.deepEqual(await storage.listPurchases(MAIN, {}, { limit: 10 }), { purchases: [] })
    await current.commit()

    assert.deepEqual(await transactions(storage, MAIN), ['tx_2', 'tx_3', 'tx_4'])
  })

  test('rows whose SKU is not an item of the store are reported and left out', async (t) => {
    const storage = await open(t)
    await insertShops(storage)
    await storage.insertItem(newItem('side_only', { store_id: 'side' }))
    const odd = ['side_only', 'GOLD', 'gol', '%', "gold' OR '1'='1", '"], "gold', '日本 \u{1F600}']
    const current = await openImport(storage, MAIN, 'imp_1')

    const rows = [newRow(2), ...odd.map((sku, index) => newRow(index + 3, { sku })), newRow(99)]
    const staged = await stage(current, rows)
    await current.commit()

    assert.deepEqual(staged.unknown, [3, 4, 5, 6, 7, 8, 9])
    assert.equal(staged.added, 2)
    assert.deepEqual(await transactions(storage, MAIN), ['tx_2', 'tx_99'])
  })

  test('ids in any order are added in one slice as in many', async (t) => {
    const storage = await open(t)
    await insertShops(storage)
    const current = await openImport(storage, MAIN, 'imp_1')
    const ids = Array.from({ length: 5000 }, (_, index) => `tx_${(index * 7919) % 5003}_é`)
    const rows = ids.map((transaction_id, index) => newRow(index + 2, { transaction_id }))
    const half = rows.length / 2

    const reported = []
    for (const slice of [rows.slice(0, half), rows.slice(half), rows.slice(1000, 1500)]) {
      reported.push(await current.stage(slice))
    }
    reported.push(await current.finish())
    await current.commit()
    const added = reported.reduce((sum, each) => sum + each.added, 0)
    const skipped = reported.reduce((sum, each) => sum + each.skipped, 0)

    assert.deepEqual([added, skipped], [5000, 500])
    const pages = (await readPages(storage, MAIN, 1000)).flat()
    assert.deepEqual(
      pages.map(({ transaction_id }) => transaction_id),
      ids,
    )
  })

  test('an abort discards all rows, and they can be imported again', async (t) => {
    const storage = await open(t)
    await insertShops(storage)
    const first = await openImport(storage, MAIN, 'imp_1')
    await stage(first, [newRow(2, { transaction_id: 'tx' })])

    await first.abort()
    assert.deepEqual(await transactions(storage, MAIN), [])

    const second = await openImport(storage, MAIN, 'imp_2')
    const row = newRow(2, { transaction_id: 'tx', sku: 'gem' })
    const staged = await stage(second, [row])
    await second.commit()
    assert.deepEqual(staged, { added: 1, skipped: 0, updated: 0, conflicts: [] })
    const { purchases } = await storage.listPurchases(MAIN, {}, { limit: 10 })
    assert.deepEqual(purchases, [purchaseOf(row, 'imp_2')])
  })

  test('an abort discards 12,000 rows and keeps earlier purchases', async (t) => {
    const storage = await open(t)
    await insertShops(storage)
    await importRows(storage, MAIN, 'imp_1', [newRow(2, { transaction_id: 'before' })])
    const current = await openImport(storage, MAIN, 'imp_2')
    const rows = Array.from({ length: 12_000 }, (_, number) => newRow(number + 2))
    assert.equal((await stage(current, rows)).added, 12_000)

    await current.abort()

    assert.deepEqual(await transactions(storage, MAIN), ['before'])
    const again = await importRows(storage, MAIN, 'imp_3', rows.slice(0, 5))
    assert.equal(again.added, 5)
  })

  test('an import without rows adds nothing', async (t) => {
    const storage = await open(t)
    await insertShops(storage)

    await (await openImport(storage, MAIN, 'imp_1')).commit()
    await (await openImport(storage, MAIN, 'imp_2')).abort()
    const last = await openImport(storage, MAIN, 'imp_3')
    const staged = await stage(last, [])
    await last.commit()

    assert.deepEqual(staged, { added: 0, skipped: 0, updated: 0, conflicts: [] })
    assert.deepEqual(await transactions(storage, MAIN), [])
  })

  test('writes of others during an import are visible at once and survive its abort', async (t) => {
    const storage = await open(t)
    await insertShops(storage)
    const current = await openImport(storage, MAIN, 'imp_1')
    await stage(current, [newRow(2)])

    await storage.insertItem(newItem('sword'))
    await storage.insertStore(newStore('late'))
    await storage.updateProject('prj_1', (project) => ({ ...project, name: 'Renamed' }))
    assert.deepEqual(await storage.findItem('itm_sword'), newItem('sword'))
    await stage(current, [newRow(3)])
    await current.abort()

    assert.deepEqual(await storage.findItem('itm_sword'), newItem('sword'))
    assert.deepEqual(await storage.findStore('acc_1', 'late'), newStore('late'))
    assert.equal((await storage.findProject('prj_1'))?.name, 'Renamed')
    assert.deepEqual(await transactions(storage, MAIN), [])
  })

  test('changing a row or a returned purchase does not change the stored one', async (t) => {
    const storage = await open(t)
    await insertShops(storage)
    const row = newRow(2, { metadata: { list: ['kept'] } })
    const expected = structuredClone(purchaseOf(row, 'imp_1'))
    const current = await openImport(storage, MAIN, 'imp_1')

    await stage(current, [row])
    append(row.metadata)
    await current.commit()
    append((await storage.listPurchases(MAIN, {}, { limit: 1 })).purchases[0]?.metadata)

    const { purchases } = await storage.listPurchases(MAIN, {}, { limit: 1 })
    assert.deepEqual(purchases, [expected])
  })
}

export function describeTurns(open: OpenStorage): void {
  for (const ending of ['commit', 'abort'] as const) {
    test(`a store has one import at a time: the next one opens after the ${ending}`, async (t) => {
      const storage = await open(t)
      await insertShops(storage)
      const first = await openImport(storage, MAIN, 'imp_1')

      assert.equal(await storage.openImport(MAIN, 'imp_2'), undefined)
      await stage(first, [newRow(2)])
      assert.equal(await storage.openImport(MAIN, 'imp_2'), undefined)
      await first[ending]()

      const second = await openImport(storage, MAIN, 'imp_2')
      assert.equal(await storage.openImport(MAIN, 'imp_3'), undefined)
      await second.abort()
    })
  }

  test('of five concurrent calls that open an import into a store, one succeeds', async (t) => {
    const storage = await open(t)
    await insertShops(storage)
    const ids = ['imp_1', 'imp_2', 'imp_3', 'imp_4', 'imp_5']

    const opened = await Promise.all(ids.map((id) => storage.openImport(MAIN, id)))

    const given = opened.filter((each) => each !== undefined)
    assert.equal(given.length, 1)
    await given[0]?.abort()
  })

  test('other stores can import in parallel, even one with the same id in another account', async (t) => {
    const storage = await open(t)
    await insertShops(storage)
    const main = await openImport(storage, MAIN, 'imp_1')
    const side = await openImport(storage, SIDE, 'imp_2')
    const foreign = await openImport(storage, FOREIGN, 'imp_3')

    await Promise.all([main, side, foreign].map((each) => stage(each, [newRow(2), newRow(3)])))
    await side.commit()
    await main.abort()
    assert.deepEqual(await transactions(storage, FOREIGN), [])
    await foreign.commit()

    assert.deepEqual(await transactions(storage, MAIN), [])
    assert.deepEqual(await transactions(storage, SIDE), ['tx_2', 'tx_3'])
    assert.deepEqual(await transactions(storage, FOREIGN), ['tx_2', 'tx_3'])
  })
}
