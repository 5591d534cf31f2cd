import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { config, parseObject } from '../../lib/domain/fields.ts'
import {
  bundleId,
  currency,
  deepLinkScheme,
  freeForm,
  linkUrl,
  list,
  oneOf,
  optional,
  type Rule,
  required,
  text,
} from '../../lib/domain/rules.ts'
import {
  isPrivateUrl,
  replaceConfig,
  showWebhookUrl,
  webhookSecret,
  webhookUrl,
} from '../../lib/domain/webhook-settings.ts'
import type { ErrorDetail, TillError } from '../../lib/errors.ts'
import { problemsOf, shown } from '../support/domain/problems.ts'
import { character, fc } from '../support/seeds.ts'

describe('parseObject', () => {
  const fields = { name: required(text(1, 5)), size: optional(oneOf(['s', 'm'])) }

  test('refuses every unknown field, and names the known ones', () => {
    const input = JSON.parse('{"name":"a","sise":"s","constructor":1,"__proto__":{}}')

    const unknown = ['sise: unknown', 'constructor: unknown', '__proto__: unknown']
    assert.deepEqual(
      problemsOf(() => parseObject(input, fields)),
      unknown,
    )
    assert.throws(() => parseObject({ name: 'a', sise: 's' }, fields), {
      message: 'sise is unknown. The fields are name, size',
    })
  })

  test('names the first three bad fields in its message, and counts all of them', () => {
    const bad = { code: 'invalid_request', kind: 'invalid' }
    const two = { ...bad, message: '2 fields are invalid: name, size' }
    assert.throws(() => parseObject({ size: 'xl' }, fields), two)
    const long = 'x'.repeat(1000)
    const four = { ...bad, message: `4 fields are invalid: a, b, ${long.slice(0, 63)}…, …` }
    assert.throws(() => parseObject({ a: 1, b: 2, [long]: 3 }, fields), four)
    assert.throws(() => parseObject({}, fields), { message: 'name is required' })
    for (const input of [undefined, null, 'text', 7, true, [], [{ name: 'a' }]]) {
      assert.throws(() => parseObject(input, fields), { message: 'The input must be an object' })
    }
  })

  test('counts more unknown fields than a call may have arguments', () => {
    const input = Object.fromEntries(Array.from({ length: 200_000 }, (_, i) => [`f${i}`, 1]))
    assert.throws(() => parseObject({ ...input, name: 'a' }, fields), {
      message: '200000 fields are invalid: f0, f1, f2, …',
    })
  })

  test('lists the first hundred bad fields, and the total number', () => {
    const rules = Object.fromEntries(Array.from({ length: 150 }, (_, i) => [`f${i}`, fields.name]))

    assert.throws(
      () => parseObject({}, rules),
      ({ details, total, message }: TillError) =>
        `${details.at(99)?.field} ${details.length} ${total}: ${message}` ===
        'f99 100 150: 150 fields are invalid: f0, f1, f2, …',
    )
  })
})

const LONE_SURROGATES = ['\ud800', 'a\udc00b', '\udc00\ud800']

describe('text', () => {
  const short = text(1, 3)
  const smile = '\u{1F600}'
  rule('of 0 to 3 characters', text(0, 3), [''], ['a\0', 1, true, {}, ['a'], null])
  rule('of 1 to 3', short, ['abc', smile.repeat(3), '\u0001\n'], ['', 'abcd', smile.repeat(4)])
  rule('of whole characters', text(1, 9), [], LONE_SURROGATES)
  const plain = text(1, 3, { control: false })
  rule('without control characters', plain, ['a b'], ['\n', 'a\u001f', '\u007f', '\u0085'])

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

describe('a rule for', () => {
  rule(
    'a bundle id',
    bundleId,
    ['com.example', 'a.b', '1.2', 'com.my-game_2.x', 'A.B', `com.${'a'.repeat(151)}`],
    [
      ...['', 'com', '.com', 'com.', 'com..game', 'com.ga me', 'com.gäme', 'com.a/b'],
      ...['com.example\n', ' com.example', 7, null, ['com.example'], `com.${'a'.repeat(152)}`],
    ],
  )
  rule(
    'a deep link scheme',
    deepLinkScheme,
    ['', 'mygame', 'mygame://', 'My-Game.2+x', 'a', `a${'b'.repeat(254)}`],
    ['mygame:', 'mygame:///', '1game', '-game', 'my game', 'gäme', `a${'b'.repeat(255)}`, 7],
  )
  rule(
    'a currency',
    currency,
    ['USD'],
    ['usd', 'US', 'USDT', 'US1', 'USD\n', ' USD', '', 840, ['USD']],
  )
  rule(
    'a link, which is no script',
    linkUrl,
    ['https://a/b', 'http://a', 'mygame://done', 'mygame:done'],
    [
      ...['', '/done', 'done', 'javascript:alert(1)', 'JavaScript:alert(1)', 7],
      ...['data:text/html,x', 'vbscript:x', ' java\nscript:alert(1)'],
    ],
  )
  rule(
    'a new webhook_url that no parser or terminal reads otherwise',
    webhookUrl,
    [
      ...['http://a', 'https://example.com/hook?x=1', 'HTTPS://EXAMPLE.COM'],
      ...['https://bücher.example/грн', "https://a/it's"],
    ],
    [
      ...['', '/hook', 'example.com', 'ftp://a', 'javascript:alert(1)', 'https://'],
      ...[7, null, 'https://a/\ud800', 'https://a/\0'],
      // Credentials can look like the host.
      ...['https://shop.example@evil.example/', 'https://a:b@evil.example/'],
      ...['https://:b@evil.example/', 'https:shop.example@evil.example'],
      // URL parsers read a backslash as a slash, and remove some characters.
      ...['https://evil.example\\@shop.example/', 'https:\\\\evil.example'],
      ...['https://shop.exam\nple/', ' https://a', 'https://a/ ', 'https://a/\tb'],
      ...['https://a/\u001b[2J', 'https://a/\u009b2J', 'https://a/\u202egpj.exe'],
    ],
  )
  rule(
    'a webhook_secret: text, and after whsec_ base64, which libraries can decode',
    webhookSecret,
    [
      ...['x', 'a secret\n', 'WHSEC_', 'whsec', 'whs_1', 'x'.repeat(1024)],
      ...['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', 'whsec_YQ==', 'whsec_+/8='],
    ],
    [
      ...['', 'x'.repeat(1025), 7, null, '\0'],
      ...['whsec_', 'whsec_YQ', 'whsec_YQ=', 'whsec_-_8=', 'whsec_YWJj\n'],
      ...[' whsec_YWJj', 'whsec_YW Jj', 'whsec_YWJjZ', 'whsec_YQ==YQ=='],
    ],
  )
  rule(
    'a list of at most two',
    list(currency, 2),
    [[], ['USD', 'EUR']],
    [['USD', 'EUR', 'RUB'], 'USD', {}, { length: 0 }, null],
  )
})

test('a shown URL is ASCII, with the punycode of letters that look like Latin ones', () => {
  for (const [url, shown] of [
    ['https://shоp.example/hook', 'https://xn--shp-ted.example/hook'],
    ['https://evil.example\\@shop.example/', 'https://evil.example/@shop.example/'],
    ['HTTPS://Shop.Example/\u202eß\n', 'https://shop.example/%E2%80%AE%C3%9F'],
    ['', ''],
  ] as const) {
    assert.equal(showWebhookUrl(url), shown)
  }
})

test('a webhook_url that was stored before its rule is kept, and the same is refused as a new one', () => {
  const webhook_url = 'https://user:word@shop.example/\u202e'
  const sent = { webhook_url, other: 1 }
  assert.deepEqual(replaceConfig('config', { webhook_url }, sent, []), sent)
  assert.deepEqual(
    problemsOf(() => replaceConfig('config', {}, sent, [])),
    ['config.webhook_url: invalid'],
  )
})

test('a configuration keeps unknown keys, and names each bad known key by its path', () => {
  const rule = config({ webhook_url: linkUrl, currency })
  const inherited = config({ constructor: currency, toString: currency })
  const rows: [rule: Rule<unknown>, value: unknown, ...problems: string[]][] = [
    [rule, { currency: 'USD', anything: [{ else: null }] }],
    [rule, { webhook_url: 'ftp', currency: '' }, 'f.webhook_url: invalid', 'f.currency: invalid'],
    [rule, { webhook_url: null, currency: null }],
    [rule, { currency: 7, x: '\0' }, 'f: invalid'], // only its free-form content
    [inherited, {}],
    [inherited, JSON.parse('{"toString":1}'), 'f.toString: invalid'],
  ]
  for (const [rule, value, ...expected] of rows) assert.deepEqual(problems(rule, value), expected)
})

describe('a free-form object', () => {
  const shared = { a: 1 }
  const good = [
    {},
    { a: [1, 'b', true, false, null, {}, []], 'c d': { e: 0.5 } },
    JSON.parse('{"":1,"__proto__":{"a":1},"constructor":2,"日本 \\ud83d\\ude00":3}'),
    { a: [9007199254740991, -9007199254740991] },
    Object.create(null),
    { a: shared, b: [shared, shared] },
    { a: '\u0001\u007f\u2028' },
  ]
  class Point {
    x = 1
  }
  const ring: Record<string, unknown> = {}
  ring.a = { b: [ring] }
  const mirror: unknown[] = []
  mirror.push(mirror)
  let doubled = {}
  for (let level = 0; level < 30; level++) doubled = { a: doubled, b: doubled }
  const notJson = [undefined, 1n, Symbol('b'), new Date(0), new Map(), new Uint8Array(2)]
  const bad = [
    ...[[], 'text', 1, null, new Date(0), { toJSON: () => ({}) }],
    ...[9007199254740992, [-9007199254740992], 1e300, Infinity, Number.NaN].map((a) => ({ a })),
    ...[['b\0'], { 'b\0': 1 }, [{ b: 'c\ud800' }], { '\udc00': 1 }].map((a) => ({ a })),
    ...[...notJson, new Point()].map((a) => ({ a })),
    ...[ring, { a: mirror }],
    doubled, // it would be written as a billion values
  ]
  rule('JSON that every database keeps', freeForm, good, bad)

  const shapes = [
    { shape: 'objects', open: '{"a":', close: '}' },
    { shape: 'arrays', open: '[', close: ']' },
  ]
  for (const { shape, open, close } of shapes) {
    // The object itself is the first level.
    const nested = (depth: number, value: string) =>
      JSON.parse(`{"a":${open.repeat(depth - 1)}${value}${close.repeat(depth - 1)}}`)
    rule(
      `${shape} at most 32 deep`,
      freeForm,
      [nested(32, '"scalars are no level"')],
      [nested(33, '1'), nested(32, '{}'), nested(100_000, '1')],
    )
  }

  // {"a":""} takes 8 bytes.
  rule(
    'at most 64 KiB',
    freeForm,
    [{ a: 'x'.repeat(65_536 - 8) }, { a: 'é'.repeat(32_768 - 4) }],
    [
      ...['x'.repeat(65_536 - 7), 'é'.repeat(32_768 - 3), '\n'.repeat(32_768 - 3)],
      Array(100_000).fill(0),
    ].map((a) => ({ a })),
  )

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

/** Tests a rule with values that it accepts unchanged, and with values that it refuses. */
function rule(
  what: string,
  rule: Rule<unknown>,
  good: readonly unknown[],
  bad: readonly unknown[],
): void {
  test(`${what} accepts and refuses`, () => {
    for (const value of good) {
      const found: ErrorDetail[] = []
      assert.deepEqual(rule(value, 'f', found), value)
      assert.deepEqual(found, [], shown(value))
    }
    for (const value of bad) assert.deepEqual(problems(rule, value), ['f: invalid'], shown(value))
  })
}

test('a webhook URL is private if it is http, or if its host is local or a private address', () => {
  const hosts = [
    ...['localhost', 'a.localhost', 'LOCALHOST.', '127.0.0.1', '0x7f.1', '2130706433', '0.0.0.0'],
    ...['10.1.2.3', '172.16.0.1', '172.31.0.1', '192.168.1.1', '169.254.169.254', '100.64.0.1'],
    ...['[::1]', '[::]', '[::ffff:10.0.0.1]', '[fd00::1]', '[fe80::1]'],
  ]
  const open = [
    ...['shop.example', '8.8.8.8', '172.32.0.1', '100.128.0.1', '[2001:db8::1]', '10.example'],
    ...['localhost.example', '1270.example', '11.0.0.1'],
  ]
  for (const host of hosts) assert.ok(isPrivateUrl(`https://${host}/hook`), host)
  for (const host of open) assert.ok(!isPrivateUrl(`https://${host}/hook`), host)
  assert.ok(isPrivateUrl('http://shop.example/') && !isPrivateUrl(''))
})
