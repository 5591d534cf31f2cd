import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  bundleId,
  config,
  currency,
  deepLinkScheme,
  freeForm,
  isText,
  linkUrl,
  list,
  oneOf,
  optional,
  parseObject,
  type Rule,
  required,
  text,
} from '../../lib/domain/fields.ts'
import type { ErrorDetail, TillError } from '../../lib/errors.ts'
import { character, fc } from '../support/seeds.ts'
import { problemsOf } from './problems.ts'

describe('parseObject', () => {
  const fields = { name: required(text(1, 5)), size: optional(oneOf(['s', 'm'])) }

  test('returns the known fields', () => {
    assert.deepEqual(parseObject({ name: 'a', size: 's' }, fields), { name: 'a', size: 's' })
  })

  test('refuses every unknown field, and names the known ones', () => {
    const input = JSON.parse('{"name":"a","sise":"s","constructor":1,"__proto__":{}}')

    assert.deepEqual(
      problemsOf(() => parseObject(input, fields)),
      ['sise: unknown', 'constructor: unknown', '__proto__: unknown'],
    )
    assert.throws(() => parseObject({ name: 'a', sise: 's' }, fields), {
      message: 'sise is unknown. The fields are name, size',
    })
  })

  test('omits a missing optional field', () => {
    assert.deepEqual(parseObject({ name: 'a' }, fields), { name: 'a' })
  })

  for (const input of [undefined, null, 'text', 7, true, [], [{ name: 'a' }]]) {
    test(`refuses ${JSON.stringify(input)}, which is not an object`, () => {
      assert.deepEqual(
        problemsOf(() => parseObject(input, fields)),
        ['The input must be an object'],
      )
    })
  }

  test('names every bad field at once, and their number in its message', () => {
    const bad = { code: 'invalid_request', kind: 'invalid', message: '2 fields are invalid' }

    assert.deepEqual(
      problemsOf(() => parseObject({ size: 'xl' }, fields)),
      ['name: required', 'size: invalid'],
    )
    assert.throws(() => parseObject({ size: 'xl' }, fields), bad)
  })

  test('names a single bad field in its message', () => {
    assert.throws(() => parseObject({}, fields), { message: 'name is required' })
  })

  test('does not treat null as a missing field', () => {
    assert.deepEqual(
      problemsOf(() => parseObject({ name: null, size: null }, fields)),
      ['name: invalid', 'size: invalid'],
    )
  })

  test('lists the first hundred bad fields, and the total number', () => {
    const rules = Object.fromEntries(Array.from({ length: 150 }, (_, i) => [`f${i}`, fields.name]))

    assert.throws(
      () => parseObject({}, rules),
      (error: TillError) => {
        assert.equal(error.details.length, 100)
        assert.equal(error.total, 150)
        assert.equal(error.message, '150 fields are invalid')
        assert.equal(error.details[99]?.field, 'f99')
        return true
      },
    )
  })
})

const LONE_SURROGATES = ['\ud800', 'a\udc00b', '\udc00\ud800']

describe('text', () => {
  accepts('the empty string where it may be', text(0, 3), '')
  accepts('as many characters as there may be', text(1, 3), 'abc')
  accepts('characters outside the BMP, each as one', text(1, 3), '\u{1F600}\u{1F600}\u{1F600}')
  accepts('control characters other than U+0000', text(1, 3), '\u0001\n\u007f')
  refuses('too few', text(1, 3), '')
  refuses('too many', text(1, 3), 'abcd')
  refuses('too many outside the BMP', text(1, 3), '\u{1F600}'.repeat(4))
  refuses('U+0000', text(1, 3), 'a\0')
  for (const lone of LONE_SURROGATES) refuses('a lone surrogate', text(1, 9), lone)
  for (const other of [1, true, {}, ['a'], null]) refuses('what is no string', text(0, 9), other)

  const plain = text(1, 3, { control: false })
  accepts('text without control characters', plain, 'a b')
  for (const control of ['\n', 'a\u001f', '\u007f', '\u0085']) {
    refuses('a control character where none may be', plain, control)
  }

  test('counts code points, whatever the string', () => {
    const unit = fc.string({ unit: character, maxLength: 12 })
    fc.assert(
      fc.property(unit, fc.nat(10), (value, max) => {
        const characters = [...value].length
        const good = value.isWellFormed() && !value.includes('\0') && characters <= max

        assert.equal(problems(text(0, max), value).length === 0, good)
      }),
    )
  })
})

describe('isText', () => {
  for (const lone of LONE_SURROGATES) {
    test(`is false for the lone surrogate in ${JSON.stringify(lone)}`, () => {
      assert.equal(isText(lone), false)
    })
  }

  test('is true for a pair of surrogates, false for U+0000 and for values that are not strings', () => {
    assert.equal(isText('\ud83d\ude00'), true)
    assert.equal(isText('\0'), false)
    assert.equal(isText(new String('a')), false)
  })
})

describe('bundleId', () => {
  for (const good of ['com.example', 'com.example.game', 'a.b', '1.2', 'com.my-game_2.x', 'A.B']) {
    accepts('a reverse domain', bundleId, good)
  }
  accepts('155 characters', bundleId, `com.${'a'.repeat(151)}`)
  refuses('156 characters', bundleId, `com.${'a'.repeat(152)}`)
  for (const bad of ['', 'com', '.com', 'com.', 'com..game', 'com.ga me', 'com.gäme', 'com.a/b']) {
    refuses('another form', bundleId, bad)
  }
  for (const bad of ['com.example\n', ' com.example', 7, null, ['com.example']]) {
    refuses('another form', bundleId, bad)
  }
})

describe('deepLinkScheme', () => {
  for (const good of ['', 'mygame', 'My-Game.2+x', 'a', `a${'b'.repeat(254)}`]) {
    accepts('a URI scheme', deepLinkScheme, good)
  }
  for (const bad of ['mygame://', '1game', '-game', 'my game', 'gäme', `a${'b'.repeat(255)}`, 7]) {
    refuses('what is none', deepLinkScheme, bad)
  }
})

describe('currency', () => {
  accepts('three capitals', currency, 'USD')
  for (const bad of ['usd', 'US', 'USDT', 'US1', 'USD\n', ' USD', '', 840, ['USD']]) {
    refuses('another form', currency, bad)
  }
})

describe('linkUrl', () => {
  for (const good of ['https://a/b', 'http://a', 'mygame://done', 'mygame:done']) {
    accepts('a URL', linkUrl, good)
  }
  for (const bad of ['', '/done', 'done', 'javascript:alert(1)', 'JavaScript:alert(1)', 7]) {
    refuses('what is none, or a script', linkUrl, bad)
  }
  for (const bad of ['data:text/html,x', 'vbscript:x', ' java\nscript:alert(1)']) {
    refuses('what is none, or a script', linkUrl, bad)
  }
})

describe('list', () => {
  const currencies = list(currency, 2)
  accepts('an empty list', currencies, [])
  accepts('as many entries as there may be', currencies, ['USD', 'EUR'])
  refuses('too many', currencies, ['USD', 'EUR', 'RUB'])
  for (const other of ['USD', {}, { length: 0 }, null]) refuses('no array', currencies, other)

  test('names each bad entry by its index', () => {
    const found = problems(list(currency, 9), ['USD', 'usd', 'EUR', null])

    assert.deepEqual(found, ['f[1]: invalid', 'f[3]: invalid'])
  })
})

describe('a configuration', () => {
  const rule = config({ webhook_url: linkUrl, currency })

  test('keeps unknown keys, and all known keys are optional', () => {
    const value = { currency: 'USD', anything: [{ else: null }] }

    assert.deepEqual(rule(value, 'f', []), value)
    assert.deepEqual(problems(rule, value), [])
    assert.deepEqual(problems(rule, {}), [])
  })

  test('names each bad known key by its path', () => {
    const found = problems(rule, { webhook_url: 'ftp', currency: null })

    assert.deepEqual(found, ['f.webhook_url: invalid', 'f.currency: invalid'])
  })

  test('does not treat inherited properties as keys', () => {
    const named = config({ constructor: currency, toString: currency })

    assert.deepEqual(problems(named, {}), [])
    assert.deepEqual(problems(named, JSON.parse('{"toString":1}')), ['f.toString: invalid'])
  })

  test('reports only its invalid free-form content, if there is any', () => {
    assert.deepEqual(problems(rule, { currency: 7, x: '\0' }), ['f: invalid'])
  })
})

describe('a free-form object', () => {
  const shared = { a: 1 }
  const good: Record<string, unknown> = {
    'the empty object': {},
    'every kind of JSON value': { a: [1, 'b', true, false, null, {}, []], 'c d': { e: 0.5 } },
    'any keys': JSON.parse('{"":1,"__proto__":{"a":1},"constructor":2,"日本 \\ud83d\\ude00":3}'),
    'the greatest and the least integer': { a: [9007199254740991, -9007199254740991] },
    'fractions and small numbers': { a: [0.1, 5e-324, -1e-300, 123456789.123] },
    'an object without a prototype': Object.create(null),
    'the same object twice': { a: shared, b: [shared, shared] },
    'control characters other than U+0000': { a: '\u0001\u007f\u2028' },
  }
  for (const [what, value] of Object.entries(good)) accepts(what, freeForm, value)

  class Point {
    x = 1
  }
  const bad: Record<string, unknown> = {
    'an array': [],
    'a string': 'text',
    'a number': 1,
    null: null,
    'an integer above 2^53−1': { a: 9007199254740992 },
    'an integer below −(2^53−1)': { a: [-9007199254740992] },
    'an integer far above': { a: 1e300 },
    'an infinite number': { a: Number.POSITIVE_INFINITY },
    'not a number': { a: Number.NaN },
    'U+0000 in a string': { a: ['b\0'] },
    'U+0000 in a key': { a: { 'b\0': 1 } },
    'a lone surrogate in a string': { a: [{ b: 'c\ud800' }] },
    'a lone surrogate in a key': { a: { '\udc00': 1 } },
    undefined: { a: undefined },
    'a big integer': { a: 1n },
    'a function': { toJSON: () => ({}) },
    'a symbol': { a: Symbol('b') },
    'a date': { a: new Date(0) },
    'a map': { a: new Map() },
    bytes: { a: new Uint8Array(2) },
    'an object of a class': { a: new Point() },
    'a date as the whole': new Date(0),
  }
  for (const [what, value] of Object.entries(bad)) refuses(what, freeForm, value)

  const shapes = [
    { shape: 'objects', open: '{"a":', close: '}' },
    { shape: 'arrays', open: '[', close: ']' },
  ]
  for (const { shape, open, close } of shapes) {
    // The object itself is the first level.
    const nested = (depth: number, value: string) =>
      JSON.parse(`{"a":${open.repeat(depth - 1)}${value}${close.repeat(depth - 1)}}`)
    accepts(`${shape} 32 deep`, freeForm, nested(32, '"scalars are no level"'))
    refuses(`${shape} 33 deep`, freeForm, nested(33, '1'))
    refuses(`${shape} 33 deep, the last one empty`, freeForm, nested(32, '{}'))
    refuses(`${shape} 100,000 deep`, freeForm, nested(100_000, '1'))
  }

  test('too deep is reported as such', () => {
    const found: ErrorDetail[] = []
    freeForm(JSON.parse(`${'{"a":'.repeat(33)}1${'}'.repeat(33)}`), 'f', found)

    assert.deepEqual(found, [
      { field: 'f', code: 'invalid', message: 'must not nest more than 32 deep' },
    ])
  })

  const ring: Record<string, unknown> = {}
  ring.a = { b: [ring] }
  refuses('a ring', freeForm, ring)
  const mirror: unknown[] = []
  mirror.push(mirror)
  refuses('an array that holds itself', freeForm, { a: mirror })
  let doubled = {}
  for (let level = 0; level < 30; level++) doubled = { a: doubled, b: doubled }
  refuses('a graph that would be written out as a billion values', freeForm, doubled)

  // {"a":""} takes 8 bytes.
  accepts('64 KiB', freeForm, { a: 'x'.repeat(65_536 - 8) })
  refuses('a byte more', freeForm, { a: 'x'.repeat(65_536 - 7) })
  accepts('64 KiB of two-byte characters', freeForm, { a: 'é'.repeat(32_768 - 4) })
  refuses('two bytes more', freeForm, { a: 'é'.repeat(32_768 - 3) })
  refuses('as many escapes', freeForm, { a: '\n'.repeat(32_768 - 3) })
  refuses('a hundred thousand values', freeForm, { a: Array(100_000).fill(0) })

  test('accepts values that survive JSON, and returns them unchanged', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 4 })), (value) => {
        const object = JSON.parse(JSON.stringify(value))

        assert.equal(freeForm(object, 'f', []), object)
        assert.deepEqual(problems(freeForm, object).length === 0, isKeepable(object))
      }),
    )
  })
})

/** The rule of free-form values in a second, recursive implementation. */
function isKeepable(value: unknown): boolean {
  if (typeof value === 'string') return value.isWellFormed() && !value.includes('\0')
  if (typeof value === 'number') return !Number.isInteger(value) || Number.isSafeInteger(value)
  if (typeof value !== 'object' || value === null) return true
  return Object.entries(value).every(([key, member]) => isKeepable(key) && isKeepable(member))
}

function problems(rule: Rule<unknown>, value: unknown): string[] {
  const found: ErrorDetail[] = []
  rule(value, 'f', found)
  return found.map(({ field, code }) => `${field}: ${code}`)
}

function accepts(what: string, rule: Rule<unknown>, value: unknown): void {
  test(`accepts ${what}: ${shown(value)}`, () => {
    const found: ErrorDetail[] = []

    assert.deepEqual(rule(value, 'f', found), value)
    assert.deepEqual(found, [])
  })
}

function refuses(what: string, rule: Rule<unknown>, value: unknown): void {
  test(`refuses ${what}: ${shown(value)}`, () => {
    assert.deepEqual(problems(rule, value), ['f: invalid'])
  })
}

function shown(value: unknown): string {
  if (typeof value !== 'string') return typeof value === 'object' ? 'an object' : String(value)
  return JSON.stringify(value.length > 40 ? `${value.slice(0, 40)}…` : value)
}
