import assert from 'node:assert/strict'
import { collect } from '../support/collect.ts'
import { testOnEach as test } from '../support/databases.ts'
import { shortOf } from '../support/purchase-file.ts'
import { createShop, failureOf, fileOf } from '../support/till.ts'

const DAY = 86_400_000
const START = Date.parse('2026-05-01T10:00:00Z')

/** A shop whose purchases have these ids and times, in days. */
async function createOrders(
  purchases: readonly (readonly [id: string, days: number, user?: string])[],
) {
  const { till, account, project_id } = await createShop()
  const lines = purchases.map(([id, days, user = '']) => `${id},gold,${START + days * DAY},${user}`)
  const file = fileOf(['transaction_id,sku,purchased_at,user_id', ...lines].join('\n'))
  await till.purchases.import(account, { store_id: 'main', file })
  return {
    till,
    account,
    project_id,
    refund: (ids: readonly string[]) => {
      const file = fileOf(['orderId,status', ...ids.map((id) => `${id},refunded`)].join('\n'))
      const layout = { columns: { transaction_id: 'orderId', status: 'status' } }
      return till.purchases.import(account, { store_id: 'main', file, layout, refundsOnly: true })
    },
    refunded: async () => {
      const all = await collect(till.purchases.all(account, { store_id: 'main' }))
      return all.flatMap(({ transaction_id, status }) =>
        status === 'refunded' ? [transaction_id] : [],
      )
    },
  }
}

test('an order id refunds all purchases whose ids begin with it and a slash', async () => {
  const shop = await createOrders([
    ['GPA.1', 0],
    ['GPA.1/gold', 0],
    ['GPA.2/gold', 0],
    ['GPA.2/gem', 2],
    ['GPA.2..0/gold', 0],
    ['GPA.20/gold', 0],
    ["GPA.2'/gold", 0],
  ])
  const { rows, updated, passed_over_reasons } = await shop.refund(['GPA.2', 'GPA.1', 'GPA'])
  assert.deepEqual([rows, updated], [2, 2])
  assert.deepEqual(passed_over_reasons, [{ reason: 'not_stored', rows: 1 }])
  // An id that is stored stands for that purchase only.
  assert.deepEqual((await shop.refunded()).sort(), ['GPA.1', 'GPA.2/gem', 'GPA.2/gold'])
  const again = await shop.refund(['GPA.2', 'GPA.1'])
  assert.deepEqual(again.passed_over_reasons, [{ reason: 'not_later', rows: 2 }])
})

test('an id that may stand for several orders is ambiguous, and changes nothing', async () => {
  const many = Array.from({ length: 101 }, (_, i) => [`big/${i}`, 0] as const)
  const shop = await createOrders([
    ['2024/0001', 0],
    ['2024/0002', 2.01],
    ['one/1', 0],
    ...many,
    ...many.slice(1).map(([id]) => [`hundred${id}`, 0] as const),
  ])
  const { code, details } = await failureOf(shop.refund(['one', '2024', 'big']))
  assert.equal(code, 'invalid_purchases')
  assert.deepEqual(details.map(shortOf), ['3 orderId ambiguous', '4 orderId ambiguous'])
  assert.match(details[0]?.message ?? '', /2 purchases, which were not all made within 48 hours/)
  assert.match(details[1]?.message ?? '', /more than 100 purchases/)
  assert.deepEqual(await shop.refunded(), [])
  await shop.refund(['hundredbig', 'one'])
  assert.equal((await shop.refunded()).length, 101)
})

test('purchases that were deleted with their user do not make an order ambiguous', async () => {
  const shop = await createOrders([
    ['GPA.1/gold', 0],
    ['GPA.1/gem', 0, 'ann'],
  ])
  const user = { project_id: shop.project_id, user_id: 'ann', delete: true }
  await shop.till.users.erase(shop.account, user)
  const { updated } = await shop.refund(['GPA.1'])
  assert.deepEqual([updated, await shop.refunded()], [1, ['GPA.1/gold']])
})
