import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ImportRequest, StoreType } from '../../lib/index.ts'
import { createShop, failureOf, fileOf, memoryTill } from '../support/till.ts'

const GOOGLE =
  'Order Number,Order Charged Date,Order Charged Timestamp,Financial Status,Device Model,Product Title,Product ID,Product Type,SKU ID,Currency of Sale,Item Price,Taxes Collected,Charged Amount,City of Buyer,State of Buyer,Postal Code of Buyer,Country of Buyer\n'
const sale = (order: string, app: string, sku = 'gold', status = 'Charged') =>
  `${order},2024-01-01,1704110400,${status},px,Title,${app},inapp,${sku},EUR,4.99,0,4.99,City,,1,DE\n`
const OWN = 'com.example.game'
const REPORT =
  GOOGLE +
  sale('GPA.1', OWN) +
  sale('GPA.2', 'com.other') +
  sale('GPA.3', 'com.other') +
  sale('GPA.4', OWN, '')

/** A shop with a store `play` of a type, which sells `gold`. */
async function openPlay(store_type: StoreType, store_config = {}) {
  const till = memoryTill()
  const { account, project } = await createShop(till)
  const store = { project_id: project.id, store_id: 'play', store_type, store_config }
  await till.stores.create(account, store)
  const item = { store_id: 'play', display_name: 'x', price: '1', type: 'consumable' } as const
  await till.items.create(account, { ...item, name: 'gold' })
  await till.items.create(account, { ...item, name: 'game' })
  const load = (csv: string, options: Partial<ImportRequest> = {}) =>
    till.purchases.import(account, { store_id: 'play', file: fileOf(csv), ...options })
  const ids = async () => {
    const { purchases } = await till.purchases.list(account, { store_id: 'play' })
    return purchases.map(({ transaction_id, sku }) => `${transaction_id} ${sku}`)
  }
  return { till, account, load, ids }
}

test("an iap store imports its project's app from a report of all apps, and counts the other rows", async () => {
  const { till, account, load, ids } = await openPlay('iap', { platform: 'google_play' })

  const { import_id, rows, passed_over, passed_over_reasons } = await load(REPORT)

  assert.deepEqual([rows, passed_over], [1, 3])
  assert.deepEqual(passed_over_reasons, [
    { reason: 'no_sku', rows: 1 },
    { reason: 'other_app', app: 'com.other', rows: 2 },
  ])
  assert.deepEqual(await ids(), ['GPA.1/gold gold'])
  const record = await till.imports.get(account, import_id)
  assert.equal(record.passed_over, 3)
  assert.ok(!('passed_over_reasons' in record))
})

test('the bundle id of a store replaces that of its project, and another type of store needs one', async () => {
  const own = await openPlay('iap', { platform: 'google_play', bundle_id: 'com.other' })
  assert.deepEqual([(await own.load(REPORT)).rows, (await own.ids()).length], [2, 2])

  const web = await openPlay('web')
  const { code, details } = await failureOf(web.load(REPORT))
  assert.deepEqual([code, details[0]?.code], ['invalid_purchases', 'other_app'])
  assert.match(details[0]?.message ?? '', /com\.example\.game, com\.other/)
  assert.deepEqual(await web.ids(), [])

  const none = await openPlay('iap', { platform: 'google_play', bundle_id: 'com.third' })
  const refused = await failureOf(none.load(REPORT))
  assert.match(
    refused.details[0]?.message ?? '',
    /no row of com\.third, the bundle_id of the store/,
  )
})

test('a report that was imported before adds nothing, also with a SKU map', async () => {
  const { load, ids } = await openPlay('iap', { platform: 'google_play' })
  await load(REPORT)
  const before = await ids()
  const skus = 'vendor_sku,item\ncom.example.game,game\n'

  const again = await load(REPORT)
  const mapped = await load(REPORT, { skus })

  assert.deepEqual([again.added, again.skipped], [0, 1])
  assert.deepEqual([mapped.added, mapped.skipped, mapped.passed_over], [1, 1, 2])
  assert.deepEqual(await ids(), [...before, 'GPA.4 game'])
})

test('a charge and its refund in one file are one refunded purchase', async () => {
  const { load } = await openPlay('iap', { platform: 'google_play' })
  const refund = sale('GPA.1', OWN, 'gold', 'Refund').replaceAll('4.99', '-4.99')

  const { rows, added, totals } = await load(GOOGLE + sale('GPA.1', OWN) + refund)

  assert.deepEqual([rows, added], [2, 1])
  assert.deepEqual(
    totals.map(({ status, total }) => [status, total]),
    [
      ['purchased', '499'],
      ['refunded', '499'],
    ],
  )
})

test('at most twenty reasons are listed, and the others are added up', async () => {
  const { load } = await openPlay('iap', { platform: 'google_play' })
  const others = Array.from({ length: 30 }, (_, i) => sale(`GPA.${i}`, `com.a${i}`))

  const { passed_over, passed_over_reasons } = await load(REPORT + others.join(''))

  assert.equal(passed_over, 33)
  assert.equal(passed_over_reasons.length, 21)
  assert.equal(passed_over_reasons[0]?.reason, 'no_sku')
  assert.deepEqual(passed_over_reasons[1], { reason: 'other_app', app: 'com.other', rows: 2 })
  assert.deepEqual(passed_over_reasons[20], { reason: 'others', rows: 12 })
})

const maps: readonly [what: string, skus: string, lines: readonly string[]][] = [
  ['an unknown item', 'vendor_sku,item\na,gold\nb,silver\nc,silver\n', ['3 item', '4 item']],
  ['a vendor SKU twice', 'vendor_sku,item\na,gold\nb,gold\na,\n', ['4 vendor_sku']],
  ['a row without a vendor SKU', 'item;vendor_sku\ngold;\n', ['2 vendor_sku']],
  ['other columns', 'sku,item\na,gold\n', ['1 ']],
  ['a misplaced quote', 'vendor_sku,item\n"a"b,gold\n', ['2 ']],
  ['no header', '', ['1 ']],
  ['more than 256 KiB', `vendor_sku,item\n${'x'.repeat(256 * 1024)},gold\n`, ['1 ']],
  [
    'more than 10,000 SKUs',
    `vendor_sku,item\n${Array.from({ length: 10_001 }, (_, i) => `${i},\n`).join('')}`,
    ['10002 '],
  ],
]
for (const [what, skus, lines] of maps) {
  test(`a SKU map with ${what} is refused with its lines before the file is read`, async () => {
    const { load } = await openPlay('web')
    const file = (async function* (): AsyncGenerator<Uint8Array> {
      yield assert.fail('the file is read')
    })()

    const { code, message, details } = await failureOf(load('', { skus, file }))

    assert.equal(code, 'invalid_request')
    assert.match(message, /in the SKU map$/)
    assert.deepEqual(
      details.map(({ line, column = '' }) => `${line} ${column}`),
      lines,
    )
    assert.ok(details.every(({ field }) => field === 'skus'))
  })
}

test('a SKU map is text or bytes, and a layout is an object', async () => {
  const { load } = await openPlay('web')
  const bytes = Buffer.from('\uFEFFvendor_sku;item\r\n"gold.1";gold\r\n', 'utf16le')
  const csv = 'transaction_id,sku,date\nT-1,gold.1,1704110400\n'
  assert.equal((await load(csv, { skus: bytes })).added, 1)
  const wrong = [{ skus: 7 }, { layout: 'x' }] as unknown as Partial<ImportRequest>[]
  for (const options of wrong) {
    await assert.rejects(load(csv, options), { code: 'invalid_request' })
  }
})
