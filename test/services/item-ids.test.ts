import assert from 'node:assert/strict'
import { collect } from '../support/collect.ts'
import { testOnEach as test } from '../support/databases.ts'
import { shortOf } from '../support/purchase-file.ts'
import { createShop, failureOf, fileOf } from '../support/till.ts'

const AT = '2026-05-01T10:00:00Z'
const MAIN = { store_id: 'main' }

test('the id of an item counts as its SKU in files, maps and recorded purchases; a name wins', async () => {
  const { till, account, item } = await createShop()
  const other = await createShop(till, 'Other')
  const fields = { ...MAIN, display_name: 'Gem', price: '99', type: 'consumable' } as const
  const gem = await till.items.create(account, { ...fields, name: 'gem' })
  await till.items.create(account, { ...fields, name: gem.id })
  const load = (lines: readonly string[], skus?: string) => {
    const file = fileOf(['transaction_id,sku,purchased_at', ...lines].join('\n'))
    return till.purchases.import(account, { ...MAIN, file, skus })
  }

  await load([`1,gold,${AT}`, `2,${item.id},${AT}`, `3,${gem.id},${AT}`])
  await load([`4,coins,${AT}`], `vendor_sku,item\ncoins,${item.id}\n`)
  const input = { ...MAIN, transaction_id: '5', sku: item.id, purchased_at: AT }
  const { purchase } = await till.purchases.record(account, input)
  assert.equal(purchase?.sku, 'gold')
  assert.equal((await till.purchases.record(account, input)).outcome, 'skipped')
  const all = await collect(till.purchases.all(account, MAIN))
  assert.deepEqual(all.map(({ transaction_id, sku }) => [transaction_id, sku]).sort(), [
    ...['1', '2'].map((id) => [id, 'gold']),
    ['3', gem.id],
    ['4', 'gold'],
    ['5', 'gold'],
  ])
  for (const sku of [other.item.id, 'itm_x']) {
    const { details } = await failureOf(load([`6,${sku},${AT}`]))
    assert.deepEqual(details.map(shortOf), ['2 sku unknown_sku'])
    await assert.rejects(till.purchases.record(account, { ...input, transaction_id: '6', sku }), {
      code: 'invalid_request',
    })
  }
})
