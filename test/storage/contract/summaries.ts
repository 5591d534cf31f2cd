import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { NewPurchase, PurchaseStatus } from '../../../lib/domain/purchase.ts'
import type { PurchaseFilter } from '../../../lib/domain/query.ts'
import type { PurchaseSummary, SummaryKey } from '../../../lib/domain/summary.ts'
import type { StoreKey, StoresOfAccount } from '../../../lib/storage/port.ts'
import { importRows, openImport } from '../fixtures/imports.ts'
import {
  FOREIGN,
  insertShops,
  MAIN,
  newItem,
  newProject,
  newRow,
  newStore,
  SIDE,
  stage,
} from '../fixtures/records.ts'
import type { OpenStorage } from './open.ts'

const ACCOUNT = { account_id: 'acc_1' }
const OTHER: StoreKey = { account_id: 'acc_1', store_id: 'other' }
const LARGEST = Number.MAX_SAFE_INTEGER

export function describeSummaries(open: OpenStorage): void {
  const groups: readonly (readonly [by: readonly SummaryKey[], groups: readonly string[]])[] = [
    [['day'], ['1969-12-31 ', '2024-03-03 USD', '2024-03-04 USD', '2024-03-10 EUR', '2024-03-31 ']],
    [
      ['week'],
      ['1969-12-29 ', '2024-02-26 USD', '2024-03-04 EUR', '2024-03-04 USD', '2024-03-25 '],
    ],
    [['month'], ['1969-12 ', '2024-03 ', '2024-03 EUR', '2024-03 USD']],
    [['sku'], ['gem EUR', 'gold ', 'gold USD']],
    [['currency'], ['', 'EUR', 'USD']],
    [
      ['currency', 'sku'],
      [' gold', 'EUR gem', 'USD gold'],
    ],
    [
      ['store', 'month', 'currency'],
      ['main 1969-12 ', 'main 2024-03 ', 'main 2024-03 EUR', 'main 2024-03 USD'],
    ],
    [[], ['', 'EUR', 'USD']],
  ]
  for (const [by, expected] of groups) {
    test(`a summary groups by ${by.join(', ') || 'nothing'} and currency, sorted`, async (t) => {
      const storage = await open(t)
      await insertShops(storage)
      await importRows(storage, MAIN, 'imp_1', [
        newRow(2, at('1969-12-31T23:59:59.999Z')),
        newRow(3, { ...at('2024-03-03T23:59:59.999Z'), price: 1, currency: 'USD' }),
        newRow(4, { ...at('2024-03-04T00:00:00.000Z'), price: 2, currency: 'USD' }),
        newRow(5, { ...at('2024-03-10T12:00:00Z'), price: 3, currency: 'EUR', sku: 'gem' }),
        newRow(6, at('2024-03-31T23:59:59.999Z')),
      ])

      for (const stores of [MAIN, ACCOUNT]) {
        const found = await storage.summarizePurchases(stores, {}, by)
        const fields = by.map((key) => (key === 'store' ? 'store_id' : key))
        if (!by.includes('currency')) fields.push('currency')
        assert.deepEqual(
          found.map((row) => fields.map((name) => row[name as 'sku']).join(' ')),
          expected,
        )
        assert.deepEqual(Object.keys(found[0] ?? {}).slice(0, fields.length), fields)
      }
    })
  }

  test('a summary returns a limited number of groups, or the top ones', async (t) => {
    const storage = await open(t)
    await insertShops(storage)
    const of = (sku: string, status: PurchaseStatus = 'purchased') => ({ sku, status })
    await importRows(storage, MAIN, 'imp_1', [
      newRow(2, of('gem', 'refunded')),
      newRow(3, of('gem', 'refunded')),
      newRow(4, of('gold')),
      newRow(5, of('gem')),
      newRow(6, of('gold')),
    ])
    const skusOf = async (isTop: boolean, limit: number, stores: StoresOfAccount = MAIN) => {
      const found = await storage.summarizePurchases(stores, {}, ['sku'], { isTop, limit })
      return found.map(({ sku, purchased }) => [sku, purchased])
    }

    const [gem, gold] = [
      ['gem', 1],
      ['gold', 2],
    ]
    assert.deepEqual(await skusOf(false, 1), [gem])
    assert.deepEqual(await skusOf(false, 9), [gem, gold])
    assert.deepEqual(await skusOf(true, 1), [gold])
    assert.deepEqual(await skusOf(true, 2, ACCOUNT), [gold, gem])
  })

  test('a summary counts each status, revenue, refunds and distinct buyers', async (t) => {
    const storage = await open(t)
    await insertShops(storage)
    const usd = { price: 5, currency: 'USD' }
    await importRows(storage, MAIN, 'imp_1', [
      newRow(2, { ...usd, user_id: 'ann' }),
      newRow(3, { ...usd, user_id: 'ann' }),
      newRow(4, { ...usd, user_id: 'bob' }),
      newRow(5, usd),
      newRow(6, { ...usd, user_id: 'cat', status: 'refunded' }),
      newRow(7, { ...usd, status: 'pending' }),
      newRow(8, { ...usd, status: 'cancelled' }),
    ])
    await importRows(storage, MAIN, 'imp_2', [
      newRow(2, { ...usd, user_id: 'bob', transaction_id: 'tx_4', status: 'refunded' }),
    ])

    assert.deepEqual(await storage.summarizePurchases(MAIN, {}, []), [
      {
        currency: 'USD',
        purchased: 3,
        pending: 1,
        refunded: 2,
        cancelled: 1,
        revenue: '15',
        refunded_total: '10',
        buyers: 1,
      },
    ])
  })

  test('the sums of a summary are exact beyond 2^63', async (t) => {
    const storage = await open(t)
    await insertShops(storage)
    const rows = Array.from({ length: 2_100 }, (_, i) =>
      newRow(i + 2, { price: LARGEST, ...usd(i) }),
    )
    const refunds = [newRow(9_000, { price: 1_000_000_007, ...usd(9_000), status: 'refunded' })]
    await importRows(storage, MAIN, 'imp_1', [...rows, ...refunds])

    const [found] = await storage.summarizePurchases(MAIN, {}, [])

    const revenue = BigInt(LARGEST) * 2_100n
    assert.ok(revenue > 2n ** 63n)
    assert.equal(found?.revenue, String(revenue))
    assert.equal(found?.refunded_total, '1000000007')
  })

  test('a summary of all stores adds one SKU of several stores, and leaves out other accounts', async (t) => {
    const storage = await open(t)
    await insertShops(storage)
    await storage.insertProject(newProject('prj_other'))
    await storage.insertStore(newStore('other', { project_id: 'prj_other' }))
    await storage.insertItem(newItem('gold', { id: 'itm_other', ...OTHER }))
    const row = (user_id: string) => [newRow(2, { user_id, price: 5, currency: 'USD' })]
    await importRows(storage, MAIN, 'imp_1', row('ann'))
    await importRows(storage, SIDE, 'imp_2', row('ann'))
    await importRows(storage, OTHER, 'imp_3', row('ann'))
    await importRows(storage, FOREIGN, 'imp_4', row('eve'))

    const bySku = await storage.summarizePurchases(ACCOUNT, {}, ['sku'])
    const byStore = await storage.summarizePurchases(ACCOUNT, {}, ['store'])

    const shown = ({ sku, purchased, revenue, buyers }: PurchaseSummary) =>
      [sku, purchased, revenue, buyers].join(' ')
    // The same user id in another project is a different user.
    assert.deepEqual(bySku.map(shown), ['gold 3 15 2'])
    assert.deepEqual(
      byStore.map(({ store_id, buyers }) => [store_id, buyers]),
      [
        ['main', 1],
        ['other', 1],
        ['side', 1],
      ],
    )
  })

  const filters: readonly (readonly [filter: PurchaseFilter, purchased: number])[] = [
    [{ user_id: 'ann' }, 2],
    [{ sku: 'gem' }, 1],
    [{ status: 'purchased' }, 3],
    [{ status: 'refunded' }, 0],
    [{ from: 2_000, to: 3_000 }, 1],
    [{ from: 1, to: 9_000, sku: 'gold', user_id: 'ann', status: 'purchased' }, 1],
    [{ sku: 'nothing' }, 0],
  ]
  for (const [filter, purchased] of filters) {
    test(`a summary counts only purchases of the filter ${JSON.stringify(filter)}`, async (t) => {
      const storage = await open(t)
      await insertShops(storage)
      await importRows(storage, MAIN, 'imp_1', [
        newRow(2, { user_id: 'ann', purchased_at: 1_000 }),
        newRow(3, { user_id: 'ann', purchased_at: 2_000, sku: 'gem' }),
        newRow(4, { user_id: 'bob', purchased_at: 3_000 }),
        newRow(5, { purchased_at: 4_000, status: 'refunded' }),
      ])

      const [found] = await storage.summarizePurchases(ACCOUNT, filter, [])

      assert.equal(found?.purchased ?? 0, purchased)
    })
  }

  test('a summary counts no rows of an import under way or of an aborted one', async (t) => {
    const storage = await open(t)
    await insertShops(storage)
    await importRows(storage, MAIN, 'imp_1', [newRow(2)])
    const aborted = await openImport(storage, MAIN, 'imp_2')
    await stage(aborted, [newRow(3)])
    await aborted.abort()
    const underWay = await openImport(storage, MAIN, 'imp_3')
    await stage(underWay, [newRow(4), newRow(2, { status: 'refunded' })])

    const [found] = await storage.summarizePurchases(MAIN, {}, [])

    assert.deepEqual([found?.purchased, found?.refunded], [1, 0])
    await underWay.abort()
  })

  test('a store without purchases and an unknown store have an empty summary', async (t) => {
    const storage = await open(t)
    await insertShops(storage)
    const unknown = { account_id: 'acc_1', store_id: 'unknown' }

    for (const stores of [MAIN, ACCOUNT, unknown, { account_id: 'acc_9' }]) {
      assert.deepEqual(await storage.summarizePurchases(stores, {}, ['day', 'sku']), [])
    }
  })
}

function at(time: string): Partial<NewPurchase> {
  return { purchased_at: Date.parse(time) }
}

function usd(i: number): Partial<NewPurchase> {
  return { currency: 'USD', transaction_id: `usd_${i}` }
}
