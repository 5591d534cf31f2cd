import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { describe, test } from 'node:test'
import type { Claims } from '../../lib/token/claims.ts'
import { signToken, verifyToken } from '../../lib/token/jwt.ts'
import type { SigningKey } from '../../lib/token/key.ts'
import { createMac } from '../../lib/token/mac.ts'
import { character, fc } from '../support/seeds.ts'

const now = 1_800_000_000
const expected = { iss: 'tillkit', now }
const claims: Claims = {
  iss: 'tillkit',
  sub: 'user-7 é',
  project_id: 'p-1',
  scope: 'items:read',
  jti: 'j-1',
  iat: now,
  exp: now + 3600,
}

describe('a token that was verified before', () => {
  const key = newKey()
  const keys = [key]
  const token = seen(signToken(claims, key), keys)
  const [first = '', second = '', third = ''] = token.split('.')

  test('returns the same claims, which are frozen', () => {
    const again = verify(token, keys)

    assert.deepEqual(again, claims)
    assert.throws(() => Object.assign(again ?? {}, { sub: 'admin' }), TypeError)
    assert.deepEqual(verify(token, keys), claims)
  })

  test('is refused when truncated, extended, or with its parts exchanged', () => {
    for (const end of [0, 1, token.length - 1]) {
      assert.equal(verify(token.slice(0, end), keys), undefined, `cut at ${end}`)
      assert.equal(verify(token.slice(token.length - end), keys), undefined, `from ${end}`)
    }
    for (const more of ['=', '.', 'A', ' ', '\n', '\0', `.${third}`, token]) {
      assert.equal(verify(token + more, keys), undefined)
      assert.equal(verify(more + token, keys), undefined)
    }
    for (const parts of [
      [second, first, third],
      [first, third, second],
      [first, first, third],
    ]) {
      assert.equal(verify(parts.join('.'), keys), undefined)
    }
    assert.deepEqual(verify(token, keys), claims)
  })

  test('is refused when its last character is replaced by one that takes several bytes', () => {
    for (const wide of ['é', '€', '\ud800']) {
      assert.deepEqual(verify(token, keys), claims)
      assert.equal(verify(token.slice(0, -1) + wide, keys), undefined)
    }
  })

  test('does not make another text with the same end valid', () => {
    const other = signToken({ ...claims, sub: 'user-8 é' }, key)
    const otherInput = other.slice(0, other.lastIndexOf('.'))
    assert.equal(otherInput.slice(-64), `${first}.${second}`.slice(-64))

    assert.equal(verify(`${otherInput}.${third}`, keys), undefined)
    assert.equal(verify(`${first}.${second}${other.slice(otherInput.length)}`, keys), undefined)
    // Tokens with the same end replace each other in the cache, and each keeps its claims.
    for (let turn = 0; turn < 3; turn++) {
      assert.equal(verify(other, keys)?.sub, 'user-8 é')
      assert.equal(verify(token, keys)?.sub, 'user-7 é')
    }
  })

  test('is refused once it has expired, when the clock returns NaN, and for another issuer', () => {
    for (const bad of [
      { iss: 'tillkit', now: claims.exp + 5 },
      { iss: 'tillkit', now: Number.NaN },
      { iss: 'other', now },
    ]) {
      assert.equal(verifyToken(token, keys, bad), undefined)
      assert.deepEqual(verify(token, keys), claims)
    }
  })

  test('is refused once its key has left the ring, also when another secret has the same kid', () => {
    assert.equal(verify(token, []), undefined)
    assert.equal(verify(token, [{ ...key, kid: 'other' }]), undefined)
    assert.equal(verify(token, [{ ...key, secret: Buffer.alloc(32, 'else') }]), undefined)
    assert.deepEqual(verify(token, [{ ...key, kid: 'other' }, key]), claims)
  })

  test('is not parsed again, unlike a refused one', (t) => {
    const parse = t.mock.method(JSON, 'parse')
    verify(token, keys)
    assert.equal(parse.mock.callCount(), 0)

    const foreign = forge(JSON.stringify({ alg: 'HS256', typ: 'JWT', kid: key.kid, cty: 'x' }), key)
    verify(foreign, keys)
    const once = parse.mock.callCount()
    verify(foreign, keys)
    assert.ok(once > 0)
    assert.equal(parse.mock.callCount(), once)

    const bad = forge(JSON.stringify({ alg: 'HS512', typ: 'JWT', kid: key.kid }), key)
    for (let turn = 0; turn < 3; turn++) assert.equal(verify(bad, keys), undefined)
    assert.ok(parse.mock.callCount() > once)
  })

  test('has the same result as an unseen token, for any change', () => {
    const change = fc.record({
      at: fc.nat(token.length),
      gone: fc.nat(3),
      put: fc.string({ unit: character, maxLength: 3 }),
    })
    fc.assert(
      fc.property(fc.array(change, { minLength: 1, maxLength: 3 }), (changes) => {
        const changed = changes.reduce(
          (text, { at, gone, put }) => text.slice(0, at) + put + text.slice(at + gone),
          token,
        )
        assert.deepEqual(verify(changed, keys), verify(changed, [{ ...key }]))
      }),
      { numRuns: 1000 },
    )
  })
})

describe('verifyToken', () => {
  test('verifies 12,000 tokens correctly twice, although its cache holds fewer', () => {
    const key = newKey()
    const tokens = Array.from({ length: 12_000 }, (_, n) =>
      signToken({ ...claims, jti: `j-${n}` }, key),
    )

    for (let turn = 0; turn < 2; turn++) {
      tokens.forEach((token, n) => {
        assert.equal(verify(token, [key])?.jti, `j-${n}`)
      })
    }
  })

  test('uses no key for a token that is too long', () => {
    const key = newKey()
    const secret = new Proxy(key.secret, {
      get: () => assert.fail('the secret is read'),
    })
    const long = forge(JSON.stringify({ kid: key.kid, pad: 'x'.repeat(1 << 20) }), key)

    assert.throws(() => verify(signToken(claims, key), [{ ...key, secret }]), /secret is read/)
    assert.equal(verify(long, [{ ...key, secret }]), undefined)
  })
})

describe('createMac', () => {
  test('returns the same HMAC-SHA-256 as createHmac for any secret and text', () => {
    const secrets = fc.uint8Array({ minLength: 0, maxLength: 150 })
    const texts = fc.string({ unit: character, maxLength: 200 })
    fc.assert(
      fc.property(secrets, fc.array(texts, { minLength: 1 }), (secret, some) => {
        const mac = createMac(secret, 200 * 2)
        for (const text of some) {
          const expected = createHmac('sha256', secret).update(text).digest('base64url')
          assert.equal(mac(text), expected)
        }
      }),
      { numRuns: 300 },
    )
  })
})

function newKey(): SigningKey {
  return { kid: 'k', secret: Buffer.alloc(32, 'secret') }
}

function verify(token: string, keys: readonly SigningKey[]): Claims | undefined {
  return verifyToken(token, keys, expected)
}

/** Verifies the token, and returns it. */
function seen(token: string, keys: readonly SigningKey[]): string {
  assert.deepEqual(verify(token, keys), claims)
  return token
}

function forge(header: string, key: SigningKey): string {
  const encode = (text: string) => Buffer.from(text).toString('base64url')
  const input = `${encode(header)}.${encode(JSON.stringify(claims))}`
  return `${input}.${createHmac('sha256', key.secret).update(input).digest('base64url')}`
}
