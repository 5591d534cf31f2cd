import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findLayout, type Layout, type LayoutOptions } from '../../lib/csv/layout.ts'
import { createPurchaseParser } from '../../lib/csv/purchase-parser.ts'
import type { NewPurchase } from '../../lib/domain/purchase.ts'
import type { ErrorDetail } from '../../lib/errors.ts'

const STORE: LayoutOptions = { is_sandbox: false, currency: 'USD' }

/** A file's purchases without empty fields, its errors, and the number of rows passed over. */
function read(lines: readonly string[], options: Partial<LayoutOptions> = {}) {
  const purchases: object[] = []
  const errors: ErrorDetail[] = []
  let passedOver = 0
  let name = ''
  let columns: Layout['columns'] = {}
  const rules = { currency: 'USD' }
  const parser = createPurchaseParser(
    rules,
    { ...STORE, ...options },
    {
      layout: (layout) => {
        ;({ name, columns } = layout)
      },
      purchase: (purchase) => purchases.push(withoutEmpty(purchase)),
      badRow: ({ purchase: { line }, mistakes }) => {
        for (const { field, ...mistake } of mistakes) {
          errors.push({ line, column: columns[field] ?? field, ...mistake })
        }
      },
      passedOver: () => passedOver++,
      error: (error) => errors.push(error),
    },
  )
  parser.push(Buffer.from(lines.join('\n')))
  parser.end()
  return { name, purchases, errors, passedOver }
}

function withoutEmpty({ line: _, metadata: __, ...purchase }: NewPurchase): object {
  return JSON.parse(
    JSON.stringify({ ...purchase, purchased_at: new Date(purchase.purchased_at).toISOString() }),
  )
}

function shortOf({ line, column, code }: ErrorDetail): string {
  return [line, column, code].filter((part) => part !== undefined).join(' ')
}

const GOOGLE =
  'Order Number,Order Charged Date,Order Charged Timestamp,Financial Status,Device Model,Product Title,Package ID,Product Type,SKU ID,Currency of Sale,Item Price,Taxes Collected,Charged Amount,City of Buyer,State of Buyer,Postal Code of Buyer,Country of Buyer'

test('a Google Play sales report is read by its own columns with exact amounts and no buyer', () => {
  const { name, purchases, errors } = read([
    GOOGLE,
    'GPA.1-1,2024-01-01,1704110400,Charged,px,"Gold, 100",com.x,inapp,gold,USD,"1,200.00",34.50,"1,234.50",Berlin,,1,DE',
    'GPA.1-1,2024-01-01,1704110400,Charged,px,Gems,com.x,inapp,gems,JPY,500,0,500,Kyoto,,1,JP',
    'GPA.1-2,2024-01-02,1704196800,Refund,px,Gems,com.x,inapp,gems,KWD,-1.234,0,-1.234,Kuwait,,1,KW',
  ])
  assert.deepEqual([name, errors], ['google_play_sales', []])
  const common = { quantity: 1, status: 'purchased', purchased_at: '2024-01-01T12:00:00.000Z' }
  assert.deepEqual(purchases, [
    { ...common, transaction_id: 'GPA.1-1/gold', sku: 'gold', price: 123450, currency: 'USD' },
    { ...common, transaction_id: 'GPA.1-1/gems', sku: 'gems', price: 500, currency: 'JPY' },
    {
      ...common,
      transaction_id: 'GPA.1-2/gems',
      sku: 'gems',
      price: 1234,
      currency: 'KWD',
      status: 'refunded',
      purchased_at: '2024-01-02T12:00:00.000Z',
    },
  ])
})

test('an older Google Play report, with Product ID for Package ID, is read in the same way', () => {
  const { name, errors } = read([
    GOOGLE.replace('Package ID', 'Product ID'),
    'GPA.1,2024-01-01,1704110400,Charged,px,Gold,com.x,inapp,gold,USD,1,0,1.00,B,,1,DE',
  ])
  assert.deepEqual([name, errors], ['google_play_sales', []])
})

test('an unknown financial status or amount is an error of its own column', () => {
  const { purchases, errors } = read([
    GOOGLE,
    'GPA.1,2024-01-01,1704110400,Chargeback,px,Gold,com.x,inapp,gold,USD,1,0,1.999,B,,1,DE',
  ])
  assert.deepEqual(purchases, [])
  assert.deepEqual(
    errors.map(({ line, column }) => [line, column]),
    [
      [2, 'Financial Status'],
      [2, 'Charged Amount'],
    ],
  )
})

const REVENUECAT =
  'rc_original_app_user_id,product_identifier,start_time,store_transaction_id,is_sandbox,purchased_currency,price_in_purchased_currency,refunded_at,renewal_number'

test('RevenueCat ids include the renewal, times are UTC, and sandbox rows are passed over', () => {
  const rows = [
    REVENUECAT,
    'u1,pass,2024-01-01 10:00:00,1000,false,EUR,4.99,,1',
    'u1,pass,2024-02-01 10:00:00,1000,false,EUR,4.99,2024-02-03 00:00:00,2',
    'u2,pass,2024-02-01 10:00:00,2000,true,EUR,4.99,,',
  ]
  const { name, purchases, errors, passedOver } = read(rows)
  assert.deepEqual([name, errors, passedOver], ['revenuecat_transactions', [], 1])
  const common = { sku: 'pass', user_id: 'u1', quantity: 1, price: 499, currency: 'EUR' }
  assert.deepEqual(purchases, [
    {
      ...common,
      transaction_id: '1000/1',
      purchased_at: '2024-01-01T10:00:00.000Z',
      status: 'purchased',
    },
    {
      ...common,
      transaction_id: '1000/2',
      purchased_at: '2024-02-01T10:00:00.000Z',
      status: 'refunded',
    },
  ])
  const sandbox = read(rows, { is_sandbox: true })
  assert.deepEqual([sandbox.purchases.length, sandbox.passedOver], [1, 2])
})

test('Stripe payments are read in UTC, with the SKU from their metadata', () => {
  const { name, purchases, errors } = read([
    'id,Created date (UTC),Amount,Amount Refunded,Currency,Status,Customer ID,sku (metadata)',
    'pi_1,2024-01-15 10:22,20.00,0.00,usd,Paid,cus_1,gold',
    'pi_2,2024-01-15 10:22:33,2000,2000,jpy,Refunded,,gold',
    'pi_3,2024-01-15 10:22,20.00,0.00,usd,Failed,cus_1,gold',
    'pi_4,2024-01-15 10:22,20.00,0.00,usd,Paid,cus_1,',
  ])
  assert.equal(name, 'stripe_payments')
  assert.deepEqual(
    purchases.map((each) => Object.values(each)),
    [
      ['pi_1', 'gold', '2024-01-15T10:22:00.000Z', 'cus_1', 1, 2000, 'USD', 'purchased'],
      ['pi_2', 'gold', '2024-01-15T10:22:33.000Z', 1, 2000, 'JPY', 'refunded'],
      ['pi_3', 'gold', '2024-01-15T10:22:00.000Z', 'cus_1', 1, 2000, 'USD', 'cancelled'],
    ],
  )
  assert.deepEqual(errors, [
    { line: 5, column: 'sku (metadata)', code: 'required', message: 'is required' },
  ])
})

test("a Shopify order's cells apply to its further line items, and prices are unit prices", () => {
  const { name, purchases, errors } = read([
    'Name,Email,Financial Status,Paid at,Currency,Created at,Lineitem quantity,Lineitem name,Lineitem price,Lineitem sku,Cancelled at,Refunded Amount,Id',
    '#1001,a@b.c,paid,2024-01-15 10:22:33 -0500,EUR,2024-01-15 10:22:30 -0500,3,Gold,4.99,gold,,0.00,551',
    '#1001,a@b.c,,,,,1,Gems,0.99,gems,,,',
    '#1002,x@b.c,pending,,EUR,2024-01-16 10:00:00 +0100,1,Gold,4.99,gold,,0.00,552',
    '#1003,x@b.c,paid,2024-01-17 10:00:00 UTC,EUR,2024-01-17 10:00:00 UTC,1,Gold,4.99,gold,2024-01-18 10:00:00 UTC,0.00,553',
  ])
  assert.deepEqual([name, errors], ['shopify_orders', []])
  assert.deepEqual(
    purchases.map((each) => Object.values(each)),
    [
      ['551/1', 'gold', '2024-01-15T15:22:33.000Z', 3, 1497, 'EUR', 'purchased'],
      ['551/2', 'gems', '2024-01-15T15:22:33.000Z', 1, 99, 'EUR', 'purchased'],
      ['552/1', 'gold', '2024-01-16T09:00:00.000Z', 1, 499, 'EUR', 'pending'],
      ['553/1', 'gold', '2024-01-17T10:00:00.000Z', 1, 499, 'EUR', 'cancelled'],
    ],
  )
})

test('an App Store summary sales report is refused with the reason', () => {
  const header =
    'Provider\tProvider Country\tSKU\tDeveloper\tTitle\tVersion\tProduct Type Identifier\tUnits\tDeveloper Proceeds'
  const { purchases, errors } = read([header, 'APPLE\tUS\tx\ty\tz\t1\tIA1\t1\t0.7'])
  assert.deepEqual(purchases, [])
  assert.deepEqual([errors.length, errors[0]?.code], [1, 'unsupported_file'])
  assert.match(errors[0]?.message ?? '', /no transaction ids/)
})

test('any other file is read by a map and its price unit', () => {
  const map = { transaction_id: 'Order No', sku: 'Artikel', purchased_at: 'When', price: 'Betrag' }
  const rows = ['Order No;Artikel;When;Betrag;SKU', '7;gold;2024-01-01T00:00:00Z;4.99;other']
  const { name, purchases, errors } = read(rows, { map, priceUnit: 'major' })
  assert.deepEqual([name, errors], ['canonical', []])
  assert.deepEqual(
    purchases.map((each) => Object.values(each)),
    [['7', 'gold', '2024-01-01T00:00:00.000Z', 1, 499, 'USD', 'purchased']],
  )
})

test('a mapped column that the file lacks is named', () => {
  const found = findLayout(['Order', 'sku', 'date'], {
    ...STORE,
    map: { transaction_id: 'Order No' },
  })
  assert.ok(Array.isArray(found))
  assert.deepEqual(found[0], {
    line: 1,
    column: 'Order No',
    code: 'missing_column',
    message: 'is missing: the map gives it for transaction_id',
  })
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

test('for an unknown header the missing columns of the most similar preset are listed', () => {
  const almost = GOOGLE.split(',').filter((column) => column !== 'SKU ID')
  const found = findLayout(almost, STORE)
  assert.ok(Array.isArray(found))
  assert.deepEqual(
    found.map(({ column, message }) => [column, message]),
    [['SKU ID', 'is missing: the file is most similar to the preset google_play_sales']],
  )
})

test('the missing columns of a chosen preset are listed', () => {
  const found = findLayout(['id', 'Amount'], { ...STORE, preset: 'stripe_payments' })
  assert.ok(Array.isArray(found))
  assert.deepEqual(
    found.map(({ column }) => column),
    ['Created date (UTC)', 'Status', 'sku (metadata)'],
  )
})

test('two columns for one field are refused, and other columns are listed as ignored', () => {
  const twice = findLayout(['order_id', 'sku', 'date', 'transaction_id'], STORE)
  assert.ok(Array.isArray(twice))
  assert.deepEqual([twice[0]?.column, twice[0]?.code], ['transaction_id', 'duplicate_column'])
  const other = findLayout(['Order_ID ', 'SKU', 'date', 'ip address'], STORE)
  assert.ok('read' in other)
  assert.deepEqual(other.ignored, ['ip address'])
})

test('after a bad header no row is reported', () => {
  const { errors } = read(['sku,date', 'gold,2024-01-01T00:00:00Z,too,wide', '"a"b,'])
  assert.deepEqual(
    errors.map(({ line, code }) => [line, code]),
    [[1, 'missing_column']],
  )
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

test('columns that a preset uses but does not store are not listed as ignored', () => {
  const found = findLayout(REVENUECAT.split(','), STORE)
  assert.ok('read' in found)
  assert.deepEqual(found.ignored, [])
})

test('columns without a name are not listed as ignored', () => {
  const found = findLayout(['transaction_id', 'sku', 'date', 'ip', '', ' '], STORE)
  assert.ok('ignored' in found)
  assert.deepEqual(found.ignored, ['ip'])
})
