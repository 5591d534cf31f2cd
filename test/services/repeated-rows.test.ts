import assert from 'node:assert/strict'
import type { ImportRequest } from '../../lib/index.ts'
import { collect } from '../support/collect.ts'
import { testOnEach as test } from '../support/databases.ts'
import { shortOf } from '../support/purchase-file.ts'
import { createShop, failureOf, fileOf } from '../support/till.ts'

const HEADER = 'transaction_id,sku,purchased_at,price,status'
const [FIRST, SECOND, THIRD] = ['01', '02', '03'].map((day) => `2026-05-${day}T10:00:00Z`)

async function setUp() {
  const { till, account } = await createShop()
  return {
    till,
    account,
    import: (lines: readonly string[], options: Partial<ImportRequest> = {}) => {
      const file = fileOf([HEADER, ...lines].join('\n'))
      return till.purchases.import(account, { store_id: 'main', file, ...options })
    },
    statuses: async () => {
      const all = await collect(till.purchases.all(account, { store_id: 'main' }))
      return all.map(({ transaction_id, status }) => `${transaction_id} ${status}`).sort()
    },
  }
}

const row = (id: string, at = FIRST, status = 'purchased', price = 499) =>
  `${id},gold,${at},${price},${status}`

test('a row that equals an earlier row of the file is counted apart and is not in the totals', async () => {
  const shop = await setUp()
  const others = Array.from({ length: 30 }, (_, i) => row(`T-${i + 10}`))
  const lines = [row('T-1'), row('T-2'), row('T-1'), ...others, ...others, row('T-1')]
  // The second import finds all rows stored by the first one.
  for (const counts of [
    { added: 32, skipped: 0 },
    { added: 0, skipped: 32 },
  ]) {
    const result = await shop.import(lines)
    const { added, skipped, rows, repeated, repeated_lines, totals } = result
    assert.deepEqual({ added, skipped }, counts)
    assert.deepEqual([rows, repeated], [32, 32])
    assert.deepEqual(repeated_lines, [4, ...Array.from({ length: 19 }, (_, i) => 35 + i)])
    assert.deepEqual(totals, [
      { status: 'purchased', currency: 'USD', rows: 32, total: String(32 * 499) },
    ])
  }
})

test('a sale and its refund are two rows, and only the repeat of each is a repeat', async () => {
  const lines = [
    row('T-1'),
    row('T-1', SECOND, 'refunded'),
    row('T-1'),
    row('T-1', SECOND, 'refunded'),
    // Newest first, as many vendors export.
    row('T-2', SECOND, 'refunded'),
    row('T-2'),
    row('T-2'),
  ]
  const shop = await setUp()
  for (let time = 0; time < 2; time++) {
    const { repeated, repeated_lines, totals } = await shop.import(lines)
    assert.deepEqual([repeated, repeated_lines], [3, [4, 5, 8]])
    assert.deepEqual(
      totals.map(({ status, rows }) => `${status} ${rows}`),
      ['purchased 2', 'refunded 2'],
    )
  }
  assert.deepEqual(await shop.statuses(), ['T-1 refunded', 'T-2 refunded'])
})

test('the later row is the repeat, also when it alone is equal to the stored purchase', async () => {
  const shop = await setUp()
  const lines = [`T-1,gold,${FIRST},,purchased`, row('T-1')]
  for (let time = 0; time < 2; time++) {
    const { repeated, repeated_lines, totals } = await shop.import(lines)
    assert.deepEqual([repeated, repeated_lines], [1, [3]])
    assert.deepEqual(totals, [{ status: 'purchased', currency: 'USD', rows: 1, total: '499' }])
  }
})

test('totals count a row without a price with the price of its purchase, not as without a price', async () => {
  const shop = await setUp()
  const without = (id: string, status: string) => `${id},gold,${FIRST},,${status}`
  const filled = [
    without('T-1', 'pending'),
    without('T-1', 'purchased'),
    without('T-2', 'purchased'),
    row('T-1'),
    without('T-1', 'purchased'),
  ]
  const sums = async (lines: readonly string[]) => {
    const { totals } = await shop.import(lines)
    const all = totals.map((each) => `${each.status} ${each.currency} ${each.rows} ${each.total}`)
    return all.sort()
  }
  const expected = ['pending USD 1 499', 'purchased  1 0', 'purchased USD 1 499']
  for (let time = 0; time < 2; time++) assert.deepEqual(await sums(filled), expected)
  assert.deepEqual(await sums([without('T-1', 'refunded')]), ['refunded USD 1 499'])
  // The price of another file leaves the totals of an earlier import as they were.
  assert.deepEqual(await sums([row('T-2')]), ['purchased USD 1 499'])
})

test('the same id and status at another time in one file is an error, in another file is none', async () => {
  const shop = await setUp()
  const conflicts = async (...lines: string[]) => {
    const { code, details } = await failureOf(shop.import(lines))
    assert.equal(code, 'invalid_purchases')
    return details.map(shortOf)
  }
  const expected = ['3 purchased_at transaction_conflict']
  assert.deepEqual(await conflicts(row('T-1'), row('T-1', SECOND)), expected)
  const refunds = [row('T-1', SECOND, 'refunded'), row('T-1', THIRD, 'refunded')]
  assert.deepEqual(await conflicts(...refunds), expected)
  const sale = [row('T-1'), ...refunds]
  assert.deepEqual(await conflicts(...sale), ['4 purchased_at transaction_conflict'])

  await shop.import([row('T-1')])
  const { skipped, repeated } = await shop.import([row('T-1', SECOND), row('T-1', SECOND)])
  assert.deepEqual([skipped, repeated], [1, 1])
  assert.deepEqual(await conflicts(row('T-1', SECOND), row('T-1', THIRD)), expected)
})

test('number_repeats keeps equal rows apart, and refunds the sale with the same number', async () => {
  const shop = await setUp()
  const layout = {
    columns: {
      transaction_id: ['transaction_id', 'sku'],
      sku: 'sku',
      purchased_at: 'purchased_at',
      price: 'price',
      status: 'status',
    },
    number_repeats: true,
  }
  const sales = [row('SQ1'), row('SQ1', SECOND), row('SQ2')]
  const { added, repeated } = await shop.import(sales, { layout })
  assert.deepEqual([added, repeated], [3, 0])
  const refunds = [row('SQ1', THIRD, 'refunded'), row('SQ1', THIRD, 'refunded')]
  const { updated } = await shop.import(refunds, { layout })
  assert.equal(updated, 2)
  const expected = ['SQ1/gold refunded', 'SQ1/gold/2 refunded', 'SQ2/gold purchased']
  assert.deepEqual(await shop.statuses(), expected)
})

test('a sale after its refund has another time, and the import counts it: the month of the refund stays', async () => {
  const shop = await setUp()
  const sale = row('T-1', FIRST)
  const other = [{ field: 'purchased_at', stored: 'different', rows: 1 }]
  await shop.import([row('T-1', THIRD, 'refunded')])
  assert.deepEqual((await shop.import([sale])).unequal, other)
  // In one file, with the newest row first.
  const newest = [row('T-2', THIRD, 'refunded'), row('T-2', FIRST)]
  assert.deepEqual((await shop.import(newest)).unequal, other)
  const oldest = [row('T-3', FIRST), row('T-3', THIRD, 'refunded')]
  for (let time = 0; time < 2; time++) assert.deepEqual((await shop.import(oldest)).unequal, [])
})
