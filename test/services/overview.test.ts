import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createMemoryStorage, createTill } from '../../lib/index.ts'
import { createSignal } from '../support/server.ts'
import { createShop } from '../support/till.ts'

const MAIN = { store_id: 'main' }

test('an overview has the periods of the five most used currencies', async (t) => {
  const till = createTill({ storage: createMemoryStorage() })
  t.after(() => till.close())
  const { account } = await createShop(till)
  for (let i = 0; i < 60; i++) {
    const currency = `X${String.fromCharCode(65 + (i % 26), 65 + Math.floor(i / 26))}`
    const purchase = { ...MAIN, sku: 'gold', purchased_at: '2026-01-31T12:00:00Z', price: '1' }
    await till.purchases.record(account, { ...purchase, transaction_id: `T-${i}`, currency })
  }
  const again = { ...MAIN, sku: 'gold', purchased_at: '2026-02-01T12:00:00Z', price: '2' }
  await till.purchases.record(account, { ...again, transaction_id: 'T-60', currency: 'XHC' })

  const figures = await till.purchases.overview(account, MAIN)
  const [first] = figures.currencies ?? []
  assert.deepEqual([first?.currency, first?.purchased, first?.revenue], ['XHC', 2, '3'])
  assert.equal(figures.currency_count, 60)
  assert.equal(figures.currencies.length, 50)
  assert.equal(figures.purchased, 61)
  const periods = figures.periods.map(({ month, currency }) => `${month} ${currency}`)
  assert.deepEqual(periods, [
    ...['2026-01 XAA', '2026-01 XAB', '2026-01 XAC', '2026-01 XBA', '2026-01 XHC'],
    '2026-02 XHC',
  ])
})

test('buyers are counted again only after a change, while the former result is served', async (t) => {
  const memory = createMemoryStorage()
  let version = 1
  let counts = 0
  const { given, give } = createSignal()
  const storage = {
    ...memory,
    findPurchaseVersion: async () => String(version),
    countBuyers: async () => {
      counts++
      if (counts > 1) await given
      return [{ currency: 'USD', new: counts, returning: 0 }]
    },
  }
  const till = createTill({ storage })
  t.after(() => till.close())
  const { account } = await createShop(till)
  const read = async () => {
    const { buyers, is_current } = await till.purchases.buyers(account, MAIN)
    return [buyers[0]?.new, is_current]
  }

  assert.deepEqual(await Promise.all([read(), read()]), [
    [1, true],
    [1, true],
  ])
  assert.deepEqual(await read(), [1, true])
  version = 2
  assert.deepEqual(await read(), [1, false])
  assert.deepEqual(await read(), [1, false])
  give()
  await new Promise(setImmediate)
  assert.deepEqual(await read(), [2, true])
  assert.equal(counts, 2)
})

test('an account has at most one count of buyers in the background', async (t) => {
  const memory = createMemoryStorage()
  let version = 1
  const counted: number[] = []
  const { given, give } = createSignal()
  const storage = {
    ...memory,
    findPurchaseVersion: async () => String(version),
    countBuyers: async (_: object, from: number) => {
      counted.push(from)
      if (version > 1) await given
      return []
    },
  }
  const till = createTill({ storage })
  t.after(() => till.close())
  const { account } = await createShop(till)
  const queries = [MAIN, { ...MAIN, from: '2026-01-01' }, { ...MAIN, from: '2026-02-01' }]
  const readAll = () => Promise.all(queries.map((query) => till.purchases.buyers(account, query)))

  await readAll()
  version = 2
  const former = await readAll()
  assert.deepEqual(
    former.map(({ is_current }) => is_current),
    [false, false, false],
  )
  assert.equal(counted.length, 3 + 1)
  give()
})
