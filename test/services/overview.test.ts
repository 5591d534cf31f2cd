import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createMemoryStorage, createTill } from '../../lib/index.ts'
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
