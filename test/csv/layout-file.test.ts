import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { parseLayoutChoice, readWith } from '../support/csv/layouts.ts'
import { shortOf } from '../support/purchase-file.ts'
import { failureOf } from '../support/till.ts'

const PAYMENTS = {
  columns: {
    transaction_id: ['Transaction ID', 'Line'],
    sku: 'Item ID',
    user_id: 'Custom Number',
    purchased_at: ['Date', 'Time'],
    price: 'Gross',
    currency: 'Currency',
    status: 'Status',
  },
  statuses: { Completed: 'purchased', refunded: 'refunded' },
  price_unit: 'major',
  decimal: ',',
  date_format: 'MM/DD/YYYY',
  zone: 'America/Los_Angeles',
  currency: 'EUR',
  skip: { Type: ['General Withdrawal'], 'Item ID': [''] },
}
const HEADER =
  'Transaction ID;Line;Item ID;Custom Number;Date;Time;Gross;Currency;Status;Type;sku;Note'

const choose = (layout: object) => parseLayoutChoice({ layout }).layout

test('a layout describes the columns, words, amounts and times of any export', () => {
  const { name, purchases, errors, reasons } = readWith(PAYMENTS, [
    HEADER,
    '9A;1;gold;ann;01/31/2024;9:05:06 AM;"1.234,50";;COMPLETED;Payment;other;x',
    '9A;2;gem;;07/31/2024;21:05;"-0,99";USD;refunded;Refund;other;x',
    '9B;1;gold;;07/31/2024;21:05;"-5,00";USD;Completed;general withdrawal;other;x',
    '9C;1;;;07/31/2024;21:05;"1,00";USD;Completed;Payment;other;x',
  ])
  assert.deepEqual([name, errors], ['layout', []])
  assert.deepEqual(
    purchases.map((each) => Object.values(each)),
    [
      ['9A/1', 'gold', '2024-01-31T17:05:06.000Z', 'ann', 1, 123450, 'EUR', 'purchased'],
      ['9A/2', 'gem', '2024-08-01T04:05:00.000Z', 1, 99, 'USD', 'refunded'],
    ],
  )
  assert.deepEqual(reasons, [{ reason: 'skipped' }, { reason: 'skipped' }])
})

test('a layout reads only the columns that it names, also in the file of a known vendor', () => {
  const columns = { transaction_id: 'id', sku: 'Article', purchased_at: 'created_at' }
  const { name, purchases, errors } = readWith({ columns }, [
    'id,Created date (UTC),Amount,Status,sku (metadata),Article,created_at,price,user_id',
    'pi_1,x,x,Paid,gem,gold,2024-01-15 10:22:33 UTC,499,ann',
  ])
  assert.deepEqual([name, errors], ['layout', []])
  assert.deepEqual(
    purchases.map((each) => Object.values(each)),
    [['pi_1', 'gold', '2024-01-15T10:22:33.000Z', 1, 'purchased']],
  )
})

test('a word without a status, and a column that the file lacks, are errors', () => {
  const { errors } = readWith(PAYMENTS, [
    HEADER,
    '9A;1;gold;ann;01/31/2024;9:05;"1,00";;Pending;Payment;;',
  ])
  assert.deepEqual(errors.map(shortOf), ['2 Status invalid'])
  assert.equal(errors[0]?.message, 'must be one of completed, refunded')

  const missing = readWith(PAYMENTS, [HEADER.replace(';Time', '').replace(';Type', '')])
  assert.deepEqual(missing.errors.map(shortOf), ['1 Time missing_column', '1 Type missing_column'])
})

const MARKS: readonly [decimal: string, unit: string, cell: string, price: number | undefined][] = [
  ['.', 'major', '1,500', 150000],
  ['.', 'major', '1,50', undefined],
  [',', 'major', '1.234,50', 123450],
  [',', 'major', '1 234,5', 123450],
  [',', 'major', '4,99', 499],
  [',', 'major', '1.23', undefined],
  [',', 'major', '4.990,999', undefined],
  ['.', 'minor', '1,234', 1234],
  ['.', 'minor', '12.34', undefined],
]
test('amounts are read with the decimal mark and in the unit of the layout', () => {
  const columns = { transaction_id: 'id', sku: 'sku', purchased_at: 'at', price: 'price' }
  for (const [decimal, price_unit, cell, price] of MARKS) {
    const lines = ['id,sku,at,price', `1,gold,1704110400,"${cell}"`]
    const { purchases, errors } = readWith({ columns, decimal, price_unit }, lines)
    assert.deepEqual(
      [purchases.map((each) => (each as { price: number }).price), errors.map(shortOf)],
      price === undefined ? [[], ['2 price invalid']] : [[price], []],
      `${cell} ${decimal} ${price_unit}`,
    )
  }
})

/** Reads one time. Returns the instant, or the message of the mistake. */
function timeOf(cell: string, layout: object): string {
  const columns = { transaction_id: 'id', sku: 'sku', purchased_at: 'at' }
  const { purchases, errors } = readWith({ columns, ...layout }, ['id,sku,at', `1,gold,"${cell}"`])
  return errors[0]?.message ?? (purchases[0] as { purchased_at: string }).purchased_at
}

describe('times of a layout', () => {
  const berlin = { zone: 'Europe/Berlin' }
  const us = { date_format: 'MM/DD/YYYY', zone: 'America/New_York' }
  const times: readonly [cell: string, layout: object, time: string][] = [
    ['2024-01-15 10:00', berlin, '2024-01-15T09:00:00.000Z'],
    ['2024-07-15T10:00:00.123', berlin, '2024-07-15T08:00:00.123Z'],
    ['2024-07-15 10:00:00 UTC', berlin, '2024-07-15T10:00:00.000Z'],
    ['2024-07-15 10:00:00 -0500', berlin, '2024-07-15T15:00:00.000Z'],
    ['1704110400', berlin, '2024-01-01T12:00:00.000Z'],
    ['01/02/2024 12:00 AM', us, '2024-01-02T05:00:00.000Z'],
    ['1/2/2024 12:30:00 pm', us, '2024-01-02T17:30:00.000Z'],
    ['02/01/2024 13:00', { ...us, date_format: 'DD/MM/YYYY' }, '2024-01-02T18:00:00.000Z'],
    ['02.01.2024 13:00:05', { ...us, date_format: 'DD.MM.YYYY' }, '2024-01-02T18:00:05.000Z'],
    ['2024-01-02 13:00', { ...us, date_format: 'YYYY-MM-DD' }, '2024-01-02T18:00:00.000Z'],
    ['01/02/2024 13:00 +01:00', { date_format: 'MM/DD/YYYY' }, '2024-01-02T12:00:00.000Z'],
    // The clock repeats the hour from 2:00 to 3:00: the first one counts.
    ['2024-10-27 02:30', berlin, '2024-10-27T00:30:00.000Z'],
    ['2024-10-27 03:00', berlin, '2024-10-27T02:00:00.000Z'],
    ['2024-03-31 01:59:59', berlin, '2024-03-31T00:59:59.000Z'],
    ['2024-03-31 03:00', berlin, '2024-03-31T01:00:00.000Z'],
    ['2024-04-07 01:45', { zone: 'Australia/Lord_Howe' }, '2024-04-06T14:45:00.000Z'],
    ['1880-01-01 00:00', { zone: 'America/Los_Angeles' }, '1880-01-01T07:52:58.000Z'],
    ['2011-12-31 12:00', { zone: 'Pacific/Apia' }, '2011-12-30T22:00:00.000Z'],
  ]
  test('are read in its format and zone', () => {
    for (const [cell, layout, time] of times) assert.equal(timeOf(cell, layout), time, cell)
  })

  const bad: readonly [cell: string, layout: object, message: RegExp][] = [
    ['2024-03-31 02:30', berlin, /does not exist: the clock of Europe\/Berlin skips it/],
    ['2011-12-30 12:00', { zone: 'Pacific/Apia' }, /the clock of Pacific\/Apia skips it/],
    ['2024-02-30 10:00', berlin, /does not exist/],
    ['2024-01-15 10:00', {}, /has no zone/],
    ['01/15/2024 10:00', { date_format: 'MM/DD/YYYY' }, /has no zone: name it in the layout/],
    ['15/01/2024 10:00', us, /does not exist/],
    ['01/15/2024 13:00 PM', us, /does not exist/],
    ['01/15/2024 10', us, /must be a time like MM\/DD\/YYYY or MM\/DD\/YYYY HH:MM:SS/],
    ['01/15/2024 10:00 JST', us, /ends with JST, which is no known zone: .* zone in the layout/],
    ['01/15/2024 10:00 +0100 UTC', us, /must be a time like/],
    ['01/15/2024 10:00 CST', { ...us, zone: 'Asia/Shanghai' }, /the zone is Asia\/Shanghai/],
    ['2011-12-30', { zone: 'Pacific/Apia' }, /the clock of Pacific\/Apia skips it/],
    ['2024-01-15', {}, /has no time of day and no zone/],
    ['01/15/24 10:00', us, /must be a time like/],
    [`01/15/2024 ${'1'.repeat(100_000)}`, us, /must be a time like/],
    ['', us, /is required/],
  ]
  test('are refused with the reason', () => {
    for (const [cell, layout, message] of bad) assert.match(timeOf(cell, layout), message)
  })
})

test('all mistakes of a layout are named at once, with their keys', async () => {
  const layout = {
    columns: { transaction_id: [], sku: 7, price: ['a', 'b'], prize: 'x' },
    statuses: { a: 'paid' },
    decimal: ';',
    date_format: 'MM/DD/MM',
    zone: 'Mars/Olympus',
    currency: 'usd',
    skip: { Type: 'x' },
    price_units: 'major',
  }
  const { code, details } = await failureOf((async () => choose(layout))())
  assert.equal(code, 'invalid_request')
  assert.deepEqual(
    details.map(({ field, code }) => `${field} ${code}`),
    [
      'layout.price_units unknown',
      'layout.columns.prize unknown',
      'layout.columns.transaction_id invalid',
      'layout.columns.sku invalid',
      'layout.columns.price invalid',
      'layout.statuses.a invalid',
      'layout.decimal invalid',
      'layout.date_format invalid',
      'layout.zone invalid',
      'layout.currency invalid',
      'layout.skip.Type invalid',
    ],
  )
})

const REQUIRED = { transaction_id: 'id', sku: 'sku', purchased_at: 'at' }
const proto = '{"columns":{"transaction_id":"a","sku":"b","purchased_at":"c","__proto__":"d"}}'
const refused: readonly [choice: object, field: string][] = [
  [{ columns: REQUIRED, statuses: {} }, 'layout.statuses'], // no column has a status
  [{ columns: REQUIRED, skip: { a: ['x'.repeat(65_536)] } }, 'layout'],
  [{ columns: { ...REQUIRED, transaction_id: [...'abcde'] } }, 'layout.columns.transaction_id'],
  [[], 'layout'],
  [JSON.parse(proto), 'layout.columns.__proto__'],
]
test('a layout that is too large, or contradicts itself, is refused', () => {
  for (const [layout, field] of refused) {
    assert.throws(
      () => choose(layout),
      (error: { details: { field: string }[] }) => error.details[0]?.field === field,
      field,
    )
  }
})

test('a layout excludes a preset, a map and a price unit', () => {
  for (const other of [
    { preset: 'stripe_payments' },
    { map: { sku: 'x' } },
    { priceUnit: 'major' },
  ]) {
    assert.throws(() => parseLayoutChoice({ layout: { columns: REQUIRED }, ...other }), {
      code: 'invalid_request',
      message: /has no use with a layout/,
    })
  }
})

test('words like __proto__ and constructor are words', () => {
  const json =
    '{"columns":{"transaction_id":"id","sku":"sku","purchased_at":"at","status":"s"},"statuses":{"__proto__":"refunded","ok":"purchased"},"skip":{"__proto__":["constructor"]}}'
  const { purchases, errors, passedOver } = readWith(JSON.parse(json), [
    'id,sku,at,s,__proto__',
    '1,gold,1704110400,__proto__,x',
    '2,gold,1704110400,ok,constructor',
    '3,gold,1704110400,constructor,x',
  ])
  assert.deepEqual(
    purchases.map((each) => Object.values(each).at(-1)),
    ['refunded'],
  )
  assert.deepEqual([passedOver, errors.map(shortOf)], [1, ['4 s invalid']])
})

test('the layouts of docs/import.md read files of Gumroad, and refunds of PayPal', () => {
  const page = readFileSync('docs/import.md', 'utf8')
  const layouts = [...page.matchAll(/```json\n(.*?)```/gs)].map(([, json = '']) => JSON.parse(json))
  const { purchases, errors, passedOver } = readWith(layouts[0], [
    'Purchase ID,Product ID,Purchase Time (UTC timezone),Sale Price ($),Fully Refunded?,Quantity,Free trial purchase?,Pre-order authorization?',
    'p1,gold,2024-01-15 10:22:33 UTC,9.99,0,1,0,0',
    'p2,gold,2024-01-15 10:22:33 UTC,9.99,1,1,0,0',
    'p3,gold,2024-01-15 10:22:33 UTC,0.0,0,1,1,0',
  ])
  assert.deepEqual([errors, passedOver], [[], 1])
  assert.deepEqual(
    purchases.map((each) => Object.values(each)),
    [
      ['p1', 'gold', '2024-01-15T10:22:33.000Z', 1, 999, 'USD', 'purchased'],
      ['p2', 'gold', '2024-01-15T10:22:33.000Z', 1, 999, 'USD', 'refunded'],
    ],
  )
  const refunds = parseLayoutChoice({ layout: layouts[1], refundsOnly: true })
  assert.equal(refunds.layout?.name, 'layout')
})
