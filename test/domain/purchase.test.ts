import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  type NewPurchase,
  PURCHASE_FIELDS,
  PURCHASE_STATUSES,
  type PurchaseCells,
  type PurchaseRules,
  type PurchaseStatus,
  parsePurchase,
} from '../../lib/domain/purchase.ts'
import { compareRepeat } from '../../lib/domain/repeat.ts'

const AT = Date.UTC(2024, 2, 1, 12, 34, 56)
const ANY: PurchaseRules = {}
const NONE = Object.fromEntries(PURCHASE_FIELDS.map((field) => [field, ''])) as PurchaseCells
const cells: PurchaseCells = {
  ...NONE,
  transaction_id: 'tx',
  sku: 'gold',
  purchased_at: '2024-03-01T12:34:56Z',
}
const purchase: NewPurchase = {
  line: 7,
  transaction_id: 'tx',
  sku: 'gold',
  purchased_at: AT,
  quantity: 1,
  status: 'purchased',
  metadata: {},
}

describe('parsePurchase', () => {
  const longest = '\u{1F600}'.repeat(255)
  const good: [sent: Partial<PurchaseCells>, expected?: Partial<NewPurchase>][] = [
    [{}],
    [{ transaction_id: longest }, { transaction_id: longest }],
    [{ transaction_id: ' a b ' }, { transaction_id: ' a b ' }],
    [{ purchased_at: '1709296496' }],
    [{ purchased_at: '1709296496789' }, { purchased_at: AT + 789 }],
    [{ purchased_at: '2024-03-01T14:34:56+02:00' }],
    [{ user_id: longest }, { user_id: longest }],
    [{ quantity: '1' }],
    [{ quantity: '1000000' }, { quantity: 1_000_000 }],
    ...[0, 9007199254740991].map((price): [object, object] => [
      { price: String(price), currency: 'USD' },
      { price, currency: 'USD' },
    ]),
    [{ currency: 'USD' }, { currency: 'USD' }],
    ...PURCHASE_STATUSES.map((status): [object, object] => [{ status }, { status }]),
    [{ metadata: '{"":0}' }, { metadata: { '': 0 } }],
    [{ metadata: ' { } ' }],
  ]
  test('accepts good values of each cell, and only the required ones', () => {
    for (const [sent, expected] of good) {
      const parsed = { ...purchase, ...expected }
      assert.deepEqual(parse({ ...cells, ...sent }), { parsed, problems: [] })
    }
  })

  const bad: { readonly [field in keyof PurchaseCells]?: readonly string[] } = {
    transaction_id: ['', 'x'.repeat(256), 'a\0'],
    sku: ['', '\u{1F600}'.repeat(256), '\ud800'],
    user_id: ['x'.repeat(256), '\0'],
    purchased_at: ['', '2024-03-01T12:34:56', '2024-02-30T00:00:00Z', '170929649'],
    quantity: ['0', '1000001', '-1', '1.5', '1e3', ' 1'],
    price: ['4.99', '4,99', '-499', '$499', '9007199254740992'],
    currency: ['usd', 'US'],
    status: ['paid', 'Purchased', 'constructor'],
    metadata: [
      ...['{a:1}', '{"a":', '[]', 'null', '{"a":"\\u0000"}', '{"\\ud800":1}'],
      ...['{"a":9007199254740992}', '{"a":1e999}', `${'{"a":'.repeat(33)}1${'}'.repeat(33)}`],
      `{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}`,
      `{"a":1${' '.repeat(64 * 1024)}}`,
    ],
  }
  test('refuses bad values of each cell', () => {
    for (const [field, values] of Object.entries(bad)) {
      for (const value of values) {
        const sent = { ...cells, currency: 'USD', [field]: value }
        const code = value === '' ? 'required' : 'invalid'
        assert.deepEqual(parse(sent).problems, [`${field}: ${code}`], value.slice(0, 40))
      }
    }
    assert.deepEqual(parse({ ...cells, price: '499' }).problems, ['currency: required'])
  })

  const hints: [field: keyof PurchaseCells, cell: string, RegExp][] = [
    ['metadata', '{"a":[{},'.repeat(20_000), /must not take more than 64 KiB as JSON/], // not parsed
    ['transaction_id', '1.23457E+17', /rounded by a spreadsheet and its digits are lost/],
    ['transaction_id', '1E+11', /its digits are lost/],
    ['user_id', '1,23456789012346E+20', /its digits are lost/],
    ['purchased_at', '31/01/2026', /leaves open which is the day/],
    ['purchased_at', '31.01.26 10:00', /leaves open which is the day/],
    ['purchased_at', '46053', /day number/],
    ['purchased_at', '46053,4375', /day number/],
    ['purchased_at', '1.76984E+12', /rounded by a spreadsheet/],
    ['purchased_at', '2026-01-31', /no time of day and no zone/],
    ['purchased_at', '2026-01-31 10:00:00', /no zone \(Z for UTC\)/],
    ['purchased_at', '2026-02-30T10:00:00Z', /does not exist/],
    ['price', '4.99', /looks like major units/],
    ['price', '1,234.50', /marks between thousands/],
    ['price', '1.234', /marks between thousands, or is in major units/],
    ['price', '1\u00a0234', /marks between thousands/],
    ['price', '-499', /a refund is a status/],
    ['price', '€4.99', /has a currency sign/],
  ]
  test('explains likely mistakes', () => {
    for (const [field, cell, expected] of hints) {
      const reported: string[] = []
      parsePurchase({ ...cells, currency: 'USD', [field]: cell }, 7, ANY, (...mistake) =>
        reported.push(mistake.join(' ')),
      )

      assert.equal(reported.length, 1)
      assert.match(reported[0] ?? '', new RegExp(`^${field} invalid `))
      assert.match(reported[0] ?? '', expected)
    }
  })

  test('rejects rounded ids in any spelling, also as a part of a joined id', () => {
    const rounded = ['4.53e+15', '4.53E+15', '4,53e+15', '1E+11', '1e+017', '-1E+17', '123.4E+12']
    for (const id of [...rounded, '1E+100', '4.53e+15/gold', 'a/4.53e+15/2']) {
      const { problems } = parse({ ...cells, transaction_id: id, user_id: id })
      assert.deepEqual(problems, ['transaction_id: invalid', 'user_id: invalid'], id)
    }
  })

  test('accepts ids with a plus or an exponent that Excel has not rounded', () => {
    const ids = ['1E17', 'a+b', '+49123', 'E+17', '12E+1', '1.2E+17x', '1E+5', '4e+7', '1.2E+10']
    for (const id of [...ids, '5E12', '5e12', '1234E+17', '1E+17-a', 'a/1E+10']) {
      assert.deepEqual(parse({ ...cells, transaction_id: id, user_id: id }).problems, [])
    }
  })
})

describe('compareRepeat', () => {
  const stored = { sku: 'gold', user_id: 'player', price: 499, currency: 'USD', quantity: 2 }

  // From pending, purchased, refunded and cancelled to the same four.
  const steps: readonly (readonly string[])[] = [
    ['skipped', 'updated', 'updated', 'updated'],
    ['skipped', 'skipped', 'updated', 'updated'],
    ['skipped', 'skipped', 'skipped', 'conflict'],
    ['skipped', 'skipped', 'conflict', 'skipped'],
  ]
  const order: readonly PurchaseStatus[] = ['pending', 'purchased', 'refunded', 'cancelled']
  test('a status goes forward, and not to another final one', () => {
    for (const [row, from] of order.entries()) {
      for (const [column, to] of order.entries()) {
        const repeat = compareRepeat({ ...stored, status: from }, { ...stored, status: to })

        assert.equal(repeat.outcome, steps[row]?.[column], `${to} after ${from}`)
        if (repeat.outcome === 'conflict') assert.equal(repeat.field, 'status')
      }
    }
  })

  test('a missing value is not another one, and is filled', () => {
    for (const fields of [['user_id'], ['price', 'currency'], ['expires_at']] as const) {
      const whole = { ...stored, status: 'purchased', expires_at: 1 } as const
      const part = Object.entries(whole).filter(([name]) => !fields.includes(name as never))
      const lacking = Object.fromEntries(part) as unknown as NewPurchase

      const same = { status: 'purchased', fills: {}, unequal: [] }
      assert.deepEqual(compareRepeat(whole, lacking), { outcome: 'skipped', ...same })
      const fills = Object.fromEntries(fields.map((field) => [field, whole[field]]))
      assert.deepEqual(compareRepeat(lacking, whole), { outcome: 'updated', ...same, fills })
      const unequal = fields.map((field) => ({ field, stored: 'missing' }))
      const unfilled = compareRepeat(lacking, whole, { mayFill: false })
      assert.deepEqual(unfilled, { outcome: 'skipped', ...same, unequal })
    }
  })

  test('a currency is filled only with its price, and a price only with the same currency', () => {
    const priced = { ...stored, status: 'purchased' } as const
    const { price: _, ...unpriced } = priced
    const { currency: __, ...bare } = unpriced
    const fillsOf = (...repeat: Parameters<typeof compareRepeat>) => {
      const found = compareRepeat(...repeat)
      return found.outcome === 'conflict' ? found.field : found.fills
    }
    assert.deepEqual(fillsOf(bare, unpriced), {})
    assert.deepEqual(fillsOf(unpriced, priced), { price: 499 })
    const euros = { ...unpriced, currency: 'EUR' }
    assert.deepEqual(fillsOf(euros, priced), 'currency')
    assert.deepEqual(fillsOf(euros, priced, { comparison: 'product' }), {})
    assert.deepEqual(fillsOf({ ...bare, user_id: undefined, is_erased: true }, bare), {})
  })

  test('another value of the first different field is a conflict, whatever the status', () => {
    for (const change of [
      ...[{ sku: 'gem' }, { user_id: 'other' }, { price: 500 }, { currency: 'EUR' }],
      ...[{ quantity: 1 }, { sku: 'gem', quantity: 1, price: 1 }],
    ]) {
      const [field] = Object.keys(change)
      for (const status of PURCHASE_STATUSES) {
        const known = { ...stored, status: 'pending' } as NewPurchase
        const sent = { ...stored, ...change, status } as NewPurchase

        assert.deepEqual(compareRepeat(known, sent), { outcome: 'conflict', field })
      }
    }
  })
})

/** The purchase without its undefined fields. */
function withoutEmpty(parsed: NewPurchase): Partial<NewPurchase> {
  const there = Object.entries(parsed).filter(([, value]) => value !== undefined)
  return Object.fromEntries(there)
}

function parse(sent: PurchaseCells) {
  const found = new Map<string, string>()
  const parsed = parsePurchase(sent, 7, ANY, (field, code) => {
    assert.equal(found.has(field), false, `${field} is reported twice`)
    found.set(field, `${field}: ${code}`)
  })
  const problems = PURCHASE_FIELDS.flatMap((field) => found.get(field) ?? [])
  return { parsed: problems.length === 0 ? withoutEmpty(parsed) : undefined, problems }
}
