import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { exponentOf } from '../../lib/domain/currency.ts'
import { readWith } from '../support/csv/layouts.ts'
import { read, shortOf } from '../support/purchase-file.ts'

const AT = '2026-05-01T10:00:00Z'
const COLUMNS = { transaction_id: 'id', sku: 'sku', purchased_at: 'at', price: 'price' }
const LAYOUT = { columns: { ...COLUMNS, currency: 'currency' }, price_unit: 'major' }

interface Priced {
  readonly price?: number
  readonly currency?: string
  readonly quantity: number
  readonly status: string
}

/** Reads one amount with a layout. Returns the minor units, or the message of the mistake. */
function amountOf(cell: string, currency: string, layout: object = { decimal: '.' }) {
  const { purchases, errors } = readWith({ ...LAYOUT, ...layout }, [
    'id,sku,at,price,currency',
    `1,gold,${AT},"${cell}",${currency}`,
  ])
  return errors[0]?.message ?? (purchases[0] as Priced).price
}

const LOCALES = ['en-US', 'en-CA', 'en-GB', 'de-DE', 'fr-FR', 'ja-JP', 'pl-PL', 'sv-SE', 'pt-BR']
const CURRENCIES = ['USD', 'CAD', 'EUR', 'GBP', 'JPY', 'KWD', 'PLN', 'SEK', 'BRL', 'INR', 'KRW']

test('an amount that Intl formats in any locale is read back, with its sign or code', () => {
  const display = fc.constantFrom('narrowSymbol', 'code')
  const minor = fc.integer({ min: 0, max: 10 ** 9 })
  fc.assert(
    fc.property(
      fc.constantFrom(...LOCALES),
      fc.constantFrom(...CURRENCIES),
      display,
      minor,
      (locale, currency, currencyDisplay, units) => {
        const exponent = exponentOf(currency)
        const format = new Intl.NumberFormat(locale, {
          ...{ style: 'currency', currency, currencyDisplay },
          ...{ minimumFractionDigits: exponent, maximumFractionDigits: exponent },
        })
        const parts = format.formatToParts(units / 10 ** exponent)
        // A sign that only this locale has is another text, which is not read.
        const sign = parts.find(({ type }) => type === 'currency')?.value
        const english = new Intl.NumberFormat('en', {
          style: 'currency',
          currency,
          currencyDisplay,
        })
        const own = english.formatToParts(0).find(({ type }) => type === 'currency')?.value
        fc.pre(sign?.normalize('NFKC') === own?.normalize('NFKC'))
        const decimal = new Intl.NumberFormat(locale).formatToParts(1.5)[1]?.value
        const written = parts.map(({ value }) => value).join('')
        assert.equal(amountOf(written, currency, { decimal }), units, written)
      },
    ),
  )
})

test('a sign fits each currency that has it, and a sign of another currency is an error', () => {
  const good: readonly [cell: string, currency: string, price: number][] = [
    ['$4.99', 'USD', 499],
    ['$4.99', 'CAD', 499],
    ['CA$4.99', 'CAD', 499],
    ['US$ 4.99', 'USD', 499],
    ['4.99 €', 'EUR', 499],
    ['EUR 4.99', 'EUR', 499],
    ['$4.99 usd', 'USD', 499],
    ['+4.99', 'EUR', 499],
    ['￥1,000', 'JPY', 1000],
    ['1\u2009234.50', 'EUR', 123450],
    ['4.99 kr.', 'SEK', 499],
  ]
  for (const [cell, currency, price] of good) assert.equal(amountOf(cell, currency), price, cell)
  for (const [cell, currency] of [
    ['€4.99', 'USD'],
    ['4.99 EUR', 'USD'],
    ['$4.99', 'EUR'],
    ['$4.99 EUR', 'USD'],
    ['--4.99', 'USD'],
    ['4.99-', 'USD'],
    ['~4.99', 'USD'],
  ] as const) {
    assert.match(
      String(amountOf(cell, currency)),
      /sign or code that is not one of|is negative/,
      cell,
    )
  }
  // The currency of the store is the currency of the row.
  const { errors } = read([`transaction_id,sku,purchased_at,price`, `1,gold,${AT},€4.99`], {
    priceUnit: 'major',
  })
  assert.deepEqual(errors.map(shortOf), ['2 price invalid'])
})

test('an unclear amount asks for the decimal mark, and the example fits the currency', () => {
  const unclear = /may have decimals or thousands: give decimal in the layout/
  for (const cell of ['12,500', '12.500', '1,000', 'KWD 12,500']) {
    assert.match(String(amountOf(cell, 'KWD', {})), unclear, cell)
  }
  // Three digits after the point of these currencies are thousands, and not 15, 1.5 and 1.
  for (const [cell, currency] of [
    ['15.000', 'IDR'],
    ['1.500', 'EUR'],
    ['1.000', 'JPY'],
  ] as const) {
    assert.match(String(amountOf(cell, currency, {})), unclear, cell)
    const header = 'transaction_id,sku,purchased_at,price,currency'
    const row = `1,gold,${AT},${cell},${currency}`
    const { errors } = read([header, row], { priceUnit: 'major' })
    assert.match(errors[0]?.message ?? '', /may have decimals or thousands/, cell)
  }
  assert.match(String(amountOf('0,500', 'USD', {})), /the decimal mark must be a point$/)
  // The point of a currency's sign is no decimal mark.
  const danish = [`transaction_id,sku,purchased_at,price`, `1,gold,${AT},"kr. 1,500"`]
  const { errors } = read(danish, { priceUnit: 'major', currency: 'DKK' })
  assert.match(errors[0]?.message ?? '', /the decimal mark must be a point$/)
  for (const cell of ['.99', '4.', '٤٫٩٩']) {
    assert.match(String(amountOf(cell, 'USD')), /that USD can have, like 1234\.50$/, cell)
  }
  assert.equal(amountOf('12,500', 'KWD', { decimal: ',' }), 12_500)
  assert.equal(amountOf('12,500', 'KWD', { decimal: '.' }), 12_500_000)
  assert.equal(amountOf('1,234.500', 'KWD', {}), 1_234_500)
  assert.equal(amountOf('1,234,500', 'KWD', {}), 1_234_500_000)
  assert.equal(amountOf('12,500', 'USD', {}), 1_250_000)
  assert.equal(amountOf('1,000', 'JPY', {}), 1000)
  assert.match(String(amountOf('4.995', 'USD')), /that USD can have, like 1234\.50$/)
  assert.match(String(amountOf('4.5', 'JPY')), /that JPY can have, like 1234$/)
  assert.match(String(amountOf('4.5555', 'KWD')), /that KWD can have, like 1234\.500$/)
})

test('currencies of a file are read in any case', () => {
  const header = 'transaction_id,sku,purchased_at,price,currency'
  const { purchases, errors } = read([
    header,
    ...['usd', 'Usd', 'USD', 'uſd'].map((currency, i) => `${i},gold,${AT},499,${currency}`),
  ])
  assert.deepEqual(errors.map(shortOf), ['5 currency invalid'])
  assert.deepEqual(
    purchases.map((each) => (each as Priced).currency),
    ['USD', 'USD', 'USD'],
  )
})

const REFUNDS = {
  columns: { ...COLUMNS, quantity: 'qty', status: 'type' },
  statuses: { sale: 'purchased', refund: 'refunded' },
  price_unit: 'major',
}
const REFUND_ROWS = [
  'id,sku,at,qty,price,type',
  `1,gold,${AT},2.0,9.98,sale`,
  `2,gold,${AT},-2.00,-9.98,refund`,
  `3,gold,${AT},-1,-4.99,sale`,
  `4,gold,${AT},1,−4.99,sale`,
  `5,gold,${AT},-1,,sale`,
  `6,gold,${AT},1,-0.00,sale`,
]

test('the minus of a refund is dropped from price and quantity, and a quantity may be 2.0', () => {
  const { purchases, errors } = readWith(REFUNDS, REFUND_ROWS)
  const found = purchases.map((each) => {
    const { quantity, price, status } = each as Priced
    return [quantity, price, status]
  })
  assert.deepEqual(found, [
    [2, 998, 'purchased'],
    [2, 998, 'refunded'],
    [1, 0, 'purchased'],
  ])
  assert.deepEqual(errors.map(shortOf), [
    ...['4 qty negative', '4 price negative', '5 price negative', '6 qty negative'],
  ])
})

test('a negative amount may have brackets, a minus behind it, or marks of the direction', () => {
  const cells = [
    '(4.99)',
    '($4.99)',
    '$(4.99)',
    '4.99-',
    '4.99 $-',
    '\u200f-4.99 $',
    '\u200e-\u200e$4.99',
  ]
  const lines = cells.map((cell, i) => `${i},gold,${AT},1,${cell},refund`)
  const { purchases, errors } = readWith(REFUNDS, [REFUND_ROWS[0] ?? '', ...lines])
  assert.deepEqual(errors, [])
  assert.deepEqual(new Set(purchases.map((each) => (each as Priced).price)), new Set([499]))
  const sales = lines.map((line) => line.replace('refund', 'sale'))
  const refused = readWith(REFUNDS, [REFUND_ROWS[0] ?? '', ...sales])
  assert.deepEqual(new Set(refused.errors.map(({ code }) => code)), new Set(['negative']))
  assert.equal(amountOf('\u200e4.99\u200f', 'USD'), 499)
})

test('a layout says what rows with a negative amount are', () => {
  const refunded = readWith({ ...REFUNDS, negative: 'refunded' }, REFUND_ROWS)
  assert.deepEqual(refunded.errors, [])
  assert.deepEqual(
    refunded.purchases.map((each) => (each as Priced).status),
    ['purchased', 'refunded', 'refunded', 'refunded', 'refunded', 'purchased'],
  )
  const skipped = readWith({ ...REFUNDS, negative: 'skip' }, REFUND_ROWS)
  assert.deepEqual([skipped.errors, skipped.purchases.length], [[], 3])
  assert.deepEqual(skipped.reasons, Array(3).fill({ reason: 'negative' }))

  const { transaction_id, sku, purchased_at } = COLUMNS
  const noAmount = { columns: { transaction_id, sku, purchased_at }, negative: 'skip' }
  assert.throws(() => readWith(noAmount, []), { code: 'invalid_request' })
})

test('words of other programs for a status are read in canonical files', () => {
  const words = ['completed', 'complete', 'paid', 'success', 'succeeded', 'canceled', 'cancelled']
  const header = 'transaction_id,sku,purchased_at,status'
  const { purchases } = read([header, ...words.map((word, i) => `${i},gold,${AT},${word}`)])
  assert.deepEqual(
    purchases.map((each) => (each as Priced).status),
    [...Array(5).fill('purchased'), 'cancelled', 'cancelled'],
  )
})

test('number_repeats numbers equal ids for each status', () => {
  const layout = {
    ...REFUNDS,
    columns: { ...REFUNDS.columns, transaction_id: ['id', 'sku'] },
    number_repeats: true,
  }
  const row = (id: string, type: string) => `${id},gold,${AT},1,4.99,${type}`
  const { purchases } = readWith(layout, [
    'id,sku,at,qty,price,type',
    ...[
      row('A', 'sale'),
      row('B', 'sale'),
      row('A', 'sale'),
      row('A', 'refund'),
      row('A', 'refund'),
    ],
  ])
  assert.deepEqual(
    purchases.map((each) => (each as { transaction_id: string }).transaction_id),
    ['A/gold', 'B/gold', 'A/gold/2', 'A/gold', 'A/gold/2'],
  )
})
