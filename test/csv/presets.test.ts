import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findLayout } from '../../lib/csv/find-layout.ts'
import type { LayoutOptions } from '../../lib/csv/layout.ts'
import { parseSkus } from '../../lib/csv/skus.ts'
import { pluck } from '../support/collect.ts'
import { read, STORE, shortOf } from '../support/purchase-file.ts'

/** The values of each purchase that is read. */
const valuesOf = (purchases: readonly object[], count = 9) =>
  purchases.map((each) => Object.values(each).slice(0, count))

const GOOGLE =
  'Order Number,Order Charged Date,Order Charged Timestamp,Financial Status,Device Model,Product Title,Package ID,Product Type,SKU ID,Currency of Sale,Item Price,Taxes Collected,Charged Amount,City of Buyer,State of Buyer,Postal Code of Buyer,Country of Buyer'

const GAME = { bundle_id: 'com.x', from: 'project' } as const
/** A row of a Google Play sales report. */
const sale = (
  order: string,
  { status = 'Charged', app = 'com.x', sku = 'gold', currency = 'USD', amount = '4.99' } = {},
) =>
  `${order},2024-01-01,1704110400,${status},px,Title,${app},inapp,${sku},${currency},${amount},0,${amount},City,,1,DE`

test('a Google Play report of all apps is read: rows of this app, exact amounts, refunds as positive', () => {
  const { name, purchases, errors, reasons } = read(
    [
      GOOGLE,
      sale('GPA.1', { amount: '"1,234.50"' }),
      sale('GPA.1', { sku: 'gems', currency: 'KRW', amount: '"17,500.00"' }),
      sale('GPA.1', { currency: 'KWD', amount: '-1.234', status: 'Refund' }),
      sale('GPA.2', { app: 'com.other', status: 'Unknown', amount: 'x' }),
      sale('GPA.3', { app: 'com.other' }),
      sale('GPA.4', { sku: '' }),
      sale('GPA.5', { status: 'Partial refund', amount: '-1.00' }),
      sale('GPA.6', { status: 'Chargeback', amount: '1.999' }),
    ],
    { app: GAME },
  )
  assert.equal(name, 'google_play_sales')
  assert.deepEqual(valuesOf(purchases), [
    ['GPA.1/gold', 'gold', '2024-01-01T12:00:00.000Z', 1, 123450, 'USD', 'purchased'],
    ['GPA.1/gems', 'gems', '2024-01-01T12:00:00.000Z', 1, 17500, 'KRW', 'purchased'],
    ['GPA.1/gold', 'gold', '2024-01-01T12:00:00.000Z', 1, 1234, 'KWD', 'refunded'],
  ])
  assert.deepEqual(errors.map(shortOf), ['9 Financial Status invalid', '9 Charged Amount invalid'])
  assert.deepEqual(reasons, [
    ...Array(2).fill({ reason: 'other_app', app: 'com.other' }),
    ...[{ reason: 'no_sku' }, { reason: 'partial_refund' }],
  ])
})

test('a Google Play report with other names for the app and the currency is read too', () => {
  const older = GOOGLE.replace('Package ID', 'Product ID')
  const newer = GOOGLE.replace('Currency of Sale', 'Buyer Currency').replace(
    'SKU ID',
    'SKU ID,Base Plan ID,Offer ID',
  )
  const found = [
    read([older, sale('GPA.1')]),
    read([newer, sale('GPA.1').replace('gold,', 'gold,monthly,,')], { app: GAME }),
  ]
  for (const { name, errors, purchases, passedOver } of found) {
    assert.deepEqual([name, errors, purchases.length, passedOver], ['google_play_sales', [], 1, 0])
  }
})

test('a report without any row of the app is refused, with its apps and the place of the bundle id', () => {
  const others = Array.from({ length: 12 }, (_, i) => sale(`GPA.${i}`, { app: `com.a${i + 10}` }))
  const none = read([GOOGLE, ...others], { app: GAME })
  assert.deepEqual(none.errors.map(shortOf), ['1 other_app'])
  const names = Array.from({ length: 10 }, (_, i) => `com.a${i + 10}`).join(', ')
  assert.equal(
    none.errors[0]?.message,
    `The file has no row of com.x, the bundle_id of the project. Its apps are: ${names} and 2 more`,
  )
  assert.deepEqual(read([GOOGLE], { app: GAME }).errors, [])
})

test('without a bundle id, a report of several apps is refused, and a report of one app is read', () => {
  const several = read([GOOGLE, sale('GPA.1'), sale('GPA.2', { app: 'com.y' })])
  assert.match(several.errors[0]?.message ?? '', /several apps: com\.x, com\.y\. Set bundle_id/)
  const one = read([GOOGLE, sale('GPA.1'), sale('GPA.2')])
  assert.deepEqual([one.errors, one.purchases.length], [[], 2])
})

test('counters keep at most a thousand apps, and still find the own one', () => {
  const rows = Array.from({ length: 1500 }, (_, i) => sale(`GPA.${i}`, { app: `com.a${i}` }))
  const { errors, reasons } = read([GOOGLE, ...rows, sale('GPA.x')], { app: GAME })
  assert.deepEqual(
    [errors, new Set(reasons).size, reasons.at(-1)],
    [[], 1001, { reason: 'other_app' }],
  )
})

test('a SKU map leads vendor SKUs and paid apps to items, and changes no transaction id', () => {
  const skus = parseSkus('vendor_sku,item\ngold.100,gold\ncom.x,game\nold,\n')
  const rows = [
    sale('GPA.1', { sku: 'gold.100' }),
    sale('GPA.2', { sku: '' }),
    sale('GPA.3', { sku: 'old' }),
    sale('GPA.4', { sku: 'gem' }),
  ]
  const { purchases, reasons } = read([GOOGLE, ...rows], { app: GAME, skus })
  const expected = [...[['GPA.1/gold.100', 'gold']], ['GPA.2', 'game'], ['GPA.4/gem', 'gem']]
  assert.deepEqual(valuesOf(purchases, 2), expected)
  assert.deepEqual(reasons, [{ reason: 'left_out' }])
})

test('a Google Play report without the column of its prices is refused, unless a map names another', () => {
  const unpriced = GOOGLE.replace('Charged Amount', 'Remark')

  const { errors } = read([unpriced, sale('GPA.1')], { app: GAME })
  const { name, purchases } = read([unpriced, sale('GPA.1')], {
    ...{ app: GAME, preset: 'google_play_sales', map: { price: 'Item Price' } },
  })

  const message = 'is missing: the preset google_play_sales needs it'
  assert.deepEqual(errors, [{ line: 1, column: 'Charged Amount', code: 'missing_column', message }])
  assert.deepEqual([name, valuesOf(purchases)[0]?.[4]], ['google_play_sales', 499])
})

test('--map extends a preset: a mapped field is read from its column alone', () => {
  const options = { preset: 'google_play_sales', map: { sku: 'Product Title' }, app: GAME }
  const { name, purchases } = read([GOOGLE, sale('GPA.1'), sale('GPA.2', { sku: '' })], options)
  const expected = [...[['GPA.1/gold', 'Title']], ['GPA.2', 'Title']]
  assert.deepEqual([name, valuesOf(purchases, 2)], ['google_play_sales', expected])
  const missing = read([GOOGLE], { ...options, map: { sku: 'Nope' } })
  assert.deepEqual(missing.errors.map(shortOf), ['1 Nope missing_column'])
})

test('a negative amount counts only in a refunded or cancelled row', () => {
  const statuses = ['purchased', '', 'pending', 'refunded', 'cancelled']
  for (const [price, options] of [
    ['-4.99', { priceUnit: 'major' }],
    ['-499', {}],
  ] as const) {
    const rows = statuses.map((status, i) => `T-${i},gold,1704110400,${price},${status}`)
    const { errors, purchases } = read(['transaction_id,sku,date,price,status', ...rows], options)
    const refused = [2, 3, 4].map((line) => `${line} price negative`)
    assert.deepEqual(errors.map(shortOf), refused)
    assert.deepEqual(
      purchases.map((each) => (each as { price: number }).price),
      [499, 499],
    )
  }
  const charge = read([GOOGLE, sale('GPA.1', { amount: '-4.99' })])
  assert.deepEqual(charge.errors.map(shortOf), ['2 Charged Amount negative'])
})

const REVENUECAT =
  'rc_original_app_user_id,product_identifier,start_time,store_transaction_id,is_sandbox,purchased_currency,price_in_purchased_currency,refunded_at,renewal_number'

test('RevenueCat ids include the renewal, times are UTC, and a refund keeps its price', () => {
  const header = `${REVENUECAT},rc_last_seen_app_user_id_alias,purchase_price_in_purchased_currency`
  const at = '2024-01-01 10:00:00'
  const anonymous = '$RCAnonymousID:87c6'
  const rows = [
    header,
    `u1,pass,${at},1000,false,EUR,0,,1,,4.99`,
    `u1,pass,2024-02-01 10:00:00,1000,false,EUR,0,2024-02-03 00:00:00,2,u9,4.99`,
    `u2,pass,${at},2000,true,EUR,4.99,,,,`,
    // An anonymous user gets a later id, or none.
    `${anonymous},pass,${at},2,false,EUR,4.99,,1,u2,4.99`,
    `${anonymous},pass,${at},3,false,EUR,4.99,,,${anonymous},4.99`,
  ]
  const { name, purchases, errors, passedOver } = read(rows)
  assert.deepEqual([name, errors, passedOver], ['revenuecat_transactions', [], 1])
  assert.deepEqual(valuesOf(purchases), [
    ['1000/1', 'pass', '2024-01-01T10:00:00.000Z', 'u1', 1, 499, 'EUR', 'purchased'],
    ['1000/2', 'pass', '2024-02-01T10:00:00.000Z', 'u1', 1, 499, 'EUR', 'refunded'],
    ['2/1', 'pass', '2024-01-01T10:00:00.000Z', 'u2', 1, 499, 'EUR', 'purchased'],
    ['3', 'pass', '2024-01-01T10:00:00.000Z', 1, 499, 'EUR', 'purchased'],
  ])
  const sandbox = read(rows, { is_sandbox: true })
  assert.deepEqual([sandbox.purchases.length, sandbox.passedOver], [1, 4])
  const without = read([REVENUECAT, `u1,pass,${at},1000,false,EUR,4.99,,1`])
  assert.deepEqual(valuesOf(without.purchases), valuesOf(purchases).slice(0, 1))
})

test('Stripe payments are read in UTC with the SKU of their metadata; test payments belong to sandbox stores, and nothing unpaid is imported', () => {
  const rows = [
    'id,Created (UTC),Amount,Currency,Status,Mode,Customer ID,sku (metadata)',
    'pi_1,2023-01-15 10:22,20.00,usd,Paid,Live,cus_1,gold',
    'pi_2,2023-01-15 10:22,20.00,usd,Paid,Test,,gold',
    'pi_3,2023-01-15 10:22:33,2000,jpy,Refunded,Live,,gold',
    'pi_4,2023-01-15 10:22,20.00,usd,Incomplete,Live,,',
    'pi_5,2023-01-15 10:22,20.00,usd,Requires payment method,Live,,gold',
    'ch_6,2023-01-15 10:22,20.00,usd,Failed,Live,,',
    'ch_7,2023-01-15 10:22,20.00,usd,Blocked,Live,cus_1,gold',
    'ch_8,2023-01-15 10:22,20.00,usd,Disputed,Live,,gold',
  ]
  const { name, purchases, errors, reasons } = read(rows)
  assert.deepEqual([name, errors], ['stripe_payments', []])
  assert.deepEqual(valuesOf(purchases), [
    ['pi_1', 'gold', '2023-01-15T10:22:00.000Z', 'cus_1', 1, 2000, 'USD', 'purchased'],
    ['pi_3', 'gold', '2023-01-15T10:22:33.000Z', 1, 2000, 'JPY', 'refunded'],
    ['ch_7', 'gold', '2023-01-15T10:22:00.000Z', 'cus_1', 1, 2000, 'USD', 'cancelled'],
    ['ch_8', 'gold', '2023-01-15T10:22:00.000Z', 1, 2000, 'USD', 'purchased'],
  ])
  assert.deepEqual(pluck(reasons, 'reason'), ['other_environment', 'unpaid', 'unpaid', 'no_sku'])
  const sandbox = read(rows, { is_sandbox: true })
  assert.deepEqual([sandbox.purchases.length, sandbox.passedOver], [1, 7])
  const paid = ['id,Created date (UTC),Amount,Currency,Status,sku (metadata)']
  const without = read([...paid, 'pi_4,2024-01-15 10:22,20.00,usd,Paid,'])
  assert.deepEqual(without.errors.map(shortOf), ['2 sku (metadata) required'])
})

test("a Shopify order's cells apply to its further line items, and prices are unit prices", () => {
  const { name, purchases, errors, reasons } = read([
    'Name,Email,Financial Status,Paid at,Currency,Created at,Lineitem quantity,Lineitem name,Lineitem price,Lineitem sku,Cancelled at,Refunded Amount,Id',
    '#1001,a@b.c,paid,2024-01-15 10:22:33 -0500,EUR,2024-01-15 10:22:30 -0500,3,Gold,4.99,gold,,0.00,551',
    '#1001,a@b.c,,,,,1,Gems,0.99,gems,,,',
    '#1002,x@b.c,pending,,EUR,2024-01-16 10:00:00 +0100,1,Tip,4.99,,,0.00,552',
    '#1002,x@b.c,,,,,1,Gold,4.99,gold,,,',
    '#1003,x@b.c,paid,2024-01-17 10:00:00 UTC,EUR,2024-01-17 10:00:00 UTC,1,Gold,4.99,gold,2024-01-18 10:00:00 UTC,0.00,553',
    '#1004,x@b.c,refunded,2024-01-17 10:00:00 UTC,EUR,2024-01-17 10:00:00 UTC,2,Gold,4.99,gold,,9.98,554',
  ])
  assert.deepEqual([name, errors, reasons], ['shopify_orders', [], [{ reason: 'no_sku' }]])
  assert.deepEqual(valuesOf(purchases), [
    ['551/1', 'gold', '2024-01-15T15:22:33.000Z', 3, 1497, 'EUR', 'purchased'],
    ['551/2', 'gems', '2024-01-15T15:22:33.000Z', 1, 99, 'EUR', 'purchased'],
    ['552/2', 'gold', '2024-01-16T09:00:00.000Z', 1, 499, 'EUR', 'pending'],
    ['553/1', 'gold', '2024-01-17T10:00:00.000Z', 1, 499, 'EUR', 'cancelled'],
    ['554/1', 'gold', '2024-01-17T10:00:00.000Z', 2, 998, 'EUR', 'refunded'],
  ])
})

/** Columns of reports without purchases, and the reasons for which they are refused. */
const reports: readonly (readonly [header: string, message: RegExp])[] = [
  [
    'Provider\tSKU\tTitle\tProduct Type Identifier\tUnits\tDeveloper Proceeds',
    /App Store sales report has no transaction ids/,
  ],
  [
    'Start Date\tVendor Identifier\tQuantity\tPartner Share\tExtended Partner Share',
    /financial report has no transaction ids/,
  ],
  [
    'sep=,\nSteam Sales\n\n"Bundle(ID#)","Product(ID#)","Gross Units Sold","Net Units Sold"',
    /Steam sales report has no transaction ids/,
  ],
  [
    'Description,Transaction Date,Transaction Type,Sku Id,Amount (Merchant Currency)',
    /earnings report: import the estimated sales report/,
  ],
  ['id,Type,Amount,Net,Currency,Created (UTC)', /balance report: import the payments export/],
  ['balance_transaction_id,created,gross,net,reporting_category', /balance report: import the pay/],
]

test('reports without purchases are refused by name', () => {
  for (const [header, message] of reports) {
    const { purchases, errors } = read([header])
    assert.deepEqual([purchases, errors.map(shortOf)], [[], ['1 unsupported_file']], header)
    assert.match(errors[0]?.message ?? '', message)
  }
})

const FITS = '; the header fits the preset google_play_sales'
/** Headers of which columns are missing, and the mistakes of line 1. */
const incomplete: { readonly [what: string]: [string[], Partial<LayoutOptions>, string[]] } = {
  'a mapped column': [
    ['Order', 'sku', 'date'],
    { map: { transaction_id: 'Order No' } },
    ['Order No is missing: the map gives it for transaction_id'],
  ],
  'two columns beside a map': [
    GOOGLE.split(','),
    { map: { sku: 'Product Title' } },
    [
      `transaction_id is missing: the header needs one column named transaction_id or purchase_id or order_id${FITS}`,
      `purchased_at is missing: the header needs one column named purchased_at or date or created_at${FITS}`,
    ],
  ],
  'a column of the most similar preset': [
    GOOGLE.split(',').filter((column) => column !== 'SKU ID'),
    {},
    ['SKU ID is missing: the file is most similar to the preset google_play_sales'],
  ],
  'columns of a chosen preset': [
    ['id', 'Amount'],
    { preset: 'stripe_payments' },
    ['Created date (UTC)', 'Status', 'sku (metadata)', 'Currency'].map(
      (column) => `${column} is missing: the preset stripe_payments needs it`,
    ),
  ],
  'the currency of prices, for which that of the store would be a guess': [
    REVENUECAT.split(',').filter((column) => column !== 'purchased_currency'),
    {},
    ['purchased_currency is missing: the preset revenuecat_transactions needs it'],
  ],
}
test('a file that lacks columns is refused by its header', () => {
  for (const [what, [header, options, expected]] of Object.entries(incomplete)) {
    const found = findLayout(header, { ...STORE, ...options })
    assert.ok(Array.isArray(found))
    assert.deepEqual(
      found.map(({ column, message }) => `${column} ${message}`),
      expected,
      what,
    )
    for (const { line, code } of found) assert.deepEqual([line, code], [1, 'missing_column'])
  }
})

test("columns named like a report's are the file's own", () => {
  const map = { transaction_id: 't', sku: 'Code', purchased_at: 'd' }
  const header = 'line,column,code,message,t,d'
  const own = read([header, '1,,gold,,7,2024-01-01T00:00:00Z', ',,gold,,,', ',,,,,'], { map })
  assert.deepEqual(
    [own.purchases.map((each) => Object.values(each).slice(0, 2)), own.errors.map(shortOf)],
    [[['7', 'gold']], ['3 t required', '3 d required', '4 empty_row']],
  )
})

test('columns may have other names, and all others are listed as ignored', () => {
  const headers: [string[], ignored: string[]][] = [
    [['Order_ID ', 'SKU', 'date', 'ip address', '', ' '], ['ip address']],
    [['purchase_id', 'item', 'Purchased_At'], []],
    [['Transaction_ID', 'Product_ID', ' created_at '], []],
    [
      ['order_id', 'item_name', 'date', 'email', 'Card Number'],
      ['email', 'Card Number'],
    ],
    [REVENUECAT.split(','), []],
  ]
  for (const [header, ignored] of headers) {
    const found = findLayout(header, STORE)
    assert.ok('read' in found)
    assert.deepEqual(found.ignored, ignored)
  }
  for (const [twice, column] of [
    [['order_id', 'sku', 'date', 'transaction_id'], 'transaction_id'],
    [['order_id', 'sku', 'date', 'SKU'], 'SKU'],
  ] as const) {
    const refused = findLayout([...twice], STORE)
    assert.ok(Array.isArray(refused))
    assert.deepEqual([refused[0]?.column, refused[0]?.code], [column, 'duplicate_column'])
  }
})

test('without a preset, a comma that may be a decimal mark is refused', () => {
  const map = { price: 'Betrag' }
  for (const price of ['1,500', '4,99', '1.234,50']) {
    const rows = ['transaction_id;sku;date;Betrag', `7;gold;2024-01-01T00:00:00Z;${price}`]
    const { errors } = read(rows, { map, priceUnit: 'major' })
    assert.deepEqual([errors.length, errors[0]?.column], [1, 'Betrag'], price)
    assert.match(errors[0]?.message ?? '', /the decimal mark must be a point$/)
  }
})
