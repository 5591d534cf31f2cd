import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decodeJwt } from 'jose'
import type { Scope, Till } from '../../lib/index.ts'
import { createFixedKeyring } from '../../lib/token/keyring.ts'
import { describeFiles, type NewPlace } from '../support/place.ts'
import { createShop, failureOf, fileOf, NOW, type Shop } from '../support/till.ts'

const SECONDS = Math.floor(NOW / 1000)
const SECRET = 'a secret of the operator, 32 bytes and more'
const USER = { user_id: 'player' }
const ALL = ['items:read', 'projects:write', 'purchases:import']

await describeFiles('lockdown', describeLockdown)
await describeFiles('tokens that an account issues', describeIssuing)
await describeFiles('revocation', describeRevocation)

function describeLockdown(newPlace: NewPlace): void {
  test('lets tokens from a public key read items, and nothing more', async (t) => {
    const { till, public_key, project_id: id } = await newPlace(t).shop({ lockdown: true })
    const { session: begun } = await till.sessions.init(public_key, USER)
    const issued = await till.sessions.token(public_key, USER)
    const { access_token } = await till.sessions.accessToken(public_key)

    for (const token of [begun.token, issued.token, access_token]) {
      const session = await till.sessions.authenticate(token, 'items:read')
      assert.deepEqual(session.scopes, ['items:read'])
      assert.equal((await till.items.list(session, { store_id: 'main' })).items.length, 1)
      for (const scope of ['projects:write', 'purchases:import'] as const) {
        const refused = till.sessions.authenticate(token, scope)
        await assert.rejects(refused, { code: 'insufficient_scope', kind: 'unauthenticated' })
      }
      const change = till.projects.update(session, { id, name: 'Taken over' })
      await assert.rejects(change, { code: 'insufficient_scope' })
      const request = { store_id: 'main', file: fileOf('') }
      const imported = till.purchases.import(session, request)
      await assert.rejects(imported, { code: 'insufficient_scope' })
    }
  })

  test('does not restrict the scopes of tokens that an account issues', async (t) => {
    const { till, account, project } = await newPlace(t).shop({ lockdown: true })
    const issue = (scopes?: Scope[]) =>
      till.sessions.issue(account, { project_id: project.id, scopes })

    const [all, one] = [await issue(), await issue(['purchases:import'])]

    assert.deepEqual((await till.sessions.authenticate(all.token)).scopes, ALL)
    await till.sessions.authenticate(one.token, 'purchases:import')
    await assert.rejects(till.sessions.authenticate(one.token, 'items:read'), {
      code: 'insufficient_scope',
    })
  })

  test('reports an invalid token as such, whatever the scope', async (t) => {
    const { till } = await newPlace(t).shop({ lockdown: true })

    const failed = till.sessions.authenticate('gold', 'projects:write')
    await assert.rejects(failed, { code: 'token_required' })
  })
}

function describeIssuing(newPlace: NewPlace): void {
  test('have the project, all scopes and the usual lifetime by default', async (t) => {
    const { till, account, project } = await newPlace(t).shop()

    const issued = await till.sessions.issue(account, { project_id: project.id })

    assert.equal(issued.expires_in_seconds, 3600)
    const { scopes, user_id, project_id } = await till.sessions.authenticate(issued.token)
    assert.deepEqual(
      { scopes, user_id, project_id },
      {
        scopes: ALL,
        user_id: project.id,
        project_id: project.id,
      },
    )
  })

  test('are recognised as issued by the account, unlike any token from a public key', async (t) => {
    const { till, account, project, token: first } = await newPlace(t).shop()
    const issued = await till.sessions.issue(account, { project_id: project.id, ...USER })
    assert.equal((await till.sessions.authenticate(issued.token)).issued_by, 'account')

    const { access_token } = await till.sessions.accessToken(project.public_key)
    const { token: second } = await till.sessions.token(project.public_key, USER)
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

  test('of earlier versions, which lack that claim, count as issued for a public key', async (t) => {
    const { till, project_id } = await newPlace(t).shop({ tokenSecret: SECRET })
    const keyring = createFixedKeyring(SECRET)
    for (const jti of ['0.aaaaaaaaaaaaaaaaaaaaaa', 'a', '0a.', '0a.aaaaaaaaaaaaaaaaaaaaaaa']) {
      const token = await keyring.sign({
        ...{ iss: 'tillkit', sub: 'player', project_id, scope: 'items:read' },
        ...{ jti, iat: SECONDS, exp: SECONDS + 60 },
      })
      assert.equal((await till.sessions.authenticate(token)).issued_by, 'public_key', jti)
    }
  })

  for (const seconds of [60, 86_400]) {
    test(`are valid for ${seconds} s with that lifetime`, async (t) => {
      const { till, account, project } = await newPlace(t).shop()
      const input = { project_id: project.id, user_id: 'bot', lifetime: seconds * 1000 }

      const issued = await till.sessions.issue(account, input)

      const { exp, sub } = decodeJwt(issued.token)
      assert.deepEqual([exp, sub], [SECONDS + seconds, 'bot'])
      assert.equal(Date.parse(issued.expires_at), (SECONDS + seconds) * 1000)
    })
  }

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
  test('are refused with a bad scope, lifetime, user, project or option', async (t) => {
    const { till, account, project_id } = await newPlace(t).shop()
    for (const [change, field] of bad) {
      const { code, details } = await failureOf(
        till.sessions.issue(account, { project_id, ...change }),
      )
      assert.deepEqual([code, details.map((each) => each.field)], ['invalid_request', [field]])
    }
  })

  test('are refused for a disabled project', async (t) => {
    const { till, account, project } = await newPlace(t).shop()
    await till.projects.update(account, { id: project.id, status: 'disabled' })

    const issued = till.sessions.issue(account, { project_id: project.id })
    await assert.rejects(issued, { code: 'project_inactive' })
  })
}

function describeRevocation(newPlace: NewPlace): void {
  test("of a user revokes that user's tokens, in every process at once and after a restart", async (t) => {
    const place = newPlace(t)
    const { till, clock, ...shop } = await place.shop()
    const other = await place.till()
    const { account, project } = shop
    const project_id = project.id
    const ann = await tokensOf(till, shop, 'ann')
    const bob = await tokensOf(till, shop, 'bob')
    const { access_token } = await till.sessions.accessToken(project.public_key)
    for (const token of ann) await other.sessions.authenticate(token)

    await till.sessions.revoke(account, { project_id, user_id: 'ann' })

    for (const each of [till, other]) {
      await assertTokens(each, ann, false)
      await assertTokens(each, [...bob, access_token], true)
    }
    await till.close()
    await other.close()
    const restarted = await place.till()
    await assertTokens(restarted, ann, false)
    await assertTokens(restarted, [...bob, access_token], true)
  })

  test('of a project revokes all its tokens, and those of no other', async (t) => {
    const place = newPlace(t)
    const { till, clock, ...shop } = await place.shop()
    const other = await place.till()
    const { account, project } = shop
    const neighbour = await createShop(till, 'Neighbour')
    const { access_token } = await till.sessions.accessToken(project.public_key)
    const all = [...(await tokensOf(till, shop, 'ann')), access_token, shop.token]

    await till.sessions.revoke(account, { project_id: project.id })

    for (const each of [till, other]) {
      await assertTokens(each, all, false)
      await assertTokens(each, [neighbour.token], true)
    }
  })

  test('revokes tokens issued by a clock that is ahead, or before the clock went back', async (t) => {
    const place = newPlace(t)
    const { till, clock, ...shop } = await place.shop()
    const ahead = await place.till({ now: () => clock.now() + 3_600_000 })
    const early = [...(await tokensOf(ahead, shop, 'ann')), ...(await tokensOf(till, shop, 'ann'))]
    clock.pass(-3_600_000)
    await assertTokens(till, early, true)

    await till.sessions.revoke(shop.account, { project_id: shop.project.id, user_id: 'ann' })

    await assertTokens(till, early, false)
    clock.pass(7_200_000)
    await assertTokens(till, early, false)
  })

  test('does not revoke tokens issued after it in the same second', async (t) => {
    const place = newPlace(t)
    const { till, clock, ...shop } = await place.shop()
    const other = await place.till()
    for (const user_id of ['ann', undefined]) {
      const named = user_id === undefined ? {} : { user_id }
      await till.sessions.revoke(shop.account, { project_id: shop.project.id, ...named })
      for (const each of [till, other]) {
        await assertTokens(each, await tokensOf(other, shop, 'ann'), true)
      }
    }
  })

  test('repeated in one second revokes the tokens issued in between', async (t) => {
    const { till, ...shop } = await newPlace(t).shop()
    const { account, project } = shop
    for (const user_id of ['ann', 'ann', undefined, 'ann', undefined, undefined, 'ann', 'ann']) {
      const before = await tokensOf(till, shop, 'ann')
      const named = user_id === undefined ? {} : { user_id }
      await till.sessions.revoke(account, { project_id: project.id, ...named })
      await assertTokens(till, before, false)
      await assertTokens(till, await tokensOf(till, shop, 'ann'), true)
    }
  })

  test('does not revoke new tokens when the clock then jumps back an hour', async (t) => {
    const { till, clock, ...shop } = await newPlace(t).shop()
    const old = await tokensOf(till, shop, 'ann')
    await till.sessions.revoke(shop.account, { project_id: shop.project.id })

    clock.pass(-3_600_000)

    const tokens = await tokensOf(till, shop, 'ann')
    await assertTokens(till, tokens, true)
    await assertTokens(till, old, false)
    await till.sessions.revoke(shop.account, { project_id: shop.project.id })
    await assertTokens(till, tokens, false)
  })

  test('of tokens that another tool has signed revokes all but later ones', async (t) => {
    const { till, project_id, account } = await newPlace(t).shop({ tokenSecret: SECRET })
    await till.sessions.revoke(account, { project_id })
    const sign = (iat: number) =>
      createFixedKeyring(SECRET).sign({
        iss: 'tillkit',
        sub: 'player',
        project_id,
        scope: 'items:read',
        jti: 'j-1',
        iat,
        exp: SECONDS + 3600,
      })

    await assertTokens(till, [await sign(SECONDS - 1), await sign(SECONDS)], false)
    await assertTokens(till, [await sign(SECONDS + 1)], true)
  })

  test('is refused with a bad or misspelt user_id, instead of revoking all tokens', async (t) => {
    const { till, project_id, account, token } = await newPlace(t).shop()
    const bad = [{ user: 'player' }, ...['', 1, null, 'a\0b'].map((user_id) => ({ user_id }))]
    for (const change of bad) {
      const revoked = till.sessions.revoke(account, { project_id, ...change } as never)
      await assert.rejects(revoked, { code: 'invalid_request' })
    }
    await assertTokens(till, [token], true)
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
