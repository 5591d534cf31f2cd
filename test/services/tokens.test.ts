import assert from 'node:assert/strict'
import { describe, test as testOnce } from 'node:test'
import * as jose from 'jose'
import { createMemoryStorage, createTill, type Scope, type Till } from '../../lib/index.ts'
import { createFixedKeyring } from '../../lib/token/keyring.ts'
import { testOnEach as test } from '../support/databases.ts'
import { newPlace } from '../support/place.ts'
import { createClock, createShop, failureOf, fileOf, NOW, type Shop } from '../support/till.ts'

const SECONDS = Math.floor(NOW / 1000)
const SECRET = 'a secret of the operator, 32 bytes and more'
const USER = { user_id: 'player' }
const ALL: readonly Scope[] = ['items:read', 'projects:write', 'purchases:import']
const insufficient = { code: 'insufficient_scope', kind: 'unauthenticated' }

testOnce('in lockdown, tokens from a public key read items, and nothing more', async () => {
  const shop = await createShop({ lockdown: true })
  const { till, account, public_key, project_id } = shop
  const { session: begun } = await till.sessions.init(public_key, USER)
  const { token } = await till.sessions.token(public_key, USER)
  const { access_token } = await till.sessions.accessToken(public_key)

  for (const each of [begun.token, token, access_token]) {
    const session = await till.sessions.authenticate(each, 'items:read')
    assert.deepEqual(session.scopes, ['items:read'])
    assert.equal((await till.items.list(session, { store_id: 'main' })).items.length, 1)
    for (const refused of [
      () => till.sessions.authenticate(each, 'projects:write'),
      () => till.sessions.authenticate(each, 'purchases:import'),
      () => till.projects.update(session, { id: project_id, name: 'Taken over' }),
      () => till.purchases.import(session, { store_id: 'main', file: fileOf('') }),
    ]) {
      await assert.rejects(refused, insufficient)
    }
  }
  const unknown = till.sessions.authenticate('gold', 'projects:write')
  await assert.rejects(unknown, { code: 'token_required' })

  // It does not restrict the tokens that an account issues.
  const issue = (scopes: readonly Scope[]) => till.sessions.issue(account, { project_id, scopes })
  const [all, one] = [await issue(ALL), await issue(['purchases:import'])]
  assert.deepEqual((await till.sessions.authenticate(all.token)).scopes, ALL)
  await till.sessions.authenticate(one.token, 'purchases:import')
  await assert.rejects(till.sessions.authenticate(one.token, 'items:read'), insufficient)
})

describe('a token that an account issues', () => {
  testOnce('without scopes cannot grant its user items by an import', async () => {
    const { till, account, project_id } = await createShop({ lockdown: true })
    const { token } = await till.sessions.issue(account, { project_id, ...USER })
    const session = await till.sessions.authenticate(token)

    const granted = till.purchases.import(session, { store_id: 'main', file: fileOf('') })

    await assert.rejects(granted, { code: 'insufficient_scope' })
    assert.deepEqual(session.scopes, ['items:read'])
  })

  testOnce('is recognised as such, unlike any token from a public key', async () => {
    const { till, account, project_id, public_key, token: first } = await createShop()
    const issued = await till.sessions.issue(account, { project_id, ...USER })
    const { issued_by, scopes, exp, iat } = await till.sessions.authenticate(issued.token)
    assert.deepEqual([issued_by, scopes, exp - iat], ['account', ['items:read'], 3600])
    const input = { project_id, ttl_seconds: 86_400 }
    const { token: long } = await till.sessions.issue(account, input)
    const { exp: end = 0, iat: start = 0, sub } = jose.decodeJwt(long)
    assert.deepEqual([end - start, sub], [86_400, project_id])

    const { access_token } = await till.sessions.accessToken(public_key)
    const { token: second } = await till.sessions.token(public_key, USER)
    for (const token of [first, second, access_token]) {
      assert.equal((await till.sessions.authenticate(token)).issued_by, 'public_key')
      const [header, , signature] = token.split('.')
      const claims = jose.decodeJwt(token)
      const jti = String(claims.jti).replace('.', 'a.')
      const payload = Buffer.from(JSON.stringify({ ...claims, jti })).toString('base64url')
      const forged = till.sessions.authenticate(`${header}.${payload}.${signature}`)
      await assert.rejects(forged, { code: 'token_required' })
    }
  })

  testOnce('of earlier versions, without that claim, counts as from a public key', async () => {
    const { till, project_id } = await createShop({ tokenSecret: SECRET, now: () => NOW })
    for (const jti of ['0.aaaaaaaaaaaaaaaaaaaaaa', 'a', '0a.', '0a.aaaaaaaaaaaaaaaaaaaaaaa']) {
      const token = await signed(project_id, { jti })
      assert.equal((await till.sessions.authenticate(token)).issued_by, 'public_key', jti)
    }
  })

  const bad: [change: object, field: string][] = [
    [{ scopes: [] }, 'scopes'],
    [{ scopes: ['items:read', 'everything'] }, 'scopes[1]'],
    [{ scopes: 'items:read' }, 'scopes'],
    [{ scopes: Array(4).fill('items:read') }, 'scopes'],
    [{ ttl_seconds: 59 }, 'ttl_seconds'],
    [{ ttl_seconds: 86_401 }, 'ttl_seconds'],
    [{ ttl_seconds: 60.5 }, 'ttl_seconds'],
    [{ ttl_seconds: '60' }, 'ttl_seconds'],
    [{ user_id: '' }, 'user_id'],
    [{ user_id: 'a\nb' }, 'user_id'],
    [{ project_id: 1 }, 'project_id'],
    [{ scope: 'items:read' }, 'scope'], // the name of an option is misspelt
  ]
  testOnce('is refused with a bad scope, lifetime, user, project or option', async () => {
    const { till, account, project_id } = await createShop()
    const issue = (change: object) => till.sessions.issue(account, { project_id, ...change })
    for (const [change, field] of bad) {
      const { code, details } = await failureOf(issue(change))
      assert.deepEqual([code, details.map((each) => each.field)], ['invalid_request', [field]])
    }
    await till.projects.update(account, { id: project_id, status: 'disabled' })
    await assert.rejects(issue({}), { code: 'project_inactive' })
  })
})

describe('a revocation', () => {
  test('ends the tokens of a user, or all of a project, in every process and after a restart', async (t) => {
    const place = newPlace(t)
    const { till, ...shop } = await place.shop()
    const other = await place.till()
    const { account, project_id, public_key } = shop
    const neighbour = await createShop(till, 'Neighbour')
    const ann = await tokensOf(till, shop, 'ann')
    const bob = await tokensOf(till, shop, 'bob')
    const { access_token } = await till.sessions.accessToken(public_key)
    const rest = [...bob, access_token, neighbour.token]
    await assertTokens(other, ann, true)

    await till.sessions.revoke(account, { project_id, user_id: 'ann' })

    for (const each of [till, other]) {
      await assertTokens(each, ann, false)
      await assertTokens(each, rest, true)
    }
    await till.close()
    await other.close()
    const restarted = await place.till()
    await assertTokens(restarted, ann, false)
    await assertTokens(restarted, rest, true)

    const another = await place.till()
    await restarted.sessions.revoke(account, { project_id })
    for (const each of [restarted, another]) {
      await assertTokens(each, [...ann, ...bob, access_token], false)
      await assertTokens(each, [neighbour.token], true)
    }
  })

  test('does not depend on clocks: one that is ahead, or one that goes back', async (t) => {
    const place = newPlace(t)
    const { till, clock, ...shop } = await place.shop()
    const { account, project_id } = shop
    const ahead = await place.till({ now: () => clock.now() + 3_600_000 })
    const early = [...(await tokensOf(ahead, shop, 'ann')), ...(await tokensOf(till, shop, 'ann'))]
    clock.pass(-3_600_000)
    await assertTokens(till, early, true)

    await till.sessions.revoke(account, { project_id, user_id: 'ann' })

    await assertTokens(till, early, false)
    clock.pass(7_200_000)
    await assertTokens(till, early, false)
    clock.pass(-3_600_000)
    const later = await tokensOf(till, shop, 'ann')
    await assertTokens(till, later, true)
    await till.sessions.revoke(account, { project_id })
    await assertTokens(till, later, false)
  })

  test('ends no later token, also of the same second and in another process', async (t) => {
    const place = newPlace(t)
    const { till, ...shop } = await place.shop()
    const other = await place.till()
    const { account, project_id } = shop
    for (const user_id of ['ann', 'ann', undefined, 'ann', undefined, undefined, 'ann', 'ann']) {
      const before = await tokensOf(till, shop, 'ann')
      const named = user_id === undefined ? {} : { user_id }
      await till.sessions.revoke(account, { project_id, ...named })
      await assertTokens(till, before, false)
      for (const each of [till, other]) {
        await assertTokens(each, await tokensOf(other, shop, 'ann'), true)
      }
    }
  })

  test('of tokens that another tool has signed ends all but later ones', async () => {
    const { till, project_id, account } = await createShop({ tokenSecret: SECRET, now: () => NOW })
    await till.sessions.revoke(account, { project_id })
    const sign = (iat: number) => signed(project_id, { iat })

    await assertTokens(till, [await sign(SECONDS - 1), await sign(SECONDS)], false)
    await assertTokens(till, [await sign(SECONDS + 1)], true)
  })

  test('is refused with a bad or misspelt user_id, instead of revoking all tokens', async () => {
    const { till, project_id, account, token } = await createShop()
    const bad = [{ user: 'player' }, ...['', 1, null, 'a\0b'].map((user_id) => ({ user_id }))]
    for (const change of bad) {
      const revoked = till.sessions.revoke(account, { project_id, ...change } as never)
      await assert.rejects(revoked, { code: 'invalid_request' })
    }
    await assertTokens(till, [token], true)
  })
})

describe('tokens', () => {
  for (const lifetime of [undefined, 60, 86_400]) {
    testOnce(`of all three endpoints name their owner, with the lifetime ${lifetime}`, async () => {
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
        const about = { iss: 'tillkit', sub: subject, project_id, scope: ALL.join(' ') }
        assert.deepEqual(claims, { ...about, ...times })
        const { alg, typ } = jose.decodeProtectedHeader(token)
        assert.deepEqual({ alg, typ }, { alg: 'HS256', typ: 'JWT' })
        assert.deepEqual(await till.sessions.authenticate(token), {
          ...{ account_id, project_id, user_id: subject, scopes: ALL },
          ...{ issued_by: 'public_key', token_id: jti, ...times },
        })
      }
    })
  }

  testOnce('fail with the same error for every defect, and 5 s after they expire', async () => {
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
    await assertTokens(till, [token], true)
    clock.pass(2 * 3_600_000 + 4_000)
    await assertTokens(till, [token], true)
    clock.pass(1_000)
    assert.deepEqual(await failure(token), missing)
  })
})

describe('signing keys', () => {
  testOnce(
    'are stored: tills on one storage verify the tokens of each other, and no others',
    async () => {
      const storage = createMemoryStorage()
      const [first, second] = [createTill({ storage }), createTill({ storage })]
      const { public_key, token } = await createShop(first)
      const { till: elsewhere } = await createShop()

      await assertTokens(second, [token], true)
      await assertTokens(elsewhere, [token], false)
      const { token: back } = await second.sessions.token(public_key, USER)
      await assertTokens(first, [back], true)
      assert.equal((await storage.listSigningKeys()).length, 1)
    },
  )

  testOnce(
    'may be replaced by a secret of the operator, and an issuer separates its tokens',
    async () => {
      const storage = createMemoryStorage()
      const till = createTill({ storage, tokenSecret: SECRET })
      const { token } = await createShop(till)

      const { payload } = await jose.jwtVerify(token, Buffer.from(SECRET))

      assert.equal(payload.sub, 'player')
      assert.deepEqual(await storage.listSigningKeys(), [])
      const same = createTill({ storage, tokenSecret: Buffer.from(SECRET) })
      await assertTokens(same, [token], true)
      for (const options of [
        { tokenSecret: `${SECRET}!` },
        { tokenSecret: SECRET, issuer: 'staging' },
        {},
      ]) {
        await assertTokens(createTill({ storage, ...options }), [token], false)
      }
    },
  )
})

testOnce(
  'the scope of an operation is checked before its request, whatever was checked before',
  async () => {
    const shop = await createShop({ tokenSecret: SECRET, now: () => NOW })
    const { till, project_id } = shop
    const session = async (scope: string) =>
      till.sessions.authenticate(await signed(project_id, { scope }), scope as never)
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
    await assertTokens(till, [await signed('prj_unknown', {})], false)
  },
)

testOnce('createTill refuses invalid options', async () => {
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
    'a quota below 0': { quotas: { projects: -1 } },
    'a quota that is not a number': { quotas: { configBytes: Number.NaN } },
    'an unknown quota': { quotas: { stores: 1 } },
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
    await assertTokens(till, [token], true)
  }
})

testOnce('a program may overwrite the buffer of its token secret', async () => {
  const tokenSecret = new TextEncoder().encode(SECRET)
  const { till, project_id } = await createShop({ tokenSecret, now: () => NOW })
  tokenSecret.fill(0)
  await assertTokens(till, [await signed(project_id, {})], true)
})

/** A token that another tool has signed with the operator's secret. */
function signed(project_id: string, change: object): Promise<string> {
  return createFixedKeyring(SECRET).sign({
    ...{ iss: 'tillkit', sub: 'player', project_id, scope: 'items:read' },
    ...{ jti: 'j-1', iat: SECONDS, exp: SECONDS + 3600, ...change },
  })
}

/** One token of a user from each operation that issues tokens. */
async function tokensOf(till: Till, { account, project }: Omit<Shop, 'till'>, user_id: string) {
  const { session } = await till.sessions.init(project.public_key, { user_id })
  const { token } = await till.sessions.token(project.public_key, { user_id })
  const issued = await till.sessions.issue(account, { project_id: project.id, user_id })
  return [session.token, token, issued.token]
}

async function assertTokens(till: Till, tokens: readonly string[], valid: boolean): Promise<void> {
  for (const token of tokens) {
    const session = till.sessions.authenticate(token)
    if (valid) assert.ok((await session).project_id)
    else await assert.rejects(session, { code: 'token_required', kind: 'unauthenticated' })
  }
}
