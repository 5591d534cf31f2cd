import assert from 'node:assert/strict'
import type { NewPurchase } from '../../../lib/domain/purchase.ts'
import type { PurchaseFilter } from '../../../lib/domain/query.ts'
import type { SummaryKey } from '../../../lib/domain/summary.ts'
import { PERIODS } from '../../../lib/domain/summary.ts'
import { pagesOf } from '../../../lib/storage/pages.ts'
import type { Page, Storage, StoreKey, StoresOfAccount } from '../../../lib/storage/port.ts'
import { collect } from '../../support/collect.ts'
import { importRows, openImport, transactions } from '../fixtures/imports.ts'
import { addRows, FOREIGN, insertShops, MAIN, newRow, SIDE } from '../fixtures/records.ts'
import { type OpenStorage, testsOn } from './open.ts'

const ACCOUNT = { account_id: 'acc_1' }
const LARGEST = Number.MAX_SAFE_INTEGER

const at = (time: string): Partial<NewPurchase> => ({ purchased_at: Date.parse(time) })

export function describePurchases(open: OpenStorage): void {
  const test = testsOn(open, insertShops)

  test('each filter works on one page and on many', async (storage) => {
    const filters: readonly (readonly [filter: PurchaseFilter, lines: readonly number[]])[] = [
      [{}, [2, 3, 4, 5]],
      [{ user_id: 'ann' }, [2, 4]],
      [{ from: 2_000, to: 4_000 }, [3]],
      [{ user_id: 'ann', status: 'refunded', sku: 'gold', from: 1, to: 9_000 }, [4]],
      [{ import_id: 'imp_1' }, [2, 3]],
      [{ import_id: 'imp_2' }, [4, 5]],
      [{ import_id: 'imp_3' }, []],
      [{ import_id: 'imp_none' }, []],
    ]
    await importRows(storage, MAIN, 'imp_1', [
      newRow(2, { user_id: 'ann', purchased_at: 1_000 }),
      newRow(3, { user_id: 'bob', purchased_at: 2_000, sku: 'gem' }),
    ])
    await importRows(storage, MAIN, 'imp_2', [
      newRow(4, { user_id: 'ann', purchased_at: 4_000, status: 'refunded' }),
      newRow(5, { purchased_at: 5_000 }),
    ])
    await importRows(storage, SIDE, 'imp_3', [newRow(9, { user_id: 'ann', sku: 'gem' })])

    for (const [filter, lines] of filters) {
      for (const limit of [1, 10]) {
        const expected = lines.map((line) => `tx_${line}`)
        const found = await transactions(storage, MAIN, filter, limit)
        assert.deepEqual(found, expected, JSON.stringify(filter))
        const newest = await transactions(storage, MAIN, filter, limit, true)
        assert.deepEqual(newest, expected.reverse(), JSON.stringify(filter))
      }
    }
  })

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
      return pages.map(({ purchases }) => purchases.map(({ transaction_id }) => transaction_id))
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

  test('the purchases of a user are exact after large and small imports', async (storage) => {
    const rows = Array.from({ length: 1_250 }, (_, i) =>
      newRow(i + 2, { user_id: i % 250 === 0 ? 'ann' : `user_${i % 7}` }),
    )
    await importRows(storage, SIDE, 'imp_s', rows)
    await importRows(storage, MAIN, 'imp_1', [newRow(9_001, { user_id: 'ann' })])
    await importRows(storage, MAIN, 'imp_2', rows)
    await storage.recordPurchase(MAIN, 'rec_1', newRow(9_002, { user_id: 'ann' }))
    const current = await openImport(storage, MAIN, 'imp_3')
    await addRows(current, [newRow(9_003, { user_id: 'ann' })])
    const large = [2, 252, 502, 752, 1002].map((line) => `tx_${line}`)
    const all = ['tx_9001', ...large, 'tx_9002']
    const ofAnn = (limit: number) => transactions(storage, MAIN, { user_id: 'ann' }, limit)

    for (const limit of [1, 3, 100]) assert.deepEqual(await ofAnn(limit), all)
    await current.abort()

    assert.deepEqual(await ofAnn(100), all)
    assert.deepEqual(await storage.check(), [])
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
    const gem = { sku: 'gem', quantity: 1, first_purchased_at: -5, last_purchased_at: -5 }
    const times = { first_purchased_at: 1_000, last_purchased_at: 3_000 }
    const gold = { sku: 'gold', quantity: 1_000_003, ...times }
    const owned = (limit: number, after?: string) =>
      storage.listOwned(MAIN, 'ann', after === undefined ? { limit } : { limit, after }, 5_000)

    assert.deepEqual(await owned(2), { records: [gem, gold] })
    assert.deepEqual(await owned(1), { records: [gem], next: 'gem' })
    assert.deepEqual(await owned(1, 'gem'), { records: [gold] })
    assert.deepEqual(await storage.listOwned(MAIN, 'nobody', { limit: 1 }, 5_000), { records: [] })
    await importRows(storage, MAIN, 'imp_2', [{ ...last, status: 'refunded' }])
    assert.deepEqual(await owned(2), { records: [gold] })
  })
}

export function describeSummaries(open: OpenStorage): void {
  const test = testsOn(open, insertShops)

  test('a summary groups by each key and by currency, sorted', async (storage) => {
    const days = [
      '1969-12-31 ',
      '2024-03-03 USD',
      '2024-03-04 USD',
      '2024-03-10 EUR',
      '2024-03-31 ',
    ]
    const monday = ['1969-12-29 ', '2024-02-26 USD', '2024-03-04 EUR', '2024-03-04 USD']
    const months = ['1969-12 ', '2024-03 ', '2024-03 EUR', '2024-03 USD']
    const groups: readonly (readonly [by: readonly SummaryKey[], groups: readonly string[]])[] = [
      [['day'], days],
      [['week'], [...monday, '2024-03-25 ']],
      [['sku'], ['gem EUR', 'gold ', 'gold USD']],
      [
        ['currency', 'sku'],
        [' gold', 'EUR gem', 'USD gold'],
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
        const fields = by.map((key) => (key === 'store' ? 'store_id' : key))
        if (!by.includes('currency')) fields.push('currency')
        const shown = found.map((row) => fields.map((name) => row[name as 'sku']).join(' '))
        assert.deepEqual(shown, expected, by.join())
        assert.deepEqual(Object.keys(found[0] ?? {}).slice(0, fields.length), fields)
      }
    }
  })

  test('a summary counts each status, revenue, refunds and buyers, of its filter and its top groups', async (storage) => {
    const usd = { price: 5, currency: 'USD' }
    await importRows(storage, MAIN, 'imp_1', [
      newRow(2, { ...usd, user_id: 'ann', purchased_at: 1_000 }),
      newRow(3, { ...usd, user_id: 'ann', purchased_at: 2_000, sku: 'gem' }),
      newRow(4, { ...usd, user_id: 'bob', purchased_at: 3_000 }),
      newRow(5, { ...usd, purchased_at: 4_000 }),
      newRow(6, { ...usd, user_id: 'cat', status: 'refunded', sku: 'gem' }),
      newRow(7, { ...usd, status: 'pending' }),
      newRow(8, { ...usd, status: 'cancelled' }),
    ])
    const refund = newRow(4, { ...usd, user_id: 'bob', purchased_at: 3_000, status: 'refunded' })
    await importRows(storage, MAIN, 'imp_2', [refund])
    const aborted = await openImport(storage, MAIN, 'imp_3')
    await addRows(aborted, [newRow(9)])
    await aborted.abort()
    const underWay = await openImport(storage, MAIN, 'imp_4')
    await addRows(underWay, [newRow(10), newRow(5, { ...usd, status: 'refunded' })])

    const counts = { purchased: 3, pending: 1, refunded: 2, cancelled: 1 }
    assert.deepEqual(await storage.summarizePurchases(MAIN, {}, []), [
      { currency: 'USD', ...counts, revenue: '15', refunded_total: '10', buyers: 1 },
    ])
    const unknown = { account_id: 'acc_1', store_id: 'unknown' }
    for (const stores of [SIDE, unknown, { account_id: 'acc_9' }]) {
      assert.deepEqual(await storage.summarizePurchases(stores, {}, ['day', 'sku']), [])
    }
    const filters: readonly (readonly [filter: PurchaseFilter, purchased: number])[] = [
      [{ user_id: 'ann' }, 2],
      [{ sku: 'gold' }, 2],
      [{ status: 'purchased' }, 3],
      [{ from: 2_000, to: 3_000 }, 1],
      [{ from: 1, to: 9_000, sku: 'gold', user_id: 'ann', status: 'purchased' }, 1],
      [{ sku: 'nothing' }, 0],
    ]
    for (const [filter, purchased] of filters) {
      const [found] = await storage.summarizePurchases(ACCOUNT, filter, [])
      assert.equal(found?.purchased ?? 0, purchased, JSON.stringify(filter))
    }
    const skusOf = async (isTop: boolean, limit: number, stores: StoresOfAccount = MAIN) => {
      const found = await storage.summarizePurchases(stores, {}, ['sku'], { isTop, limit })
      return found.map(({ sku, purchased }) => `${sku} ${purchased}`)
    }
    assert.deepEqual(await skusOf(false, 1), ['gem 1'])
    assert.deepEqual(await skusOf(false, 9), ['gem 1', 'gold 2'])
    assert.deepEqual(await skusOf(true, 1), ['gold 2'])
    assert.deepEqual(await skusOf(true, 2, ACCOUNT), ['gold 2', 'gem 1'])
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
}

const FROM = Date.parse('2024-03-04')

/** Fails unless the totals of a store are those of a summary of its purchases. */
async function assertTotals(
  storage: Storage,
  store: StoreKey,
  step: string,
  periods: readonly (typeof PERIODS)[number][] = PERIODS,
): Promise<void> {
  const summarize = async (filter: PurchaseFilter, by: readonly SummaryKey[], limit?: number) => {
    const most = limit === undefined ? undefined : { isTop: true, limit }
    const found = await storage.summarizePurchases(store, filter, by, most)
    return found.map(({ buyers: _, ...total }) => total)
  }
  for (const by of periods) {
    for (const times of [{ from: FROM }, { to: FROM }, {}]) {
      const items = await summarize(times, ['sku'], 100)
      const expected = {
        currencies: await summarize(times, [], 9),
        periods: await summarize(times, [by]),
        items: items.map((total) => ({ ...total, display_name: 'Item' })),
      }
      const totals = await storage.readTotals(store, times, by)
      assert.deepEqual(totals, expected, `${store.store_id}: ${step}`)
    }
  }
}

export function describeTotals(open: OpenStorage): void {
  const test = testsOn(open, insertShops)

  test('the totals of a store follow each change of its purchases', async (storage) => {
    const usd = { currency: 'USD', price: LARGEST, user_id: 'ann' }
    const rows = [
      newRow(2, at('1969-12-31T23:59:59.999Z')),
      newRow(3, { ...usd, ...at('2024-03-03T23:59:59.999Z') }),
      newRow(4, { ...usd, ...at('2024-03-04T00:00:00.000Z') }),
      newRow(5, { ...usd, ...at('2024-03-05T00:00:00.000Z'), status: 'pending' }),
      newRow(6, { ...usd, ...at('2024-03-31T23:59:59.999Z'), sku: 'gem' }),
      newRow(7, { ...at('2024-04-01T00:00:00.000Z'), currency: 'EUR', price: 0 }),
    ]
    const ninth = { ...usd, ...at('2024-03-09') }
    const undo = (store: StoreKey, import_id: string) =>
      storage.undoImport(store, { import_id, undone_at: '2026-01-01T00:00:00.000Z', force: true })
    const erase = async (store: StoreKey, transaction_id: string, deletes: boolean) => {
      const lease = await openImport(storage, store, `imp_lease_${store.store_id}`)
      await lease.erase({ user_id: 'ann', transaction_ids: [transaction_id], deletes })
      await lease.abort()
    }
    const steps: Record<string, (store: StoreKey, id: string) => Promise<unknown>> = {
      'an import': (store, id) => importRows(storage, store, `imp_1${id}`, rows),
      'a recorded purchase': (store, id) =>
        storage.recordPurchase(store, `rec_1${id}`, newRow(8, ninth)),
      'a recorded status': (store, id) =>
        storage.recordPurchase(store, `rec_2${id}`, newRow(5, { ...rows[3], status: 'purchased' })),
      'a refund of a recorded purchase': (store, id) =>
        storage.recordPurchase(store, `rec_3${id}`, newRow(8, { ...ninth, status: 'refunded' })),
      'an import of statuses and purchases': (store, id) =>
        importRows(storage, store, `imp_2${id}`, [
          newRow(4, { ...rows[2], status: 'refunded' }),
          newRow(9, ninth),
        ]),
      'an aborted import': async (store, id) => {
        const current = await openImport(storage, store, `imp_3${id}`)
        await addRows(current, [newRow(10), newRow(6, { ...rows[4], status: 'cancelled' })])
        await assertTotals(storage, store, 'an import under way', ['day'])
        await current.abort()
      },
      'an undone import': (store, id) => undo(store, `imp_2${id}`),
      'an undone refund': (store, id) => undo(store, `rec_3${id}`),
      'an undone recorded purchase': (store, id) => undo(store, `rec_1${id}`),
      'an erased user': (store) => erase(store, 'tx_3', false),
      'a deleted purchase': (store) => erase(store, 'tx_6', true),
      'a further import': (store, id) =>
        importRows(storage, store, `imp_4${id}`, [newRow(8, usd), newRow(9, usd)]),
    }

    for (const [index, [step, run]] of Object.entries(steps).entries()) {
      // Each step has another period, because all periods are sums of the same counts.
      const periods = PERIODS.filter((_, number) => number === index % PERIODS.length)
      for (const store of [MAIN, SIDE]) {
        await run(store, store.store_id)
        await assertTotals(storage, store, step, periods)
      }
    }
    await assertTotals(storage, MAIN, 'at the end')
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
}
