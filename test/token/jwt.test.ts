import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { describe, test } from 'node:test'
import * as jose from 'jose'
import { type Claims, pickClaims, readClaims } from '../../lib/token/claims.ts'
import { signToken, verifyToken } from '../../lib/token/jwt.ts'
import type { SigningKey } from '../../lib/token/key.ts'
import { character, fc } from '../support/seeds.ts'

const now = 1_800_000_000
const expected = { iss: 'tillkit', now }
const key: SigningKey = { kid: 'k2', secret: Buffer.alloc(32, 'second') }
const olderKey: SigningKey = { kid: 'k1', secret: Buffer.alloc(64, 'first') }
const keys = [key, olderKey]
const header = { alg: 'HS256', typ: 'JWT', kid: 'k2' }
const claims: Claims = {
  iss: 'tillkit',
  sub: 'user-7 é 😀',
  project_id: 'p-1',
  scope: 'items:read projects:write',
  jti: 'j-1',
  iat: now,
  exp: now + 3600,
}

describe('signToken', () => {
  test('signs no other claim', () => {
    assert.equal(signToken({ ...claims, admin: true } as Claims, key), signToken(claims, key))
  })

  const badClaims: Record<string, object> = {
    'an empty string': { sub: '' },
    'a lone surrogate': { sub: '\ud800' },
    'a fraction of a second': { exp: now + 0.5 },
    'no finite time': { exp: Number.NaN },
    'a missing claim': { jti: undefined },
    'more than the accepted length': { sub: 'x'.repeat(8192) },
  }
  test('throws for bad claims and for a bad key, and so does verifyToken', () => {
    for (const [what, change] of Object.entries(badClaims)) {
      assert.throws(() => signToken({ ...claims, ...change }, key), TypeError, what)
    }
    const kids = ['', '\udfff', 'k'.repeat(512)]
    const bad = kids.map((kid) => ({ kid, secret: Buffer.alloc(32) }))
    for (const each of [...bad, { kid: 'k', secret: Buffer.alloc(31) }]) {
      assert.throws(() => signToken(claims, each), TypeError)
      assert.throws(() => verifyToken(signToken(claims, key), [each, key], expected), TypeError)
    }
  })
})

// The tests with jose below cover keys, claims and times that jose refuses too.
describe('verifyToken', () => {
  const whole = JSON.stringify(claims)

  test('accepts JSON with white space, escapes and exponents, and omits unknown claims', () => {
    const payload = JSON.stringify({ ...claims, sub: 'a/"\\é', iat: 0, '"sub"': ['"'] }, null, 2)
      .replace('a/', '\\u0061\\/')
      .replace('"iat": 0', '"\\u0069at": 1.8e9')

    assert.deepEqual(verify(forge(header, payload)), { ...claims, sub: 'a/"\\é' })
  })

  /** Changes of the JSON of a header or a payload. The signature is valid. */
  const bad: { readonly [what: string]: (json: string) => string } = {
    'an array': (json) => `[${json}]`,
    'a string': (json) => JSON.stringify(json),
    null: () => 'null',
    nothing: () => '',
    'cut JSON': (json) => json.slice(0, -1),
    'a trailing comma': (json) => json.replace(/}$/, ',}'),
    'something after it': (json) => `${json}{}`,
    'a BOM': (json) => `\ufeff${json}`,
  }
  test('refuses a bad header and a bad payload', () => {
    const good = JSON.stringify(header)
    for (const [what, change] of Object.entries(bad)) {
      assert.equal(verify(forge(change(good), whole)), undefined, what)
      assert.equal(verify(forge(good, change(whole))), undefined, what)
    }
    const b64 = { ...header, crit: ['b64'], b64: false }
    for (const other of [b64, { ...header, alg: ['HS256'] }, { ...header, pad: 'x'.repeat(512) }]) {
      assert.equal(verify(forge(other, claims)), undefined)
    }
  })

  test('of two members with the same name, the last counts', () => {
    const payload = whole.replace('{', '{"s\\u0075b":"admin",')
    assert.deepEqual(verify(forge(JSON.stringify(header), payload)), claims)
  })

  test('accepts a token until less than 5 s after exp, and before iat', () => {
    const issued = { ...claims, iat: now + 3600, exp: now + 7200 } // the clock stepped back
    for (const good of [issued, { ...claims, exp: now - 4 }]) {
      assert.deepEqual(verify(signToken(good, key)), good)
    }
    for (const exp of [now - 5, -1]) {
      assert.equal(verify(signToken({ ...claims, exp }, key)), undefined)
    }
  })

  test('does not throw for a signed payload with the deepest nesting that fits', () => {
    const deep = `${'['.repeat(2800)}${']'.repeat(2800)}`
    assert.deepEqual(verify(forge(header, whole.replace('}', `,"a":${deep}}`))), claims)
  })

  test('refuses invalid UTF-8 in a signed payload and in a signed header', () => {
    for (const hex of ['e9', 'c0af', 'eda080', 'f09f98', 'f5808080']) {
      const bytes = (text: string) =>
        Buffer.from(Buffer.from(text).toString('hex').replace('7e', hex), 'hex')
      const sub = bytes(JSON.stringify({ ...claims, sub: 'x~' })).toString('base64url')
      const cty = bytes(JSON.stringify({ ...header, cty: 'x~' })).toString('base64url')

      assert.equal(verify(sign(encode(JSON.stringify(header)), sub)), undefined, hex)
      assert.equal(verify(sign(cty, encode(whole))), undefined, hex)
    }
  })
})

describe('verifyToken and encodings', () => {
  // Segments with every possible variation: with '-' and '_', and with unused bits.
  const odd = signed({ ...header, cty: '~~~???ÿ' }, { ...claims, sub: '~~~???ÿ~~~???' }, 2)
  const [oddHeader = '', oddPayload = '', oddSignature = ''] = odd.split('.')

  const spellings: Record<string, (segment: string) => string> = {
    padding: (segment) => `${segment}${'='.repeat(-segment.length & 3)}`,
    'the plain alphabet': (segment) => segment.replaceAll('-', '+').replaceAll('_', '/'),
    'a space before it': (segment) => ` ${segment}`,
    'a line break after it': (segment) => `${segment}\n`,
    'a character that decoders skip': (segment) => `${segment.slice(0, 8)}*${segment.slice(8)}`,
    'a character beyond ASCII with the same low byte': (segment) =>
      String.fromCharCode(segment.charCodeAt(0) + 0x100) + segment.slice(1),
    'unused bits that are set': (segment) => segment.slice(0, -1) + nextLetter(segment.slice(-1)),
    'a character that does not complete a byte': (segment) =>
      `${segment}${'A'.repeat((5 - segment.length) & 3)}`,
  }
  test('refuses another spelling in a segment that is signed', () => {
    assert.equal(verify(odd)?.sub, '~~~???ÿ~~~???')
    assert.match(oddHeader + oddPayload, /-.*_|_.*-/)
    for (const [what, spell] of Object.entries(spellings)) {
      const changed = [
        sign(spell(oddHeader), oddPayload),
        sign(oddHeader, spell(oddPayload)),
        `${oddHeader}.${oddPayload}.${spell(oddSignature)}`,
      ].filter((token) => token !== odd)

      assert.ok(changed.length > 0, `${what} changes at least one segment`)
      for (const token of changed) assert.equal(verify(token), undefined, what)
    }
  })

  test('refuses a token with any one character replaced or removed', () => {
    const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.=+/ \0é'
    for (let at = 0; at < odd.length; at++) {
      for (const put of ['', ...letters]) {
        const changed = odd.slice(0, at) + put + odd.slice(at + 1)
        if (changed !== odd) assert.equal(verify(changed), undefined, `${put} at ${at}`)
      }
    }
  })
})

describe('verifyToken and structure', () => {
  const token = signToken(claims, key)
  const [first = '', second = '', third = ''] = token.split('.')
  const malformed = [
    ...['', '..', first, `${first}.${second}`, `${first}.${second}.`, `.${token}`],
    ...[`${token}.${third}`, `${token}.${second}.${third}`, `Bearer ${token}`],
    sign(first, `${second.slice(0, 9)}.${second.slice(9)}`), // a dot in a payload that is signed
    ...[hmac(second), 'é'.repeat(43), 'é'.repeat(21)].map((mac) => `${first}.${second}.${mac}`),
    ...['A'.repeat(1 << 20), '.'.repeat(1 << 20)],
  ]
  test('refuses a token of other segments', () => {
    for (const bad of malformed) assert.equal(verify(bad), undefined, bad.slice(0, 99))
  })

  test('accepts 8192 characters and refuses more, even with a valid signature', () => {
    const long = (size: number) => forge(header, { ...claims, pad: 'x'.repeat(size) })
    const sizes = Array.from({ length: 20 }, (_, n) => long(5860 + n))
    const longest = sizes.findLast(({ length }) => length <= 8192) ?? ''
    const next = sizes.find(({ length }) => length > 8192) ?? ''

    assert.deepEqual(verify(longest), claims)
    for (const token of [next, long(1 << 20)]) assert.equal(verify(token), undefined)
  })
})

describe('a token that was verified before', () => {
  // The cache belongs to the key objects.
  const seenKey = { ...key }
  const seenKeys = [seenKey]
  const again = (token: string, options = expected) => verifyToken(token, seenKeys, options)
  const token = signToken(claims, seenKey)
  const known = readClaims(claims)
  const [first = '', second = '', third = ''] = token.split('.')

  test('returns the same parsed claims, which are frozen, and is not parsed again', (t) => {
    assert.deepEqual(again(token), known)
    const parse = t.mock.method(JSON, 'parse')
    const found = again(token)
    assert.equal(parse.mock.callCount(), 0)
    assert.deepEqual(found, known)
    assert.equal(found, again(token))
    assert.throws(() => Object.assign(found ?? {}, { sub: 'admin' }), TypeError)
    assert.deepEqual(again(token), known)
  })

  test('has scopes that no caller can change, because all callers share them', () => {
    const scopes = again(token)?.scopes as string[]
    assert.throws(() => scopes.push('projects:write'), TypeError)
    assert.deepEqual(again(token)?.scopes, known.scopes)
  })

  test('is refused when it is expired, of another issuer or without its key', () => {
    for (const bad of [{ now: claims.exp + 5 }, { now: Number.NaN }, { iss: 'other' }]) {
      assert.equal(again(token, { ...expected, ...bad }), undefined)
      assert.deepEqual(again(token), known)
    }
    const other = { ...seenKey, kid: 'other' }
    const replaced = { ...seenKey, secret: Buffer.alloc(32, 'else') }
    for (const ring of [[], [other], [replaced]]) {
      assert.equal(verifyToken(token, ring, expected), undefined)
    }
    assert.deepEqual(verifyToken(token, [other, seenKey], expected), known)
  })

  test('does not make another text with the same end valid', () => {
    const other = signToken({ ...claims, sub: 'user-8 é 😀' }, seenKey)
    const input = other.slice(0, other.lastIndexOf('.'))
    assert.equal(input.slice(-64), `${first}.${second}`.slice(-64))

    assert.equal(again(`${input}.${third}`), undefined)
    assert.equal(again(`${first}.${second}${other.slice(input.length)}`), undefined)
    // Tokens with the same end replace each other in the cache, and each keeps its claims.
    for (let turn = 0; turn < 3; turn++) {
      assert.equal(again(other)?.sub, 'user-8 é 😀')
      assert.equal(again(token)?.sub, claims.sub)
    }
  })

  test('has the same result as an unseen token, for any change', () => {
    const put = fc.string({ unit: character, maxLength: 3 })
    const change = fc.record({ at: fc.nat(token.length), gone: fc.nat(3), put })
    fc.assert(
      fc.property(fc.array(change, { minLength: 1, maxLength: 3 }), (changes) => {
        const changed = changes.reduce(
          (text, { at, gone, put }) => text.slice(0, at) + put + text.slice(at + gone),
          token,
        )
        assert.deepEqual(again(changed), verifyToken(changed, [{ ...seenKey }], expected))
      }),
      { numRuns: 1000 },
    )
  })
})

describe('verifyToken compared with jose', () => {
  const joseSign = (payload: object) =>
    new jose.SignJWT({ ...payload }).setProtectedHeader(header).sign(key.secret)

  test('jose signs the same token for any claims, and their order does not matter', async () => {
    await fc.assert(
      fc.asyncProperty(anyClaims, fc.infiniteStream(fc.nat()), async (some, order) => {
        const token = signToken(some, key)
        assert.equal(await joseSign(some), token)
        assert.deepEqual(verify(token), some)
        const shuffled = Object.entries(some)
          .map((entry) => ({ entry, at: order.next().value }))
          .sort((a, b) => a.at - b.at)
        const other = await joseSign(Object.fromEntries(shuffled.map(({ entry }) => entry)))
        assert.deepEqual(verify(other), some)
      }),
      { numRuns: 200 },
    )
  })

  test('accepts and refuses the same tokens as jose, except for stricter rules', async () => {
    let accepted = 0
    let stricter = 0
    await fc.assert(
      fc.asyncProperty(oddToken, async ({ token, headerMembers, claimMembers }) => {
        const theirs = await verifyWithJose(token)
        const ours = verify(token)
        const refusedByRule = stricterRules(headerMembers, claimMembers)

        if (theirs === undefined) assert.equal(ours, undefined)
        else if (refusedByRule) assert.equal(ours, undefined)
        else assert.deepEqual(ours, pick(theirs))
        if (ours !== undefined) accepted++
        if (theirs !== undefined && refusedByRule) stricter++
      }),
      { numRuns: 500 },
    )
    assert.ok(accepted > 100, `${accepted} were accepted`)
    assert.ok(stricter > 50, `${stricter} were accepted by jose alone`)
  })
})

const judgeOptions: jose.JWTVerifyOptions = {
  algorithms: ['HS256'],
  issuer: 'tillkit',
  clockTolerance: 5,
  requiredClaims: Object.keys(claims),
  currentDate: new Date(now * 1000),
}

async function verifyWithJose(token: string): Promise<jose.JWTPayload | undefined> {
  const secretOf = ({ kid }: jose.JWTHeaderParameters) => {
    const found = keys.find((one) => one.kid === kid)
    if (found === undefined) throw new Error('unknown kid')
    return found.secret
  }
  return jose.jwtVerify(token, secretOf, judgeOptions).then(
    ({ payload }) => payload,
    () => undefined,
  )
}

/** The rules for which we refuse tokens that jose accepts. jose checks only the types of times. */
function stricterRules(
  headerMembers: Record<string, unknown>,
  claimMembers: Record<string, unknown>,
): boolean {
  const texts = ['iss', 'sub', 'project_id', 'scope', 'jti'].map((name) => claimMembers[name])
  return (
    headerMembers.typ !== 'JWT' ||
    'aud' in claimMembers ||
    'nbf' in claimMembers ||
    !texts.every((text) => typeof text === 'string' && text !== '' && text.isWellFormed()) ||
    !Number.isSafeInteger(claimMembers.iat) ||
    !Number.isSafeInteger(claimMembers.exp)
  )
}

const text = fc.string({ unit: character, minLength: 1, maxLength: 40 })
const anyClaims: fc.Arbitrary<Claims> = fc.record(
  {
    iss: fc.constant('tillkit'),
    sub: text,
    project_id: text,
    scope: text,
    jti: text,
    iat: fc.integer({ min: 0, max: now + 5 }),
    exp: fc.integer({ min: now - 4, max: Number.MAX_SAFE_INTEGER }),
  },
  { noNullPrototype: true },
)

// Mostly valid, so that a token often has only one error.
const mostly = <T>(right: T, ...wrong: unknown[]) =>
  fc.oneof({ weight: 12, arbitrary: fc.constant(right) }, fc.constantFrom(undefined, ...wrong))
const oddText = mostly('text', '', '\ud800', 1, true, null, ['text'], {}, '"sub":"x"', '\\"')
const oddHeader = fc.record({
  alg: mostly('HS256', 'none', 'None', '', 'hs256', 'HS384', 'HS512', 'RS256', null),
  typ: mostly('JWT', 'jwt', 'at+jwt', 1),
  kid: fc.oneof(mostly('k2', 'k3', '', 'K2', 'k2 ', '__proto__', ['k2'], 2), fc.constant('k1')),
  crit: fc.oneof(
    { weight: 20, arbitrary: fc.constant(undefined) },
    fc.constantFrom([], ['exp'], null),
  ),
  cty: fc.option(fc.constantFrom('x', ['y'], { alg: 'none' }), { nil: undefined }),
})
const oddTime = (right: number) => {
  const near = [-6, -5, -4, 4, 5, 6, 0.5].map((seconds) => now + seconds)
  return mostly(right, ...near, 2 ** 60, -1, '1', null)
}
const oddClaims = fc.record({
  iss: mostly('tillkit', 'other', '', 1),
  sub: oddText,
  project_id: oddText,
  scope: oddText,
  jti: oddText,
  iat: oddTime(now),
  exp: oddTime(now + 60),
  aud: fc.oneof({ weight: 20, arbitrary: fc.constant(undefined) }, fc.constantFrom('a', ['b'])),
  nbf: fc.oneof({ weight: 20, arbitrary: fc.constant(undefined) }, fc.constantFrom(now, now + 9)),
  more: fc.option(fc.jsonValue({ maxDepth: 2 }), { nil: undefined }),
})
const oddToken = fc
  .record({
    headerMembers: oddHeader.map(asWritten),
    claimMembers: oddClaims.map(asWritten),
    indent: fc.constantFrom(0, 2),
    secret: fc.oneof({ weight: 8, arbitrary: fc.constant('own') }, fc.constant('other')),
  })
  .map(({ headerMembers, claimMembers, indent, secret }) => {
    const payload = encode(JSON.stringify(claimMembers, null, indent))
    const signer = headerMembers.kid === 'k1' ? olderKey.secret : key.secret
    const secretBytes = secret === 'own' ? signer : Buffer.alloc(32, 'z')
    const token = sign(encode(JSON.stringify(headerMembers)), payload, secretBytes)
    return { token, headerMembers, claimMembers }
  })

/** Removes undefined members, as JSON does. */
function asWritten(members: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined))
}

function pick(payload: jose.JWTPayload): unknown {
  return Object.fromEntries(Object.keys(claims).map((name) => [name, payload[name]]))
}

function verify(token: string): Claims | undefined {
  const found = verifyToken(token, keys, expected)
  return found && pickClaims(found)
}

/** A token with a valid signature for any header and payload, given as object or raw text. */
function forge(headerPart: object | string, payload: object | string): string {
  const json = (part: object | string) => (typeof part === 'string' ? part : JSON.stringify(part))
  return sign(encode(json(headerPart)), encode(json(payload)))
}

/** Like `forge`, but pads both segments with spaces to a length of `over` modulo 4. */
function signed(headerPart: object, payload: object, over: number): string {
  const fill = (part: object) => {
    let json = JSON.stringify(part)
    while (encode(json).length % 4 !== over) json += ' '
    return json
  }
  return forge(fill(headerPart), fill(payload))
}

function sign(headerSegment: string, payloadSegment: string, secret = key.secret): string {
  const input = `${headerSegment}.${payloadSegment}`
  return `${input}.${hmac(input, secret)}`
}

function hmac(input: string, secret = key.secret): string {
  return createHmac('sha256', secret).update(input).digest('base64url')
}

function encode(text: string): string {
  return Buffer.from(text).toString('base64url')
}

/** Returns the next letter of base64url. In a last letter this can change only unused bits. */
function nextLetter(letter: string): string {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
  return alphabet[(alphabet.indexOf(letter) & ~1) + 1] ?? ''
}
