import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import * as jose from 'jose'
import { createMemoryStorage, createTill, type Till } from '../../lib/index.ts'
import { createFixedKeyring } from '../../lib/token/keyring.ts'
import { createShop, failureOf, memoryTill, NOW } from '../support/till.ts'

const SECONDS = Math.floor(NOW / 1000)
const SECRET = 'a secret of the operator, 32 bytes and more'
const USER = { user_id: 'player' }

describe('tokens', () => {
  test('of all three endpoints name their owner, and last an hour', async () => {
    const { till, project_id, public_key } = await createShop({ now: () => NOW })

    const { access_token, ttl_seconds } = await till.sessions.accessToken(public_key)
    const { session } = await till.sessions.init(public_key, USER)
    const issued = await till.sessions.token(public_key, USER)

    assert.equal(ttl_seconds, 3600)
    for (const { token, ...expiry } of [session, issued]) {
      assert.deepEqual(expiry, { expires_at: '2024-03-01T13:34:56Z', expires_in_seconds: 3600 })
      assert.ok(token)
    }
    const subjects = [
      [access_token, project_id],
      [session.token, 'player'],
      [issued.token, 'player'],
    ] as const
    for (const [token, subject] of subjects) {
      const { jti, ...claims } = jose.decodeJwt(token)
      assert.deepEqual(claims, {
        iss: 'tillkit',
        sub: subject,
        project_id,
        scope: 'items:read projects:write purchases:import',
        iat: SECONDS,
        exp: SECONDS + 3600,
      })
      assert.ok(jti)
      const { alg, typ } = jose.decodeProtectedHeader(token)
      assert.deepEqual({ alg, typ }, { alg: 'HS256', typ: 'JWT' })
    }
  })

  test('authenticate a session with their project and user', async () => {
    const { till, account_id, project_id, token } = await createShop()

    assert.deepEqual(await till.sessions.authenticate(token), {
      account_id,
      project_id,
      user_id: 'player',
      scopes: ['items:read', 'projects:write', 'purchases:import'],
      issued_by: 'public_key',
      token_id: jose.decodeJwt(token).jti,
      iat: jose.decodeJwt(token).iat,
      exp: jose.decodeJwt(token).exp,
    })
  })

  for (const seconds of [60, 86_400]) {
    test(`are valid for ${seconds} s with that tokenLifetime`, async () => {
      const { till, public_key } = await createShop({
        now: () => NOW,
        tokenLifetime: seconds * 1000,
      })

      const { session } = await till.sessions.init(public_key, USER)
      const { access_token, ttl_seconds } = await till.sessions.accessToken(public_key)

      assert.equal(ttl_seconds, seconds)
      assert.equal(session.expires_in_seconds, seconds)
      assert.equal(jose.decodeJwt(session.token).exp, SECONDS + seconds)
      assert.equal(jose.decodeJwt(access_token).exp, SECONDS + seconds)
      assert.equal(Date.parse(session.expires_at), (SECONDS + seconds) * 1000)
    })
  }

  // The clock's leeway is 5 s.
  const ages: [number, boolean][] = [
    [0, true],
    [3604, true],
    [3605, false],
    [-3600, true], // by a clock that went back one hour
  ]
  for (const [age, valid] of ages) {
    test(`are ${valid ? 'valid' : 'refused'} ${age} s after they were issued`, async () => {
      let now = SECONDS * 1000
      const { till, token } = await createShop({ now: () => now })

      now += age * 1000

      await assertAuthenticates(till, token, valid)
    })
  }

  test('fail with the same error for every defect', async () => {
    let now = NOW
    const { till, account, project_id, token } = await createShop({ now: () => now })
    const [header, claims, signature = ''] = token.split('.')
    const none = Buffer.from('{"alg":"none","typ":"JWT"}').toString('base64url')
    const failure = (given?: string) => failureOf(till.sessions.authenticate(given))

    const missing = await failure()
    for (const bad of ['', 'gold', token.slice(0, -1), `${token}A`, `${none}.${claims}.`]) {
      assert.deepEqual(await failure(bad), missing, bad)
    }
    assert.deepEqual(await failure(`${header}.${claims}.`), missing)
    assert.deepEqual(await failure(`${header}.${claims}.A${signature.slice(1)}`), missing)
    await assertAuthenticates(till, token, true)
    await till.projects.update(account, { id: project_id, status: 'disabled' })
    assert.deepEqual(await failure(token), missing)
    now += 7_200_000
    assert.deepEqual(await failure(token), missing)
  })
})

describe('public keys', () => {
  const calls: Record<string, (till: Till, key: string | undefined) => Promise<unknown>> = {
    accessToken: (till, key) => till.sessions.accessToken(key),
    init: (till, key) => till.sessions.init(key, USER),
    token: (till, key) => till.sessions.token(key, USER),
  }
  for (const [name, call] of Object.entries(calls)) {
    test(`${name} refuses an unknown key and an inactive project`, async () => {
      const { till, account, project_id, public_key } = await createShop()
      for (const key of [undefined, '', 'pk_unknown', '%']) {
        await assert.rejects(call(till, key), { code: 'invalid_public_key', kind: 'invalid' })
      }
      for (const status of ['disabled', 'archived']) {
        await till.projects.update(account, { id: project_id, status })
        const expected = { code: 'project_inactive', kind: 'invalid' }
        await assert.rejects(call(till, public_key), expected)
      }
    })
  }

  test('are checked before the body', async () => {
    const till = memoryTill()

    await assert.rejects(till.sessions.init('pk_unknown', 7 as never), {
      code: 'invalid_public_key',
    })
  })

  test('in the body must equal the header', async () => {
    const { till, project } = await createShop()
    const { project: other } = await createShop(till, 'Other')
    const body = { ...USER, public_key: project.public_key }

    await till.sessions.token(project.public_key, body)
    await assert.rejects(till.sessions.token(other.public_key, body), {
      code: 'invalid_request',
      details: [
        {
          field: 'public_key',
          code: 'mismatch',
          message: 'must equal the header x-public-project-key',
        },
      ],
    })
  })
})

describe('a project that is disabled or archived', () => {
  for (const status of ['disabled', 'archived']) {
    test(`has no valid tokens while ${status}, and its old ones are valid afterwards`, async () => {
      const { till, account, project_id, token } = await createShop()

      await till.projects.update(account, { id: project_id, status })
      await assertAuthenticates(till, token, false)
      await till.projects.update(account, { id: project_id, status: 'active' })

      await assertAuthenticates(till, token, true)
    })
  }

  test('any other status counts as active', async () => {
    const { till, account, project_id, public_key, token } = await createShop()

    await till.projects.update(account, { id: project_id, status: 'in review' })

    await assertAuthenticates(till, token, true)
    const { project: shown } = await till.sessions.init(public_key, USER)
    assert.equal(shown.status, 'in review')
  })
})

test('init lists every store with its status, in order of creation', async () => {
  const { till, account, project_id, public_key } = await createShop()
  for (const [store_id, status] of [
    ['z', 'beta'],
    ['closed', 'disabled'],
    ['a', 'active'],
    ['old', 'archived'],
  ]) {
    await till.stores.create(account, {
      project_id,
      store_id,
      status,
      store_type: 'web',
    })
  }

  const { stores } = await till.sessions.init(public_key, USER)

  assert.deepEqual(
    stores.map(({ store_id, status }) => `${store_id} ${status}`),
    ['main active', 'z beta', 'closed disabled', 'a active', 'old archived'],
  )
})

describe('signing keys', () => {
  test('are stored: a second till on the storage verifies the tokens of the first', async () => {
    const storage = createMemoryStorage()
    const first = createTill({ storage })
    const second = createTill({ storage })
    const { public_key, token } = await createShop(first)

    await assertAuthenticates(second, token, true)
    const { token: back } = await second.sessions.token(public_key, USER)
    await assertAuthenticates(first, back, true)
    assert.equal((await storage.listSigningKeys()).length, 1)
  })

  test('of two storages are independent', async () => {
    const { token } = await createShop()
    const other = memoryTill()
    await createShop(other)

    await assertAuthenticates(other, token, false)
  })

  test('may be replaced by a secret of the operator, and are not created then', async () => {
    const storage = createMemoryStorage()
    const till = createTill({ storage, tokenSecret: SECRET })
    const { token } = await createShop(till)

    const { payload } = await jose.jwtVerify(token, Buffer.from(SECRET))

    assert.equal(payload.sub, 'player')
    assert.deepEqual(await storage.listSigningKeys(), [])
    const same = createTill({ storage, tokenSecret: Buffer.from(SECRET) })
    await assertAuthenticates(same, token, true)
    await assertAuthenticates(createTill({ storage, tokenSecret: `${SECRET}!` }), token, false)
    await assertAuthenticates(createTill({ storage }), token, false)
  })

  test('do not verify tokens of another issuer', async () => {
    const storage = createMemoryStorage()
    const options = { storage, tokenSecret: SECRET }
    const { token } = await createShop(createTill({ ...options, issuer: 'staging' }))

    await assertAuthenticates(createTill({ ...options, issuer: 'staging' }), token, true)
    await assertAuthenticates(createTill(options), token, false)
  })
})

describe('scopes', () => {
  const scopes = ['items:read', 'projects:write', 'purchases:import'] as const

  test('a token is insufficient for other scopes, and sufficient for its own', async () => {
    const { till, sign } = await createFixedTill()

    for (const own of scopes) {
      const token = await sign({ scope: own })
      for (const asked of scopes) {
        const session = till.sessions.authenticate(token, asked)
        if (asked === own) assert.deepEqual((await session).scopes, [own])
        else await assert.rejects(session, { code: 'insufficient_scope', kind: 'unauthenticated' })
      }
    }
  })

  test('every operation checks its own scope, whatever was checked before', async () => {
    const { till, sign, shop } = await createFixedTill()
    const { project, item } = shop
    const empty = (async function* () {})()
    const session = async (scope: string) => till.sessions.authenticate(await sign({ scope }))
    const refused = { code: 'insufficient_scope' }

    const reader = await session('items:read')
    const writer = await session('projects:write')

    await till.items.get(reader, item.id)
    await till.projects.update(writer, { id: project.id, name: 'New' })
    await assert.rejects(till.items.get(writer, item.id), refused)
    await assert.rejects(till.items.list(writer, { store_id: 'main' }), refused)
    await assert.rejects(till.projects.update(reader, { id: project.id }), refused)
    await assert.rejects(till.purchases.import(reader, { store_id: 'main', file: empty }), refused)
  })

  test('are checked before the request is validated', async () => {
    const { till, sign } = await createFixedTill()
    const session = await till.sessions.authenticate(await sign({ scope: 'items:read' }))

    await assert.rejects(till.projects.update(session, 7 as never), { code: 'insufficient_scope' })
  })

  test('a token of an unknown project is refused', async () => {
    const { till, sign } = await createFixedTill()

    await assertAuthenticates(till, await sign({ project_id: 'prj_unknown' }), false)
    await assertAuthenticates(till, await sign({}), true)
  })
})

describe('createTill refuses invalid options:', () => {
  const storage = createMemoryStorage()
  const bad: { readonly [what: string]: object } = {
    'a secret of 31 bytes': { tokenSecret: 'x'.repeat(31) },
    'a secret of 31 raw bytes': { tokenSecret: new Uint8Array(31) },
    'a lifetime of less than a minute': { tokenLifetime: 59_999 },
    'a lifetime of more than a day': { tokenLifetime: 86_400_001 },
    'a lifetime of half a millisecond': { tokenLifetime: 60_000.5 },
    'a lifetime that is not a number': { tokenLifetime: Number.NaN },
    'a storage that was not awaited': { storage: Promise.resolve(storage) },
    'a platform that is not in the specification': { platforms: ['mobile', 'moon'] },
    'an unknown option': { lockDown: true },
  }
  for (const [what, options] of Object.entries(bad)) {
    test(what, () => {
      assert.throws(() => createTill({ storage, ...options }), TypeError)
    })
  }

  test('but a secret of 32 bytes is long enough', async () => {
    for (const tokenSecret of ['x'.repeat(32), 'é'.repeat(16), new Uint8Array(32).fill(1)]) {
      const till = createTill({ storage: createMemoryStorage(), tokenSecret })
      const { token } = await createShop(till)
      await assertAuthenticates(till, token, true)
    }
  })
})

/** A till with an operator's secret, and a function that signs tokens with it. */
async function createFixedTill() {
  const till = memoryTill({ tokenSecret: SECRET, now: () => NOW })
  const shop = await createShop(till)
  const sign = (change: object) =>
    createFixedKeyring(SECRET).sign({
      iss: 'tillkit',
      sub: 'player',
      project_id: shop.project.id,
      scope: 'items:read',
      jti: 'j-1',
      iat: SECONDS,
      exp: SECONDS + 60,
      ...change,
    })
  return { till, shop, sign }
}

async function assertAuthenticates(
  till: Till,
  token: string | undefined,
  valid: boolean,
): Promise<void> {
  const session = till.sessions.authenticate(token)
  if (valid) assert.ok((await session).project_id)
  else await assert.rejects(session, { code: 'token_required', kind: 'unauthenticated' })
}
