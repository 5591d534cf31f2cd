import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { parseMinorUnits, parseNewItem } from '../../lib/domain/item.ts'
import { character, fc } from '../support/seeds.ts'
import { problemsOf, testFields } from './problems.ts'

const input = {
  store_id: 'main',
  name: 'gold',
  display_name: 'Gold',
  price: '499',
  type: 'consumable',
}

describe('parseNewItem', () => {
  test('returns all known fields, and fills in defaults', () => {
    const more = { description: 'Shiny', meta: { tags: ['a', ['b']], nested: { deep: null } } }

    assert.deepEqual(parseNewItem({ ...input, ...more }), { ...input, price: 499, ...more })
    assert.deepEqual(parseNewItem(input), { ...input, price: 499, description: '', meta: {} })
  })

  test('refuses metadata in place of meta, and an id', () => {
    assert.deepEqual(
      problemsOf(() => parseNewItem({ ...input, metadata: {}, id: 'itm_mine' })),
      ['metadata: unknown', 'id: unknown'],
    )
  })

  testFields(parseNewItem, input, {
    good: {
      store_id: ['a'.repeat(64), '-a_B-9'],
      name: ['a'.repeat(255), '_Gold_100'],
      display_name: ['金 \u{1F600} <b>', '\u{1F600}'.repeat(255)],
      description: ['', 'x'.repeat(4096), 'a\r\n\tb'],
      price: ['0', '9007199254740991'],
      type: ['non_consumable', 'subscription'],
      meta: [{}],
    },
    bad: {
      store_id: [undefined, '', 'a'.repeat(65), 'a.b', 'a/b', 'main\n', 7],
      name: [undefined, '', 'a'.repeat(256), 'gold-coin', 'золото', 'gold１', 'gold\n', ['gold']],
      display_name: [undefined, '', 'x'.repeat(256), 'a\0', 'a\ud83d'],
      description: ['x'.repeat(4097), null, '\0'],
      price: [undefined, 499, 499n, '', '4.99', '-1', '+1', ' 499', '1e3', '9007199254740992'],
      type: [undefined, 'rental', 'Consumable', ['consumable']],
      meta: [[], '{}', null, { a: 'x'.repeat(65_536) }, { a: ['\0'] }, { a: 2 ** 53 }],
    },
  })

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
    assert.equal(parseMinorUnits('000499'), 499)
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 2n ** 54n }), (amount) => {
        const exact = amount < 2n ** 53n ? Number(amount) : undefined

        assert.equal(parseMinorUnits(String(amount)), exact)
      }),
    )
  })

  test('accepts only digits', () => {
    fc.assert(
      fc.property(fc.string({ unit: character }), (text) => {
        assert.equal(parseMinorUnits(text) !== undefined, /^[0-9]{1,15}$/.test(text))
      }),
    )
  })
})
