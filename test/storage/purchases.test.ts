import assert from 'node:assert/strict'
import { setImmediate } from 'node:timers/promises'
import type { NewPurchase } from '../../lib/domain/purchase.ts'
import type { PurchaseFilter } from '../../lib/domain/query.ts'
import { SUMMARY_KEYS, type SummaryKey } from '../../lib/domain/summary.ts'
import type { Page } from '../../lib/storage/port.ts'
import { pagesOf } from '../../lib/storage/sql/lists.ts'
import { collect } from '../support/collect.ts'
import { testsOn } from '../support/databases.ts'
import { DETAILS, importRows } from '../support/storage/imports.ts'
import {
  FOREIGN,
  insertShops,
  MAIN,
  newItem,
  newRow,
  newStore,
  SIDE,
} from '../support/storage/records.ts'

const ACCOUNT = { account_id: 'acc_1' }
const LARGEST = Number.MAX_SAFE_INTEGER

const timesOf = (first: number, last: number) => ({
  first_purchased_at: new Date(first).toISOString(),
  last_purchased_at: new Date(last).toISOString(),
})
const at = (time: string): Partial<NewPurchase> => ({ purchased_at: Date.parse(time) })

const test = testsOn(insertShops)

test('a page with a filter examines a limited number of purchases', async (storage) => {
  const rows = [2, 3, 4, 5, 6, 7].map((line) =>
    newRow(line, line % 3 === 0 ? { status: 'refunded' } : {}),
  )
  await importRows(storage, SIDE, 'imp_side', [newRow(2)])
  await importRows(storage, MAIN, 'imp_1', rows.slice(0, 3))
  await importRows(storage, MAIN, 'imp_2', rows.slice(3))
  const idsOf = async (filter: PurchaseFilter, limit = 9, newestFirst = false) => {
    const read = (page: Page) =>
      storage.listPurchases(MAIN, filter, { ...page, examine: 2, newestFirst })
    const pages = await collect(pagesOf(read, limit))
    return pages.map(({ records }) => records.map(({ transaction_id }) => transaction_id))
  }

  const refunded = await idsOf({ status: 'refunded' })
  assert.deepEqual(refunded.slice(0, 3), [['tx_3'], [], ['tx_6']])
  assert.deepEqual(refunded.slice(3).flat(), [])
  const reversed = await idsOf({ status: 'refunded' }, 9, true)
  assert.deepEqual(reversed.slice(0, 3), [['tx_6'], [], ['tx_3']])
  const ofSecond = await idsOf({ status: 'purchased', import_id: 'imp_2' }, 1)
  assert.deepEqual(ofSecond.flat(), ['tx_5', 'tx_7'])
  assert.equal((await idsOf({})).length, 1)
  assert.equal((await idsOf({ import_id: 'imp_2' })).length, 1)
})

test('a user owns the purchases that are neither pending, refunded, cancelled nor expired', async (storage) => {
  const ann = { user_id: 'ann' }
  await importRows(storage, SIDE, 'imp_s', [newRow(1, ann)])
  await importRows(storage, FOREIGN, 'imp_f', [newRow(1, ann)])
  await importRows(storage, MAIN, 'imp_1', [
    newRow(2, { ...ann, quantity: 1_000_000, purchased_at: 3_000 }),
    newRow(3, { ...ann, quantity: 2, purchased_at: 1_000 }),
    newRow(4, { ...ann, status: 'refunded', purchased_at: 500 }),
    newRow(5, { ...ann, status: 'pending', sku: 'gem' }),
    newRow(6, { user_id: 'bob', sku: 'gem' }),
    newRow(7),
    newRow(9, { ...ann, sku: 'gem', expires_at: 5_000 }),
    newRow(10, { ...ann, purchased_at: 2_000, expires_at: 5_001 }),
  ])
  const last = newRow(8, { ...ann, sku: 'gem', purchased_at: -5 })
  await storage.recordPurchase(MAIN, 'rec_1', last)
  const shown = { type: 'consumable', display_name: 'Item' }
  const gem = { sku: 'gem', quantity: 1, ...shown, ...timesOf(-5, -5) }
  const gold = { sku: 'gold', quantity: 1_000_003, ...shown, ...timesOf(1_000, 3_000) }
  const owned = (limit: number, after?: string) =>
    storage.listOwned(MAIN, 'ann', after === undefined ? { limit } : { limit, after }, 5_000)

  assert.deepEqual(await owned(2), { records: [gem, gold] })
  assert.deepEqual(await owned(1), { records: [gem], next: 'gem' })
  assert.deepEqual(await owned(1, 'gem'), { records: [gold] })
  assert.deepEqual(await storage.listOwned(MAIN, 'nobody', { limit: 1 }, 5_000), { records: [] })
  await importRows(storage, MAIN, 'imp_2', [{ ...last, status: 'refunded' }])
  assert.deepEqual(await owned(2), { records: [gold] })
})

test('a summary groups by each key and by currency, sorted', async (storage) => {
  const days = ['1969-12-31 ', '2024-03-03 USD', '2024-03-04 USD', '2024-03-10 EUR', '2024-03-31 ']
  const monday = ['1969-12-29 ', '2024-02-26 USD', '2024-03-04 EUR', '2024-03-04 USD']
  const months = ['1969-12 ', '2024-03 ', '2024-03 EUR', '2024-03 USD']
  const groups: readonly (readonly [by: readonly SummaryKey[], groups: readonly string[]])[] = [
    [['day'], days],
    [['week'], [...monday, '2024-03-25 ']],
    [['sku'], ['gem EUR', 'gold ', 'gold USD']],
    [
      ['currency', 'sku'],
      ['gem EUR', 'gold ', 'gold USD'],
    ],
    [['store', 'month', 'currency'], months.map((month) => `main ${month}`)],
    [[], ['', 'EUR', 'USD']],
  ]
  await importRows(storage, MAIN, 'imp_1', [
    newRow(2, at('1969-12-31T23:59:59.999Z')),
    newRow(3, { ...at('2024-03-03T23:59:59.999Z'), price: 1, currency: 'USD' }),
    newRow(4, { ...at('2024-03-04T00:00:00.000Z'), price: 2, currency: 'USD' }),
    newRow(5, { ...at('2024-03-10T12:00:00Z'), price: 3, currency: 'EUR', sku: 'gem' }),
    newRow(6, at('2024-03-31T23:59:59.999Z')),
  ])

  for (const [by, expected] of groups) {
    for (const stores of [MAIN, ACCOUNT]) {
      const found = await storage.summarizePurchases(stores, {}, by)
      const keys = SUMMARY_KEYS.filter((key) => key === 'currency' || by.includes(key))
      const fields = keys.map((key) => (key === 'store' ? 'store_id' : key))
      const shown = found.map((row) => fields.map((name) => row[name as 'sku']).join(' '))
      assert.deepEqual(shown, expected, by.join())
      assert.deepEqual(Object.keys(found[0] ?? {}).slice(0, fields.length), fields)
    }
  }
})

test('the sums of a summary are exact beyond 2^63', async (storage) => {
  const usd = { currency: 'USD', price: LARGEST }
  const rows = Array.from({ length: 1_100 }, (_, i) => newRow(i + 2, usd))
  const refund = newRow(9_000, { ...usd, price: 1_000_000_007, status: 'refunded' })
  await importRows(storage, MAIN, 'imp_1', [...rows, refund])

  const [found] = await storage.summarizePurchases(MAIN, {}, [])

  assert.equal(found?.revenue, String(BigInt(LARGEST) * 1_100n))
  assert.equal(found?.refunded_total, '1000000007')
})

const FROM = Date.parse('2024-03-04')

test('many groups of a summary are read in several turns of the event loop', async (storage) => {
  const letter = (i: number) => String.fromCharCode(65 + (i % 26))
  const rows = Array.from({ length: 4_500 }, (_, i) => {
    const currency = letter(i) + letter(i / 26) + letter(i / 676)
    return newRow(i + 2, { user_id: undefined, price: 1, currency })
  })
  await importRows(storage, MAIN, 'imp_1', rows)
  let turns = 0
  let isOver = false
  const answer = storage.summarizePurchases(MAIN, {}, []).finally(() => {
    isOver = true
  })
  for (; !isOver; turns++) await setImmediate()

  assert.equal((await answer).length, 4_500)
  assert.ok(turns >= 4, String(turns))
})

test('a storage reads only the currencies that an overview lists', async (storage) => {
  const code = (i: number) => `X${String.fromCharCode(65 + (i % 26), 65 + i / 26)}`
  const rows = Array.from({ length: 120 }, (_, i) =>
    newRow(i + 2, { price: 2, currency: code(i % 60), status: i < 61 ? 'purchased' : 'refunded' }),
  )
  await importRows(storage, MAIN, 'imp_1', rows)

  const totals = await storage.readTotals(MAIN, {}, { by: 'month' })
  const { currencies, currency_count, purchased, pending, refunded, cancelled } = totals
  assert.deepEqual([currencies.length, currency_count], [50, 60])
  assert.deepEqual([purchased, pending, refunded, cancelled], [61, 0, 59, 0])
  assert.deepEqual(
    currencies.slice(0, 3).map(({ currency, revenue }) => [currency, revenue]),
    [
      ['XAA', '4'],
      ['XAB', '2'],
      ['XAC', '2'],
    ],
  )
  const none = await storage.readTotals(SIDE, {}, { by: 'month' })
  assert.deepEqual([none.currency_count, none.purchased, none.currencies], [0, 0, []])
})

test('buyers are new since their first purchase in a currency', async (storage) => {
  const [old, recent] = [at('2024-03-03T23:59:59.999Z'), at('2024-03-04')]
  const usd = { currency: 'USD', price: 1 }
  await importRows(storage, MAIN, 'imp_1', [
    newRow(2, { ...old, ...usd, user_id: 'ann' }),
    newRow(3, { ...recent, ...usd, user_id: 'ann' }),
    newRow(4, { ...recent, currency: 'EUR', price: 1, user_id: 'ann' }),
    newRow(5, { ...recent, user_id: 'bob' }),
    newRow(6, { ...recent, user_id: 'bob' }),
    newRow(7, { ...old, ...usd, user_id: 'cyd', status: 'refunded' }),
    newRow(8, { ...recent, ...usd, user_id: 'cyd' }),
    newRow(9, { ...old, ...usd, user_id: 'dan' }),
    newRow(10, { ...recent, ...usd }),
  ])

  assert.deepEqual(await storage.countBuyers(MAIN, FROM), [
    { currency: '', new: 1, returning: 0 },
    { currency: 'EUR', new: 1, returning: 0 },
    { currency: 'USD', new: 1, returning: 1 },
  ])
  assert.deepEqual(await storage.countBuyers(SIDE, FROM), [])
})

const LARGE = { text: 'x'.repeat(150_000) }

test('a page of purchases ends when their metadata have 512 KiB of text', async (storage) => {
  const rows = Array.from({ length: 9 }, (_, i) =>
    newRow(i + 1, { metadata: LARGE, user_id: 'ann' }),
  )
  await importRows(storage, MAIN, 'imp_1', rows)
  const ids = rows.map(({ transaction_id }) => transaction_id)

  for (const filter of [{}, { user_id: 'ann' }, { sku: 'gold' }]) {
    for (const newestFirst of [false, true]) {
      const read = (page: Page) => storage.listPurchases(MAIN, filter, { ...page, newestFirst })
      const pages = await collect(pagesOf(read))
      const found = pages.map(({ records }) => records.map((each) => each.transaction_id))
      assert.deepEqual(found.map(({ length }) => length).filter(Boolean), [4, 4, 1])
      assert.deepEqual(found.flat(), newestFirst ? ids.toReversed() : ids)
    }
  }
})

test('a search by transaction id pages through the stores, by 512 KiB of metadata', async (storage) => {
  const stores = ['main', 'side', 'c', 'd', 'e']
  for (const store_id of stores.slice(2)) {
    await storage.insertStore(newStore(store_id))
    await storage.insertItem(newItem('gold', { id: `itm_${store_id}`, store_id }))
  }
  for (const store_id of stores) {
    const store = { account_id: 'acc_1', store_id }
    await importRows(storage, store, `imp_${store_id}`, [newRow(1, { metadata: LARGE })])
  }
  const search = async (limit: number) => {
    const read = (page: Page) => storage.findTransactions(ACCOUNT, 'tx_1', {}, page)
    const pages = await collect(pagesOf(read, limit))
    return pages.map(({ records }) => records.map(({ store_id }) => store_id))
  }

  assert.deepEqual(await search(100), [stores.slice(0, 4), stores.slice(4)])
  assert.deepEqual(await search(3), [stores.slice(0, 3), stores.slice(3)])
})

test('a page of imports ends when their totals have 512 KiB of text', async (storage) => {
  const total = { status: 'purchased', currency: 'USD', rows: 1, total: '1' } as const
  const totals = Array.from({ length: 2_500 }, () => total) // 150 KB
  for (let i = 1; i <= 9; i++) {
    await importRows(storage, MAIN, `imp_${i}`, [newRow(i)], { ...DETAILS, totals })
  }

  const pages = await collect(pagesOf((page) => storage.listImports(MAIN, page)))

  const found = pages.map(({ records }) => records.map(({ import_id }) => import_id))
  assert.deepEqual(
    found.flat(),
    [1, 2, 3, 4, 5, 6, 7, 8, 9].map((i) => `imp_${i}`),
  )
  assert.deepEqual(
    found.map(({ length }) => length),
    [4, 4, 1],
  )
})
