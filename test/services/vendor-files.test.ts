import assert from 'node:assert/strict'
import { formatPassedOver, type TillOptions } from '../../lib/index.ts'
import { collect, pluck } from '../support/collect.ts'
import { testOnEach as test } from '../support/databases.ts'
import { createClock, createShop, failureOf, fileOf, openStorage } from '../support/till.ts'

const MAIN = { store_id: 'main' }
const PLAY =
  'Order Number,Order Charged Timestamp,Financial Status,Product Title,Product ID,Product Type,' +
  'SKU ID,Currency of Sale,Item Price,Taxes Collected,Charged Amount\n'
const CHARGED = '1769860800' // 2026-01-31T12:00:00Z
const playRow = (order: string, status: string, amount: string, app = 'com.example.game') =>
  `${order},${CHARGED},${status},Gold,${app},inapp,gold,USD,4.99,0.00,${amount}\n`
const LIVE = {
  ...{ ...MAIN, transaction_id: 'GPA.1/gold', sku: 'gold', user_id: 'ann' },
  ...{ purchased_at: '2026-01-31T12:00:00Z' },
}

/** A shop on 2026-03-01 with the items `gold` and `gem`. */
async function openShop(options: Partial<TillOptions> = {}) {
  const clock = createClock(Date.UTC(2026, 2, 1))
  const shop = await createShop({ now: clock.now, ...options })
  const { till, account } = shop
  const gem = { name: 'gem', display_name: 'Gem', price: '99', type: 'consumable' } as const
  await till.items.create(account, { ...MAIN, ...gem })
  return {
    ...{ ...shop, clock },
    load: (text: string, choice: object = {}) =>
      till.purchases.import(account, { ...MAIN, file: fileOf(text), ...choice }),
    undo: (import_id: string) => till.imports.undo(account, { import_id }),
    all: () => collect(till.purchases.all(account, MAIN)),
    exported: async () => (await collect(till.purchases.export(account, MAIN))).join(''),
    async owned() {
      const { owned } = await till.purchases.owned(account, { ...MAIN, user_id: 'ann' })
      return owned.map(({ sku, quantity }) => `${quantity} ${sku}`)
    },
  }
}

test('rows whose price is empty are counted apart, and not as sales of 0.00 in their currency', async () => {
  const { load } = await openShop()

  const { totals } = await load(
    PLAY + playRow('GPA.1', 'Charged', '') + playRow('GPA.2', 'Charged', '4.99'),
  )

  assert.deepEqual(totals, [
    { status: 'purchased', currency: '', rows: 1, total: '0' },
    { status: 'purchased', currency: 'USD', rows: 1, total: '499' },
  ])
})

test('a live purchase that a Play file refunds is not owned, until the import is undone', async () => {
  const { till, account, load, owned, undo } = await openShop()
  const store_config = { bundle_id: 'com.example.game' }
  await till.stores.update(account, { ...MAIN, store_config })
  await till.purchases.record(account, LIVE)

  const { import_id, ...result } = await load(
    PLAY +
      playRow('GPA.1', 'Charged', '4.99') +
      playRow('GPA.1', 'Refund', '-4.99') +
      playRow('GPA.2', 'Charged', '4.99', 'com.example.other'),
  )

  assert.deepEqual(
    [result.rows, result.skipped, result.updated, result.passed_over_reasons],
    // The sale fills the price, and the refund changes the status.
    [2, 0, 2, [{ reason: 'other_app', app: 'com.example.other', rows: 1 }]],
  )
  assert.deepEqual(result.unequal, [])
  assert.deepEqual(await owned(), [])
  await undo(import_id)
  assert.deepEqual(await owned(), ['1 gold'])
})

test('the reasons of a report of many apps name twenty, and count the others', async () => {
  const { till, account, load } = await openShop()
  const store_config = { bundle_id: 'com.example.game' }
  await till.stores.update(account, { ...MAIN, store_config })
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

test('a file of refunds needs only ids and statuses, and passes over all other rows', async () => {
  const { till, account, load, owned, undo } = await openShop()
  await till.purchases.record(account, { ...LIVE, transaction_id: 'T-1' })
  const layout = {
    columns: { transaction_id: 'Reference', status: 'Type' },
    statuses: { 'Payment Refund': 'refunded' },
    skip: { Type: ['Fee'] },
  }
  const rows = ['T-1,Payment Refund', 'T-1,Fee', 'T-9,Payment Refund', 'T-1,payment refund']
  const loadRows = (lines: readonly string[], refundsOnly = true) =>
    load(['Reference,Type', ...lines, ''].join('\n'), { layout, refundsOnly })

  const { import_id, ...result } = await loadRows(rows)

  assert.deepEqual([result.rows, result.updated, result.passed_over], [1, 1, 3])
  const reasons = result.passed_over_reasons.map(({ reason, rows }) => `${rows} ${reason}`)
  assert.deepEqual(reasons.sort(), ['1 not_later', '1 not_stored', '1 skipped'])
  assert.deepEqual(await owned(), [])
  assert.equal((await till.imports.get(account, import_id)).updated, 1)
  await undo(import_id)
  assert.deepEqual(await owned(), ['1 gold'])
  await loadRows(rows)
  const again = await loadRows(rows)
  assert.deepEqual([again.rows, again.passed_over], [0, 4])
  const { details } = await failureOf(loadRows(['T-1,Currency Hold']))
  assert.deepEqual([details[0]?.line, details[0]?.column], [2, 'Type'])
  const whole = await failureOf(loadRows(rows, false))
  const needed = ['layout.columns.sku', 'layout.columns.purchased_at']
  assert.deepEqual(pluck(whole.details, 'field'), needed)
})

test('RevenueCat rows meet stored ones by product, and subscriptions end', async () => {
  const { clock, load, owned, all } = await openShop()
  const header =
    'rc_original_app_user_id,rc_last_seen_app_user_id_alias,store_transaction_id,renewal_number,' +
    'product_identifier,start_time,end_time,effective_end_time,refunded_at,' +
    'price_in_purchased_currency,purchase_price_in_purchased_currency,purchased_currency,is_sandbox\n'
  const row = (alias: string, refunded: string, price: string) =>
    `${header}$RCAnonymousID:1,${alias},RC-1,1,gold,2026-02-01 00:00:00,2026-03-01 00:00:00,` +
    `2026-03-02 00:00:00,${refunded},${price},4.99,USD,false\n`

  await load(row('ann', '', '4.99'))
  assert.deepEqual(await owned(), ['1 gold'])
  clock.pass(86_400_000)
  assert.deepEqual(await owned(), [])
  const refund = await load(row('other alias', '2026-02-20 00:00:00', '0'))

  const unequal = [{ field: 'user_id', stored: 'different', rows: 1 }]
  assert.deepEqual([refund.updated, refund.unequal], [1, unequal])
  const [purchase] = await all()
  assert.deepEqual(
    [purchase?.user_id, purchase?.price, purchase?.status, purchase?.expires_at],
    ['ann', 499, 'refunded', '2026-03-02T00:00:00.000Z'],
  )
})

test('an export has the end of a subscription, and can be imported again', async () => {
  const { till, account, project_id, load, owned, exported } = await openShop()
  await till.purchases.record(account, { ...LIVE, expires_at: '2026-03-01T00:00:00.001Z' })
  const csv = await exported()

  const again = await load(csv)

  assert.match(csv, /^transaction_id,.*,expires_at,.*\r\n.*,2026-03-01T00:00:00\.001Z,/)
  assert.deepEqual([again.skipped, again.unequal], [1, []])
  assert.deepEqual(await owned(), ['1 gold'])
  const texts = await collect(till.users.export(account, { project_id, user_id: 'ann' }))
  const { purchases } = JSON.parse(texts.join(''))
  assert.equal(purchases[0].expires_at, '2026-03-01T00:00:00.001Z')
})

test('the lookups of a SKU map end after 100 unknown items: each is a round trip', async () => {
  const storage = await openStorage()
  const { load } = await openShop({ storage })
  let lookups = 0
  const find = storage.findItemByName.bind(storage)
  storage.findItemByName = (...args) => {
    lookups++
    return find(...args)
  }
  const rows = Array.from({ length: 9_000 }, (_, i) => `v${i},unknown${i}\n`)
  const skus = `vendor_sku,item\n${rows.join('')}`

  const error = await failureOf(load('transaction_id,sku,purchased_at\n', { skus }))

  assert.equal(error.message, '100 or more mistakes in the SKU map')
  assert.ok(lookups < 200, String(lookups))
})
