import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { parseMinorUnits, parseNewItem } from '../../lib/domain/item.ts'
import { character, fc } from '../support/seeds.ts'
import { problemsOf } from './problems.ts'

const input = {
  store_id: 'main',
  name: 'gold',
  display_name: 'Gold',
  price: '499',
  type: 'consumable',
}

describe('parseNewItem', () => {
  test('fills in defaults', () => {
    assert.deepEqual(parseNewItem(input), { ...input, price: 499, description: '', meta: {} })
  })

  test('returns all known fields', () => {
    const meta = { tags: ['a', ['b']], nested: { deep: null } }
    const sent = { ...input, description: 'Shiny', meta }

    assert.deepEqual(parseNewItem(sent), { ...input, price: 499, description: 'Shiny', meta })
  })

  test('refuses metadata in place of meta, and an id', () => {
    assert.deepEqual(
      problemsOf(() => parseNewItem({ ...input, metadata: {}, id: 'itm_mine' })),
      ['metadata: unknown', 'id: unknown'],
    )
  })

  const good: [string, Record<string, unknown>][] = [
    ['a name of 255 characters', { name: 'a'.repeat(255) }],
    ['a name of letters, digits and underscores', { name: '_Gold_100' }],
    ['a store_id of 64 characters', { store_id: 'a'.repeat(64) }],
    ['a store_id with - and _', { store_id: '-a_B-9' }],
    ['a display_name of any script', { display_name: '金 \u{1F600} <b>' }],
    ['a display_name of 255 characters outside the BMP', { display_name: '\u{1F600}'.repeat(255) }],
    ['an empty description', { description: '' }],
    ['a description of 4096 characters', { description: 'x'.repeat(4096) }],
    ['a description of several lines', { description: 'a\r\n\tb' }],
    ['a price of 0', { price: '0' }],
    ['the greatest price', { price: '9007199254740991' }],
    ['type non_consumable', { type: 'non_consumable' }],
    ['type subscription', { type: 'subscription' }],
    ['an empty meta', { meta: {} }],
  ]
  for (const [what, change] of good) {
    test(`accepts ${what}`, () => {
      assert.deepEqual(
        problemsOf(() => parseNewItem({ ...input, ...change })),
        [],
      )
    })
  }

  const bad: [string, Record<string, unknown>, string][] = [
    ['no store_id', { store_id: undefined }, 'store_id: required'],
    ['an empty store_id', { store_id: '' }, 'store_id: invalid'],
    ['a store_id of 65 characters', { store_id: 'a'.repeat(65) }, 'store_id: invalid'],
    ['a store_id with a dot', { store_id: 'a.b' }, 'store_id: invalid'],
    ['a store_id with a slash', { store_id: 'a/b' }, 'store_id: invalid'],
    ['a store_id and a line end', { store_id: 'main\n' }, 'store_id: invalid'],
    ['a store_id that is a number', { store_id: 7 }, 'store_id: invalid'],
    ['no name', { name: undefined }, 'name: required'],
    ['an empty name', { name: '' }, 'name: invalid'],
    ['a name of 256 characters', { name: 'a'.repeat(256) }, 'name: invalid'],
    ['a name with a space', { name: 'gold coin' }, 'name: invalid'],
    ['a name with a dash', { name: 'gold-coin' }, 'name: invalid'],
    ['a name that is not Latin', { name: 'золото' }, 'name: invalid'],
    ['a name with digits that are not ASCII', { name: 'gold１' }, 'name: invalid'],
    ['a name and a line end', { name: 'gold\n' }, 'name: invalid'],
    ['a name that is an array', { name: ['gold'] }, 'name: invalid'],
    ['a name that is null', { name: null }, 'name: invalid'],
    ['no display_name', { display_name: undefined }, 'display_name: required'],
    ['an empty display_name', { display_name: '' }, 'display_name: invalid'],
    ['a display_name of 256', { display_name: 'x'.repeat(256) }, 'display_name: invalid'],
    ['a display_name with U+0000', { display_name: 'a\0' }, 'display_name: invalid'],
    ['a display_name cut in a surrogate', { display_name: 'a\ud83d' }, 'display_name: invalid'],
    ['a description of 4097', { description: 'x'.repeat(4097) }, 'description: invalid'],
    ['a description that is null', { description: null }, 'description: invalid'],
    ['a description with U+0000', { description: '\0' }, 'description: invalid'],
    ['no price', { price: undefined }, 'price: required'],
    ['a price that is a number', { price: 499 }, 'price: invalid'],
    ['a price that is a big integer', { price: 499n }, 'price: invalid'],
    ['an empty price', { price: '' }, 'price: invalid'],
    ['a price in major units', { price: '4.99' }, 'price: invalid'],
    ['a price with a comma', { price: '4,99' }, 'price: invalid'],
    ['a negative price', { price: '-1' }, 'price: invalid'],
    ['a price with a sign', { price: '+1' }, 'price: invalid'],
    ['a price with a space', { price: ' 499' }, 'price: invalid'],
    ['a price with an exponent', { price: '1e3' }, 'price: invalid'],
    ['a price in hexadecimal', { price: '0x10' }, 'price: invalid'],
    ['a price with a currency', { price: '499 USD' }, 'price: invalid'],
    ['a price in other digits', { price: '４９９' }, 'price: invalid'],
    ['a price above 2^53−1', { price: '9007199254740992' }, 'price: invalid'],
    ['a price far above 2^53−1', { price: '9'.repeat(400) }, 'price: invalid'],
    ['no type', { type: undefined }, 'type: required'],
    ['an unknown type', { type: 'rental' }, 'type: invalid'],
    ['a type in capitals', { type: 'Consumable' }, 'type: invalid'],
    ['a type that is an array', { type: ['consumable'] }, 'type: invalid'],
    ['a meta that is an array', { meta: [] }, 'meta: invalid'],
    ['a meta that is text', { meta: '{}' }, 'meta: invalid'],
    ['a meta that is null', { meta: null }, 'meta: invalid'],
    ['a meta of more than 64 KiB', { meta: { a: 'x'.repeat(65_536) } }, 'meta: invalid'],
    ['a meta with U+0000', { meta: { a: ['\0'] } }, 'meta: invalid'],
    ['a meta with too big an integer', { meta: { a: 2 ** 53 } }, 'meta: invalid'],
  ]
  for (const [what, change, problem] of bad) {
    test(`refuses ${what}`, () => {
      assert.deepEqual(
        problemsOf(() => parseNewItem({ ...input, ...change })),
        [problem],
      )
    })
  }

  test('names all bad fields at once', () => {
    assert.deepEqual(
      problemsOf(() => parseNewItem({ name: '', price: 499, description: 7, meta: [] })),
      [
        'store_id: required',
        'name: invalid',
        'display_name: required',
        'description: invalid',
        'price: invalid',
        'type: required',
        'meta: invalid',
      ],
    )
  })

  test('explains the format of a price', () => {
    assert.throws(() => parseNewItem({ ...input, price: 4.99 }), {
      message: 'price must be a string of digits, in minor units up to 2^53−1: "499" for 4.99',
    })
  })
})

describe('parseMinorUnits', () => {
  test('returns the number, as long as it is exact', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 2n ** 54n }), (amount) => {
        const exact = amount < 2n ** 53n ? Number(amount) : undefined

        assert.equal(parseMinorUnits(String(amount)), exact)
      }),
    )
  })

  test('accepts leading zeros', () => {
    assert.equal(parseMinorUnits('000499'), 499)
  })

  test('accepts only digits', () => {
    fc.assert(
      fc.property(fc.string({ unit: character }), (text) => {
        assert.equal(parseMinorUnits(text) !== undefined, /^[0-9]{1,15}$/.test(text))
      }),
    )
  })
})
