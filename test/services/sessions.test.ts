import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import * as jose from 'jose'
import { createMemoryStorage, createTill, type Till } from '../../lib/index.ts'
import { createFixedKeyring } from '../../lib/token/keyring.ts'
import { createClock, createShop, failureOf, memoryTill, NOW } from '../support/till.ts'

const SECONDS = Math.floor(NOW / 1000)
const SECRET = 'a secret of the operator, 32 bytes and more'
const USER = { user_id: 'player' }
const SCOPES = ['items:read', 'projects:write', 'purchases:import'] as const

describe('tokens', () => {
  for (const lifetime of [undefined, 60, 86_400]) {
    test(`of all three endpoints name their owner, with the lifetime ${lifetime}`, async () => {
      const seconds = lifetime ?? 3600
      const options = lifetime === undefined ? {} : { tokenLifetime: seconds * 1000 }
      const { till, account_id, project_id, public_key } = await createShop({
        now: () => NOW,
        ...options,
      })

      const { access_token, ttl_seconds } = await till.sessions.accessToken(public_key)
      const { session } = await till.sessions.init(public_key, USER)
      const issued = await till.sessions.token(public_key, USER)

      assert.equal(ttl_seconds, seconds)
      const expires_at = new Date((SECONDS + seconds) * 1000).toISOString().replace('.000', '')
      for (const { token: _, ...expiry } of [session, issued]) {
        assert.deepEqual(expiry, { expires_at, expires_in_seconds: seconds })
      }
      for (const [token, subject] of [
        [access_token, project_id],
        [session.token, 'player'],
        [issued.token, 'player'],
      ] as const) {
        const { jti, ...claims } = jose.decodeJwt(token)
        const times = { iat: SECONDS, exp: SECONDS + seconds }
        const about = { iss: 'tillkit', sub: subject, project_id, scope: SCOPES.join(' ') }
        assert.deepEqual(claims, { ...about, ...times })
        const { alg, typ } = jose.decodeProtectedHeader(token)
        assert.deepEqual({ alg, typ }, { alg: 'HS256', typ: 'JWT' })
        assert.deepEqual(await till.sessions.authenticate(token), {
          ...{ account_id, project_id, user_id: subject, scopes: SCOPES },
          ...{ issued_by: 'public_key', token_id: jti, ...times },
        })
      }
    })
  }

  test('fail with the same error for every defect, and 5 s after they expire', async () => {
    const clock = createClock()
    const { till, account, project_id, token } = await createShop({ now: clock.now })
    const [header, claims, signature = ''] = token.split('.')
    const none = Buffer.from('{"alg":"none","typ":"JWT"}').toString('base64url')
    const failure = (given?: string) => failureOf(till.sessions.authenticate(given))

    const missing = await failure()
    assert.deepEqual([missing.code, missing.kind], ['token_required', 'unauthenticated'])
    for (const bad of [
      ...['', 'gold', token.slice(0, -1), `${token}A`, `${none}.${claims}.`],
      ...[
        `${header}.${claims}.`,
        `${header}.${claims}.${signature.startsWith('A') ? 'B' : 'A'}${signature.slice(1)}`,
      ],
    ]) {
      assert.deepEqual(await failure(bad), missing, bad)
    }
    for (const status of ['disabled', 'archived', 'in review']) {
      await till.projects.update(account, { id: project_id, status })
      if (status !== 'in review') assert.deepEqual(await failure(token), missing)
    }
    clock.pass(-3_600_000) // the clock went back one hour
    await assertAuthenticates(till, token, true)
    clock.pass(2 * 3_600_000 + 4_000)
    await assertAuthenticates(till, token, true)
    clock.pass(1_000)
    assert.deepEqual(await failure(token), missing)
  })
})

describe('signing keys', () => {
  test('are stored: tills on one storage verify the tokens of each other, and no others', async () => {
    const storage = createMemoryStorage()
    const [first, second] = [createTill({ storage }), createTill({ storage })]
    const { public_key, token } = await createShop(first)
    const { till: elsewhere } = await createShop()

    await assertAuthenticates(second, token, true)
    await assertAuthenticates(elsewhere, token, false)
    const { token: back } = await second.sessions.token(public_key, USER)
    await assertAuthenticates(first, back, true)
    assert.equal((await storage.listSigningKeys()).length, 1)
  })

  test('may be replaced by a secret of the operator, and an issuer separates its tokens', async () => {
    const storage = createMemoryStorage()
    const till = createTill({ storage, tokenSecret: SECRET })
    const { token } = await createShop(till)

    const { payload } = await jose.jwtVerify(token, Buffer.from(SECRET))

    assert.equal(payload.sub, 'player')
    assert.deepEqual(await storage.listSigningKeys(), [])
    const same = createTill({ storage, tokenSecret: Buffer.from(SECRET) })
    await assertAuthenticates(same, token, true)
    for (const options of [
      { tokenSecret: `${SECRET}!` },
      { tokenSecret: SECRET, issuer: 'staging' },
      {},
    ]) {
      await assertAuthenticates(createTill({ storage, ...options }), token, false)
    }
  })
})

test('the scope of an operation is checked before its request, whatever was checked before', async () => {
  const { till, sign, shop } = await createFixedTill()
  const session = async (scope: string) =>
    till.sessions.authenticate(await sign({ scope }), scope as never)
  const [reader, writer] = [await session('items:read'), await session('projects:write')]

  await till.items.get(reader, shop.item.id)
  for (const refused of [
    () => till.items.get(writer, shop.item.id),
    () => till.items.list(writer, { store_id: 'main' }),
    () => till.projects.update(reader, 7 as never),
    () => till.purchases.import(reader, 7 as never),
  ]) {
    await assert.rejects(refused, { code: 'insufficient_scope', kind: 'unauthenticated' })
  }
  await assertAuthenticates(till, await sign({ project_id: 'prj_unknown' }), false)
})

test('createTill refuses invalid options', async () => {
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
    ...Object.fromEntries(
      [0, 16, 31, 33, 64].map((bytes) => [
        `a master key of ${bytes} bytes`,
        { masterKeys: [new Uint8Array(32), new Uint8Array(bytes)] },
      ]),
    ),
  }
  for (const [what, options] of Object.entries(bad)) {
    assert.throws(() => createTill({ storage, ...options }), TypeError, what)
  }
  for (const tokenSecret of ['x'.repeat(32), 'é'.repeat(16), new Uint8Array(32).fill(1)]) {
    const { till, token } = await createShop({ tokenSecret })
    await assertAuthenticates(till, token, true)
  }
})

/** A till with an operator's secret, and a function that signs tokens with it. */
async function createFixedTill() {
  const till = memoryTill({ tokenSecret: SECRET, now: () => NOW })
  const shop = await createShop(till)
  const sign = (change: object) =>
    createFixedKeyring(SECRET).sign({
      ...{ iss: 'tillkit', sub: 'player', project_id: shop.project.id, scope: 'items:read' },
      ...{ jti: 'j-1', iat: SECONDS, exp: SECONDS + 60, ...change },
    })
  return { till, shop, sign }
}

async function assertAuthenticates(till: Till, token: string, valid: boolean): Promise<void> {
  const session = till.sessions.authenticate(token)
  if (valid) assert.ok((await session).project_id)
  else await assert.rejects(session, { code: 'token_required', kind: 'unauthenticated' })
}
