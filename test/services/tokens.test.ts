import assert from 'node:assert/strict'
import { describe, test as testOnce } from 'node:test'
import { decodeJwt } from 'jose'
import type { Scope, Till } from '../../lib/index.ts'
import { createFixedKeyring } from '../../lib/token/keyring.ts'
import { testOnEach as test } from '../support/databases.ts'
import { newPlace } from '../support/place.ts'
import { createShop, failureOf, fileOf, NOW, type Shop } from '../support/till.ts'

const SECONDS = Math.floor(NOW / 1000)
const SECRET = 'a secret of the operator, 32 bytes and more'
const USER = { user_id: 'player' }
const ALL = ['items:read', 'projects:write', 'purchases:import']
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
  const issue = (scopes?: Scope[]) => till.sessions.issue(account, { project_id, scopes })
  const [all, one] = [await issue(), await issue(['purchases:import'])]
  assert.deepEqual((await till.sessions.authenticate(all.token)).scopes, ALL)
  await till.sessions.authenticate(one.token, 'purchases:import')
  await assert.rejects(till.sessions.authenticate(one.token, 'items:read'), insufficient)
})

describe('a token that an account issues', () => {
  testOnce('is recognised as such, unlike any token from a public key', async () => {
    const { till, account, project_id, public_key, token: first } = await createShop()
    const issued = await till.sessions.issue(account, { project_id, ...USER })
    const { issued_by, scopes, exp, iat } = await till.sessions.authenticate(issued.token)
    assert.deepEqual([issued_by, scopes, exp - iat], ['account', ALL, 3600])
    const input = { project_id, lifetime: 86_400_000 }
    const { token: long } = await till.sessions.issue(account, input)
    const { exp: end = 0, iat: start = 0, sub } = decodeJwt(long)
    assert.deepEqual([end - start, sub], [86_400, project_id])

    const { access_token } = await till.sessions.accessToken(public_key)
    const { token: second } = await till.sessions.token(public_key, USER)
    for (const token of [first, second, access_token]) {
      assert.equal((await till.sessions.authenticate(token)).issued_by, 'public_key')
      const [header, , signature] = token.split('.')
      const claims = decodeJwt(token)
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
    [{ lifetime: 59_999 }, 'lifetime'],
    [{ lifetime: 86_400_001 }, 'lifetime'],
    [{ lifetime: 60_000.5 }, 'lifetime'],
    [{ lifetime: '60000' }, 'lifetime'],
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
    else await assert.rejects(session, { code: 'token_required' })
  }
}
