import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import {
  createMemoryStorage,
  createTill,
  formatPassedOver,
  type ImportRequest,
  type Till,
} from '../../lib/index.ts'
import { collect, pluck } from '../support/collect.ts'
import { allTargets } from '../support/targets.ts'
import { createShop, failureOf, fileOf } from '../support/till.ts'
import { VERSION_0_2 } from './fixtures/version-0.2.ts'

const NOW = Date.UTC(2026, 2, 1)
const PLAY =
  'Order Number,Order Charged Timestamp,Financial Status,Product Title,Product ID,Product Type,' +
  'SKU ID,Currency of Sale,Item Price,Taxes Collected,Charged Amount\n'
const CHARGED = '1769860800' // 2026-01-31T12:00:00Z
const playRow = (order: string, status: string, amount: string, app = 'com.example.game') =>
  `${order},${CHARGED},${status},Gold,${app},inapp,gold,USD,4.99,0.00,${amount}\n`
const LIVE = {
  ...{ store_id: 'main', transaction_id: 'GPA.1/gold', sku: 'gold', user_id: 'ann' },
  ...{ purchased_at: '2026-01-31T12:00:00Z' },
}

async function ownedBy(till: Till, account: Parameters<Till['purchases']['owned']>[0]) {
  const { owned } = await till.purchases.owned(account, { store_id: 'main', user_id: 'ann' })
  return owned.map(({ sku, quantity }) => `${quantity} ${sku}`)
}

for (const { name, skip, open } of await allTargets()) {
  describe(`vendor files in ${name}`, { skip }, () => {
    const openShop = async (t: TestContext) => {
      const till = createTill({ storage: await open(t), now: () => NOW })
      const { account, project_id } = await createShop(till)
      const store = { store_id: 'main' }
      const gem = { name: 'gem', display_name: 'Gem', price: '99', type: 'consumable' } as const
      await till.items.create(account, { ...store, ...gem })
      const load = (text: string, choice: object = {}) =>
        till.purchases.import(account, { ...store, file: fileOf(text), ...choice })
      return {
        till,
        account,
        project_id,
        load,
        all: () => collect(till.purchases.all(account, store)),
      }
    }

    test('a live purchase that a Play file refunds is not owned, until the import is undone', async (t) => {
      const till = createTill({ storage: await open(t), now: () => NOW })
      const { account } = await createShop(till)
      await till.stores.update(account, {
        ...{ store_id: 'main', store_config: { bundle_id: 'com.example.game' } },
      })
      await till.purchases.record(account, LIVE)
      const file = fileOf(
        PLAY,
        playRow('GPA.1', 'Charged', '4.99'),
        playRow('GPA.1', 'Refund', '-4.99'),
        playRow('GPA.2', 'Charged', '4.99', 'com.example.other'),
      )

      const { import_id, ...result } = await till.purchases.import(account, {
        ...{ store_id: 'main', file },
      })

      assert.deepEqual(
        [result.rows, result.skipped, result.updated, result.passed_over_reasons],
        [2, 1, 1, [{ reason: 'other_app', app: 'com.example.other', rows: 1 }]],
      )
      const missing = (field: string) => ({ field, stored: 'missing', rows: 2 })
      assert.deepEqual(result.unequal, [missing('price'), missing('currency')])
      assert.deepEqual(await ownedBy(till, account), [])
      await till.imports.undo(account, { import_id })
      assert.deepEqual(await ownedBy(till, account), ['1 gold'])
    })

    test('the reasons of a report of many apps name twenty, and count the others', async (t) => {
      const { till, account, load } = await openShop(t)
      const store_config = { bundle_id: 'com.example.game' }
      await till.stores.update(account, { store_id: 'main', store_config })
      const others = Array.from({ length: 25 }, (_, i) => `com.example.app${i}`)
      const rows = ['com.example.game', ...others, 'com.example.app24'].map((app, i) =>
        playRow(`GPA.${i}`, 'Charged', '4.99', app),
      )

      const result = await load(PLAY + rows.join(''))

      const { passed_over, passed_over_reasons: reasons } = result
      assert.deepEqual([result.rows, passed_over, reasons.length], [1, 26, 21])
      assert.deepEqual(reasons[0], { reason: 'other_app', app: 'com.example.app24', rows: 2 })
      assert.deepEqual(reasons.at(-1), { reason: 'others', rows: 5 })
      const text = formatPassedOver(passed_over, reasons)
      assert.equal(text, '26 rows passed over: 26 of other apps')
    })

    test('a file of refunds needs only ids and statuses, and passes over all other rows', async (t) => {
      const till = createTill({ storage: await open(t), now: () => NOW })
      const { account } = await createShop(till)
      await till.purchases.record(account, { ...LIVE, transaction_id: 'T-1' })
      const layout: ImportRequest['layout'] = {
        columns: { transaction_id: 'Reference', status: 'Type' },
        statuses: { 'Payment Refund': 'refunded' },
        skip: { Type: ['Fee'] },
      }
      const rows = ['T-1,Payment Refund', 'T-1,Fee', 'T-9,Payment Refund', 'T-1,payment refund']
      const request = (lines: readonly string[], more: object = {}) => ({
        ...{ store_id: 'main', layout, refundsOnly: true, ...more },
        file: fileOf(['Reference,Type', ...lines, ''].join('\n')),
      })

      const { import_id, ...result } = await till.purchases.import(account, request(rows))

      assert.deepEqual([result.rows, result.updated, result.passed_over], [1, 1, 3])
      assert.deepEqual(
        result.passed_over_reasons.map(({ reason, rows }) => `${rows} ${reason}`).sort(),
        [...['1 not_later', '1 not_stored', '1 skipped']],
      )
      assert.deepEqual(await ownedBy(till, account), [])
      assert.equal((await till.imports.get(account, import_id)).updated, 1)
      await till.imports.undo(account, { import_id })
      assert.deepEqual(await ownedBy(till, account), ['1 gold'])
      await till.purchases.import(account, request(rows))
      const again = await till.purchases.import(account, request(rows))
      assert.deepEqual([again.rows, again.passed_over], [0, 4])
      const bad = await failureOf(till.purchases.import(account, request(['T-1,Currency Hold'])))
      assert.deepEqual([bad.details[0]?.line, bad.details[0]?.column], [2, 'Type'])
      const whole = till.purchases.import(account, request(rows, { refundsOnly: false }))
      assert.deepEqual(pluck((await failureOf(whole)).details, 'field'), [
        'layout.columns.sku',
        'layout.columns.purchased_at',
      ])
    })

    test('RevenueCat rows meet stored ones by product, and subscriptions end', async (t) => {
      let now = NOW
      const till = createTill({ storage: await open(t), now: () => now })
      const { account } = await createShop(till)
      const header =
        'rc_original_app_user_id,rc_last_seen_app_user_id_alias,store_transaction_id,renewal_number,' +
        'product_identifier,start_time,end_time,effective_end_time,refunded_at,' +
        'price_in_purchased_currency,purchase_price_in_purchased_currency,purchased_currency,is_sandbox\n'
      const row = (alias: string, refunded: string, price: string) =>
        `$RCAnonymousID:1,${alias},RC-1,1,gold,2026-02-01 00:00:00,2026-03-01 00:00:00,` +
        `2026-03-02 00:00:00,${refunded},${price},4.99,USD,false\n`
      const load = (text: string) =>
        till.purchases.import(account, { store_id: 'main', file: fileOf(header, text) })

      await load(row('ann', '', '4.99'))
      assert.deepEqual(await ownedBy(till, account), ['1 gold'])
      now = Date.UTC(2026, 2, 2)
      assert.deepEqual(await ownedBy(till, account), [])
      const refund = await load(row('other alias', '2026-02-20 00:00:00', '0'))

      assert.deepEqual(
        [refund.updated, refund.unequal],
        [1, [{ field: 'user_id', stored: 'different', rows: 1 }]],
      )
      const [purchase] = await collect(till.purchases.all(account, { store_id: 'main' }))
      assert.deepEqual(
        [purchase?.user_id, purchase?.price, purchase?.status, purchase?.expires_at],
        ['ann', 499, 'refunded', '2026-03-02T00:00:00.000Z'],
      )
    })

    for (const [vendor, { file, stored }] of Object.entries(VERSION_0_2)) {
      test(`a file of ${vendor} that version 0.2.0 imported adds no row, with a map or without`, async (t) => {
        const { load, all } = await openShop(t)
        const { added } = await load(stored)
        assert.ok(added > 0)

        for (const choice of [
          {},
          { preset: vendor },
          { skus: 'vendor_sku,item\nx,gold\ngem,\n' },
        ]) {
          const again = await load(file, choice)
          assert.deepEqual([again.layout, again.added, again.updated], [vendor, 0, 0])
        }
        // With other items, each row meets the stored purchase of its id.
        const swapped = load(file, { skus: 'vendor_sku,item\ngold,gem\ngem,gold\n' })
        const { details } = await failureOf(swapped)
        assert.deepEqual(
          new Set(details.map(({ code }) => code)),
          new Set(['transaction_conflict']),
        )
        assert.equal((await all()).length, added)
      })

      test(`purchases of ${vendor} are exported, lose their users, and are undone`, async (t) => {
        const { till, account, project_id, load, all } = await openShop(t)
        const { import_id, added } = await load(file)
        const users = new Set((await all()).flatMap(({ user_id = [] }) => user_id))
        const csv = (await collect(till.purchases.export(account, { store_id: 'main' }))).join('')

        const again = await load(csv)
        await till.imports.undo(account, { import_id: again.import_id })
        for (const user_id of users) await till.users.erase(account, { project_id, user_id })
        const erased = await all()
        await till.imports.undo(account, { import_id })

        assert.deepEqual([again.added, again.skipped, again.unequal], [0, added, []])
        const expected = { revenuecat_transactions: ['ann', 'bob'], stripe_payments: ['cus_1'] }
        assert.deepEqual([...users], expected[vendor as keyof typeof expected] ?? [])
        assert.deepEqual([erased.length, erased.some(({ user_id }) => user_id)], [added, false])
        assert.deepEqual(await all(), [])
      })
    }

    test('an export has the end of a subscription, and can be imported again', async (t) => {
      const till = createTill({ storage: await open(t), now: () => NOW })
      const { account, project_id } = await createShop(till)
      await till.purchases.record(account, { ...LIVE, expires_at: '2026-03-01T00:00:00.001Z' })
      const csv = (await collect(till.purchases.export(account, { store_id: 'main' }))).join('')

      const again = await till.purchases.import(account, { store_id: 'main', file: fileOf(csv) })

      assert.match(csv, /^transaction_id,.*,expires_at,.*\r\n.*,2026-03-01T00:00:00\.001Z,/)
      assert.deepEqual([again.skipped, again.unequal], [1, []])
      assert.deepEqual(await ownedBy(till, account), ['1 gold'])
      const exported = await collect(till.users.export(account, { project_id, user_id: 'ann' }))
      const { purchases } = JSON.parse(exported.join(''))
      assert.equal(purchases[0].expires_at, '2026-03-01T00:00:00.001Z')
    })
  })
}

test('the lookups of a SKU map end after 100 unknown items: each is a round trip', async (t) => {
  const storage = createMemoryStorage()
  const till = createTill({ storage })
  t.after(() => till.close())
  const { account } = await createShop(till)
  let lookups = 0
  const find = storage.findItemByName.bind(storage)
  storage.findItemByName = (...args) => {
    lookups++
    return find(...args)
  }
  const rows = Array.from({ length: 9_000 }, (_, i) => `v${i},unknown${i}\n`)
  const skus = `vendor_sku,item\n${rows.join('')}`

  const file = fileOf('transaction_id,sku,purchased_at\n')
  const error = await failureOf(till.purchases.import(account, { store_id: 'main', file, skus }))

  assert.equal(error.message, '100 or more mistakes in the SKU map')
  assert.ok(lookups < 200, String(lookups))
})
