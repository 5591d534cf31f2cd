import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  compareRepeat,
  type NewPurchase,
  PURCHASE_FIELDS,
  PURCHASE_STATUSES,
  type PurchaseCells,
  type PurchaseRules,
  type PurchaseStatus,
  parsePurchase,
} from '../../lib/domain/purchase.ts'

const AT = Date.UTC(2024, 2, 1, 12, 34, 56)
const ANY: PurchaseRules = {}
const NONE = {
  transaction_id: '',
  sku: '',
  purchased_at: '',
  user_id: '',
  quantity: '',
  price: '',
  currency: '',
  status: '',
  metadata: '',
  expires_at: '',
}
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
  test('accepts a row with only the required cells', () => {
    assert.deepEqual(parse(cells), { parsed: purchase, problems: [] })
  })

  test('accepts a row with all cells', () => {
    const all = {
      ...cells,
      user_id: 'player',
      quantity: '3',
      price: '499',
      currency: 'EUR',
      status: 'refunded',
      metadata: '{"a":[1,{"b":null}]}',
    }

    assert.deepEqual(parse(all).parsed, {
      ...purchase,
      user_id: 'player',
      quantity: 3,
      price: 499,
      currency: 'EUR',
      status: 'refunded',
      metadata: { a: [1, { b: null }] },
    })
  })

  const good: [string, Partial<PurchaseCells>, Partial<NewPurchase>][] = [
    [
      'an id of 255 characters outside the BMP',
      { transaction_id: '\u{1F600}'.repeat(255) },
      { transaction_id: '\u{1F600}'.repeat(255) },
    ],
    ['an id with its spaces', { transaction_id: ' a b ' }, { transaction_id: ' a b ' }],
    ['Unix seconds', { purchased_at: '1709296496' }, {}],
    ['Unix milliseconds', { purchased_at: '1709296496789' }, { purchased_at: AT + 789 }],
    ['a zone', { purchased_at: '2024-03-01T14:34:56+02:00' }, {}],
    ['a user of 255 characters', { user_id: 'x'.repeat(255) }, { user_id: 'x'.repeat(255) }],
    ['the quantity 1', { quantity: '1' }, {}],
    ['the quantity 1,000,000', { quantity: '1000000' }, { quantity: 1_000_000 }],
    ['a price of 0', { price: '0', currency: 'USD' }, { price: 0, currency: 'USD' }],
    [
      'the maximum price',
      { price: '9007199254740991', currency: 'USD' },
      { price: 9007199254740991, currency: 'USD' },
    ],
    ['a currency without a price', { currency: 'USD' }, { currency: 'USD' }],
    ...PURCHASE_STATUSES.map((status): [string, object, object] => [
      `the status ${status}`,
      { status },
      { status },
    ]),
    ['metadata of any keys', { metadata: '{"":0}' }, { metadata: { '': 0 } }],
    ['metadata with spaces around', { metadata: ' { } ' }, {}],
  ]
  for (const [what, sent, expected] of good) {
    test(`accepts ${what}`, () => {
      assert.deepEqual(parse({ ...cells, ...sent }), {
        parsed: { ...purchase, ...expected },
        problems: [],
      })
    })
  }

  const bad: [string, Partial<PurchaseCells>, ...string[]][] = [
    ['no transaction_id', { transaction_id: '' }, 'transaction_id: required'],
    ['256 characters', { transaction_id: 'x'.repeat(256) }, 'transaction_id: invalid'],
    ['256 outside the BMP', { sku: '\u{1F600}'.repeat(256) }, 'sku: invalid'],
    ['U+0000', { transaction_id: 'a\0' }, 'transaction_id: invalid'],
    ['a lone surrogate', { sku: '\ud800' }, 'sku: invalid'],
    ['no sku', { sku: '' }, 'sku: required'],
    ['a user of 256 characters', { user_id: 'x'.repeat(256) }, 'user_id: invalid'],
    ['a user with U+0000', { user_id: '\0' }, 'user_id: invalid'],
    ['no time', { purchased_at: '' }, 'purchased_at: required'],
    ['a time without a zone', { purchased_at: '2024-03-01T12:34:56' }, 'purchased_at: invalid'],
    ['30 February', { purchased_at: '2024-02-30T00:00:00Z' }, 'purchased_at: invalid'],
    ['nine digits of seconds', { purchased_at: '170929649' }, 'purchased_at: invalid'],
    ['the quantity 0', { quantity: '0' }, 'quantity: invalid'],
    ['the quantity 1,000,001', { quantity: '1000001' }, 'quantity: invalid'],
    ['a negative quantity', { quantity: '-1' }, 'quantity: invalid'],
    ['half of one', { quantity: '1.5' }, 'quantity: invalid'],
    ['a quantity with an exponent', { quantity: '1e3' }, 'quantity: invalid'],
    ['a quantity with a space', { quantity: ' 1' }, 'quantity: invalid'],
    ['a price in major units', { price: '4.99', currency: 'USD' }, 'price: invalid'],
    ['a price with a comma', { price: '4,99', currency: 'USD' }, 'price: invalid'],
    ['a negative price', { price: '-499', currency: 'USD' }, 'price: invalid'],
    ['a price with a sign', { price: '$499', currency: 'USD' }, 'price: invalid'],
    ['a price above 2^53−1', { price: '9007199254740992', currency: 'USD' }, 'price: invalid'],
    ['a price without a currency', { price: '499' }, 'currency: required'],
    ['a currency in small letters', { price: '499', currency: 'usd' }, 'currency: invalid'],
    ['a bad currency without a price', { currency: 'US' }, 'currency: invalid'],
    ['an unknown status', { status: 'paid' }, 'status: invalid'],
    ['a status in capitals', { status: 'Purchased' }, 'status: invalid'],
    ['a status that every object inherits', { status: 'constructor' }, 'status: invalid'],
    ['metadata that is not JSON', { metadata: '{a:1}' }, 'metadata: invalid'],
    ['metadata cut short', { metadata: '{"a":' }, 'metadata: invalid'],
    ['metadata that is a list', { metadata: '[]' }, 'metadata: invalid'],
    ['metadata that is null', { metadata: 'null' }, 'metadata: invalid'],
    ['metadata with U+0000', { metadata: '{"a":"\\u0000"}' }, 'metadata: invalid'],
    ['metadata with a lone surrogate', { metadata: '{"\\ud800":1}' }, 'metadata: invalid'],
    [
      'metadata with too big an integer',
      { metadata: '{"a":9007199254740992}' },
      'metadata: invalid',
    ],
    ['metadata too big for a number', { metadata: '{"a":1e999}' }, 'metadata: invalid'],
    [
      'metadata 33 deep',
      { metadata: `${'{"a":'.repeat(33)}1${'}'.repeat(33)}` },
      'metadata: invalid',
    ],
    [
      'metadata 100,000 deep',
      { metadata: `{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}` },
      'metadata: invalid',
    ],
    [
      'several errors at once',
      {
        transaction_id: '',
        sku: '',
        purchased_at: 'x',
        user_id: '\0',
        quantity: '0',
        price: 'x',
        currency: 'x',
        status: 'x',
        metadata: 'x',
      },
      'transaction_id: required',
      'sku: required',
      'purchased_at: invalid',
      'user_id: invalid',
      'quantity: invalid',
      'price: invalid',
      'currency: invalid',
      'status: invalid',
      'metadata: invalid',
    ],
  ]
  for (const [what, sent, ...problems] of bad) {
    test(`refuses ${what}`, () => {
      assert.deepEqual(parse({ ...cells, ...sent }), { parsed: undefined, problems })
    })
  }

  const hints: [
    field: 'transaction_id' | 'user_id' | 'purchased_at' | 'price',
    cell: string,
    RegExp,
  ][] = [
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
  for (const [field, cell, expected] of hints) {
    test(`explains the likely mistake in the ${field} ${JSON.stringify(cell)}`, () => {
      const reported: string[] = []
      parsePurchase({ ...cells, currency: 'USD', [field]: cell }, 7, ANY, (...mistake) =>
        reported.push(mistake.join(' ')),
      )

      assert.equal(reported.length, 1)
      assert.match(reported[0] ?? '', new RegExp(`^${field} invalid `))
      assert.match(reported[0] ?? '', expected)
    })
  }

  test('accepts ids with a plus or an exponent that Excel has not rounded', () => {
    const ids = ['1E17', 'a+b', '+49123', 'E+17', '12E+1', '1.2E+17x', '1E+5', '4e+7', '1.2E+10']
    for (const id of [...ids, '1.2e+17', '1E+017', '-1E+17', '1E+100']) {
      assert.deepEqual(parse({ ...cells, transaction_id: id, user_id: id }).problems, [])
    }
  })

  test('omits a bad cell from the purchase, so that the rest can be validated', () => {
    const bad = { user_id: '\0', quantity: '0', price: 'x', status: 'x', metadata: '[]' }
    const left = parsePurchase({ ...cells, ...bad, currency: 'x' }, 7, ANY, () => {})
    assert.deepEqual(left, {
      ...purchase,
      user_id: undefined,
      price: undefined,
      currency: undefined,
      expires_at: undefined,
    })
  })

  const usd: PurchaseRules = { currency: 'USD' }
  const currencies: [string, PurchaseRules, Partial<PurchaseCells>, object | string][] = [
    ["the store's, with a price", usd, { price: '1' }, { price: 1, currency: 'USD' }],
    ['none without a price', usd, {}, {}],
    ["the row's own", usd, { price: '1', currency: 'EUR' }, { price: 1, currency: 'EUR' }],
  ]
  for (const [what, rules, sent, expected] of currencies) {
    test(`the currency is ${what}`, () => {
      const outcome = parse({ ...cells, ...sent }, rules)

      const good = typeof expected === 'object'
      assert.deepEqual(outcome.problems, good ? [] : [expected])
      assert.deepEqual(outcome.parsed, good ? { ...purchase, ...expected } : undefined)
    })
  }
})

describe('compareRepeat', () => {
  const stored = { sku: 'gold', user_id: 'player', price: 499, currency: 'USD', quantity: 2 }
  const { user_id: _user, ...withoutUser } = stored
  const { price: _price, currency: _currency, ...withoutPrice } = stored
  const { currency: _, ...withoutCurrency } = stored

  const steps: Record<PurchaseStatus, Record<PurchaseStatus, string>> = {
    pending: {
      pending: 'skipped',
      purchased: 'updated',
      refunded: 'updated',
      cancelled: 'updated',
    },
    purchased: {
      pending: 'skipped',
      purchased: 'skipped',
      refunded: 'updated',
      cancelled: 'updated',
    },
    refunded: {
      pending: 'skipped',
      purchased: 'skipped',
      refunded: 'skipped',
      cancelled: 'conflict',
    },
    cancelled: {
      pending: 'skipped',
      purchased: 'skipped',
      refunded: 'conflict',
      cancelled: 'skipped',
    },
  }
  for (const from of PURCHASE_STATUSES) {
    for (const to of PURCHASE_STATUSES) {
      test(`${to} after ${from} is ${steps[from][to]}`, () => {
        const repeat = compareRepeat({ ...stored, status: from }, { ...stored, status: to })

        assert.equal(repeat.outcome, steps[from][to])
        if (repeat.outcome === 'conflict') assert.equal(repeat.field, 'status')
      })
    }
  }

  const silent: [string, object][] = [
    ['user_id', withoutUser],
    ['price,currency', withoutPrice],
    ['currency', withoutCurrency],
  ]
  for (const [missing, part] of silent) {
    test(`a missing value is not another one: ${missing}`, () => {
      const status = 'purchased'
      const whole = { ...stored, status } as const
      const lacking = { ...part, status } as NewPurchase

      assert.deepEqual(compareRepeat(whole, lacking), { outcome: 'skipped', unequal: [] })
      const fields = missing.split(',')
      assert.deepEqual(compareRepeat(lacking, whole), {
        outcome: 'skipped',
        unequal: fields.map((field) => ({ field, stored: 'missing' })),
      })
    })
  }

  const conflicts: [string, object, object][] = [
    ['sku', stored, { ...stored, sku: 'gem' }],
    ['user_id', stored, { ...stored, user_id: 'other' }],
    ['price', stored, { ...stored, price: 500 }],
    ['currency', stored, { ...stored, currency: 'EUR' }],
    ['quantity', stored, { ...stored, quantity: 1 }],
    ['sku', stored, { ...stored, sku: 'gem', quantity: 1, price: 1 }],
  ]
  for (const [field, before, after] of conflicts) {
    test(`another ${field} is a conflict, whatever the status: ${JSON.stringify(after)}`, () => {
      for (const status of PURCHASE_STATUSES) {
        const known = { ...before, status: 'pending' } as NewPurchase
        const sent = { ...after, status } as NewPurchase

        assert.deepEqual(compareRepeat(known, sent), { outcome: 'conflict', field })
      }
    })
  }
})

/** The purchase without its undefined fields. */
function withoutEmpty(parsed: NewPurchase): Partial<NewPurchase> {
  const there = Object.entries(parsed).filter(([, value]) => value !== undefined)
  return Object.fromEntries(there)
}

function parse(sent: PurchaseCells, rules = ANY) {
  const found = new Map<string, string>()
  const parsed = parsePurchase(sent, 7, rules, (field, code) => {
    assert.equal(found.has(field), false, `${field} is reported twice`)
    found.set(field, `${field}: ${code}`)
  })
  const problems = PURCHASE_FIELDS.flatMap((field) => found.get(field) ?? [])
  return { parsed: problems.length === 0 ? withoutEmpty(parsed) : undefined, problems }
}
