import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { decodeJwt } from 'jose'
import { type Account, type Till, TillError } from '../../lib/index.ts'
import { createFixedKeyring } from '../../lib/token/keyring.ts'
import { describePlaces, type Place } from '../support/place.ts'
import { createClock, createShop, fileOf } from '../support/till.ts'

const NOW = Date.UTC(2024, 2, 1, 12, 34, 56, 789)
const SECONDS = Math.floor(NOW / 1000)
const SECRET = 'a secret of the operator, 32 bytes and more'
const USER = { user_id: 'player' }
const ALL = ['items:read', 'projects:write', 'purchases:import']

type NewPlace = (t: TestContext) => Place

await describePlaces('account keys', describeAccountKeys)
await describePlaces('public keys', describePublicKeys)
await describePlaces('lockdown', describeLockdown)
await describePlaces('tokens that an account issues', describeIssuing)
await describePlaces('revocation', describeRevocation)

function describeAccountKeys(newPlace: NewPlace): void {
  test('several open one account, each by its own id', async (t) => {
    const { till, shop } = await newShop(newPlace(t))
    const { account } = shop

    const added = await till.accounts.addKey(account)

    assert.match(added.account_key, /^ak_[\w-]{43}$/)
    const { account_id } = account
    for (const { account_key, key_id } of [account, added]) {
      const found = await till.accounts.authenticate(account_key)
      assert.deepEqual([found.account_id, found.key_id], [account_id, key_id])
    }
  })

  test('are listed without what would open the account', async (t) => {
    const { till, shop } = await newShop(newPlace(t))
    const { account_key, ...added } = await till.accounts.addKey(shop.account)

    const listed = await till.accounts.listKeys(shop.account)

    const { account_id, created_at, key_id } = shop.account
    assert.deepEqual(listed, [{ account_id, created_at, key_id }, added])
  })

  test('are refused at once when they are revoked, by every process', async (t) => {
    const place = newPlace(t)
    const { till, shop } = await newShop(place)
    const other = await place.till()
    const { account } = shop
    const added = await till.accounts.addKey(account)
    await other.accounts.authenticate(account.account_key)

    await till.accounts.revokeKey(account, account.key_id)

    for (const each of [till, other]) {
      await assert.rejects(each.accounts.authenticate(account.account_key), {
        code: 'account_key_required',
      })
      assert.equal((await each.accounts.authenticate(added.account_key)).key_id, added.key_id)
    }
    const [revoked, kept] = await till.accounts.listKeys(account)
    assert.equal(typeof revoked?.revoked_at, 'string')
    assert.equal(kept?.revoked_at, undefined)
  })

  test('fail alike, revoked, unknown or no key at all', async (t) => {
    const { till, shop } = await newShop(newPlace(t))
    const { account } = shop
    await till.accounts.revokeKey(account, account.key_id)

    const revoked = await failureOf(till.accounts.authenticate(account.account_key))
    for (const key of ['', 'ak_', `ak_${'A'.repeat(43)}`, undefined]) {
      assert.deepEqual(await failureOf(till.accounts.authenticate(key)), revoked)
    }
  })

  test("are the account's own to revoke, once: a foreign one is as one that nobody has", async (t) => {
    const { till, shop } = await newShop(newPlace(t))
    const { account } = shop
    const other = await till.accounts.create({ name: 'Other' })
    const revoke = (key_id: string) => failureOf(till.accounts.revokeKey(account, key_id))

    const unknown = await revoke('key_nobody')

    assert.equal(unknown.code, 'account_key_not_found')
    assert.deepEqual(await revoke(other.key_id), unknown)
    assert.equal((await till.accounts.authenticate(other.account_key)).name, 'Other')
    await till.accounts.revokeKey(account, account.key_id)
    assert.deepEqual(await revoke(account.key_id), unknown)
  })

  test('are nothing that a session adds, lists or revokes', async (t) => {
    const { till, shop } = await newShop(newPlace(t))
    const session = (await till.sessions.authenticate(shop.token)) as unknown as Account

    await assert.rejects(till.accounts.addKey(session), TypeError)
    await assert.rejects(till.accounts.listKeys(session), TypeError)
    await assert.rejects(till.accounts.revokeKey(session, shop.account.key_id), TypeError)
  })
}

function describePublicKeys(newPlace: NewPlace): void {
  test('that are rotated with a grace open sessions beside the new one until it is over', async (t) => {
    const place = newPlace(t)
    const { till, shop, clock } = await newShop(place)
    const other = await place.till({ now: clock.now })
    const { account, project } = shop
    const id = project.id

    const rotated = await till.projects.rotateKey(account, { id, grace_seconds: 60 })

    assert.match(rotated.public_key, /^pk_[\w-]{32}$/)
    assert.notEqual(rotated.public_key, project.public_key)
    for (const each of [till, other]) {
      for (const public_key of [project.public_key, rotated.public_key]) {
        const sent = { ...USER, public_key }
        const { project: found } = await each.sessions.init(public_key, sent)
        assert.equal(found.id, id)
        await each.sessions.token(public_key, sent)
        await each.sessions.accessToken(public_key)
      }
    }
    clock.pass(59_999)
    await other.sessions.accessToken(project.public_key)
    clock.pass(1)
    for (const each of [till, other]) {
      assert.deepEqual(
        await failureOf(each.sessions.accessToken(project.public_key)),
        await failureOf(each.sessions.accessToken('pk_nobody')),
      )
      await each.sessions.accessToken(rotated.public_key)
    }
  })

  test('that are rotated without a grace are refused at once, by every process', async (t) => {
    const place = newPlace(t)
    const { till, shop, clock } = await newShop(place)
    const other = await place.till({ now: clock.now })
    const { account, project } = shop
    await other.sessions.accessToken(project.public_key)

    const rotation = { id: project.id, grace_seconds: 0 }
    const { public_key } = await till.projects.rotateKey(account, rotation)

    for (const each of [till, other]) {
      await assert.rejects(each.sessions.init(project.public_key, USER), {
        code: 'invalid_public_key',
      })
      await each.sessions.init(public_key, USER)
    }
  })

  test('that are rotated again without a grace end the grace of all before them', async (t) => {
    const { till, shop } = await newShop(newPlace(t))
    const { account, project } = shop
    const second = await till.projects.rotateKey(account, { id: project.id })
    await till.sessions.accessToken(project.public_key)

    await till.projects.rotateKey(account, { id: project.id, grace_seconds: 0 })

    for (const { public_key } of [project, second]) {
      await assert.rejects(till.sessions.accessToken(public_key), { code: 'invalid_public_key' })
    }
  })

  test('that are rotated again with a longer grace do not lengthen the one before', async (t) => {
    const { till, shop, clock } = await newShop(newPlace(t))
    const { account, project } = shop
    const second = await till.projects.rotateKey(account, { id: project.id, grace_seconds: 60 })
    await till.projects.rotateKey(account, { id: project.id, grace_seconds: 3600 })

    clock.pass(60_000)

    await assert.rejects(till.sessions.accessToken(project.public_key), {
      code: 'invalid_public_key',
    })
    await till.sessions.accessToken(second.public_key)
  })

  test('that are rotated many times at once all have their grace, and one is the new one', async (t) => {
    const place = newPlace(t)
    const { till, shop, clock } = await newShop(place)
    const tills = [till, await place.till({ now: clock.now })]
    const { account, project } = shop
    const rotations = Array.from({ length: 10 }, (_, n) =>
      (tills[n % 2] as Till).projects.rotateKey(account, { id: project.id, grace_seconds: 60 }),
    )

    const keys = (await Promise.all(rotations)).map(({ public_key }) => public_key)

    for (const key of [project.public_key, ...keys]) await till.sessions.accessToken(key)
    clock.pass(60_000)
    const left = await Promise.all(
      keys.map((key) => till.sessions.accessToken(key).catch(() => undefined)),
    )
    assert.equal(left.filter(Boolean).length, 1)
  })

  test('that are former ones show the project as it was, not its new key', async (t) => {
    const { till, shop } = await newShop(newPlace(t))
    const { account, project } = shop
    const { public_key } = await till.projects.rotateKey(account, { id: project.id })

    const former = await till.projects.authenticate(project.public_key)
    const session = await till.sessions.init(project.public_key, USER)

    assert.equal(former.public_key, project.public_key)
    assert.equal(session.project.public_key, project.public_key)
    assert.equal((await till.projects.authenticate(public_key)).public_key, public_key)
    assert.equal((await till.projects.get(account, project.id)).public_key, public_key)
  })

  test('in a body must be the one that was sent, old or new', async (t) => {
    const { till, shop } = await newShop(newPlace(t))
    const { account, project } = shop
    const { public_key } = await till.projects.rotateKey(account, { id: project.id })

    for (const [sent, other] of [
      [public_key, project.public_key],
      [project.public_key, public_key],
    ] as const) {
      const failed = till.sessions.token(sent, { ...USER, public_key: other })
      await assert.rejects(failed, { code: 'invalid_request' })
    }
  })

  test('have a day of grace unless told, and one of whole seconds to 30 days', async (t) => {
    const { till, shop, clock } = await newShop(newPlace(t))
    const { account, project } = shop
    const { id, public_key } = project
    for (const grace_seconds of [-1, 30 * 86_400 + 1, 1.5, '60', null]) {
      const rotation = till.projects.rotateKey(account, { id, grace_seconds })
      await assert.rejects(rotation, { code: 'invalid_request' })
    }
    await till.projects.rotateKey(account, { id })
    clock.pass(86_399_999)
    await till.sessions.accessToken(public_key)
    clock.pass(1)
    await assert.rejects(till.sessions.accessToken(public_key), { code: 'invalid_public_key' })
    await till.projects.rotateKey(account, { id, grace_seconds: 30 * 86_400 })
  })

  test('of a foreign project are as those of one that is not there', async (t) => {
    const { till, shop } = await newShop(newPlace(t))
    const other = await till.accounts.create({ name: 'Other' })
    const rotate = (id: string) => failureOf(till.projects.rotateKey(other, { id }))

    assert.deepEqual(await rotate(shop.project.id), await rotate('prj_nobody'))
    await till.sessions.accessToken(shop.project.public_key)
  })

  test('of a disabled project open nothing, in their grace neither', async (t) => {
    const { till, shop } = await newShop(newPlace(t))
    const { account, project } = shop
    await till.projects.rotateKey(account, { id: project.id })
    await till.projects.update(account, { id: project.id, status: 'disabled' })

    const failed = till.sessions.accessToken(project.public_key)
    await assert.rejects(failed, { code: 'project_inactive' })
  })
}

function describeLockdown(newPlace: NewPlace): void {
  test('lets what was got with a public key read items, and nothing more', async (t) => {
    const { till, shop } = await newShop(newPlace(t), { lockdown: true })
    const { public_key, id } = shop.project
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

  test('leaves the tokens that an account issues the scopes that it gives them', async (t) => {
    const { till, shop } = await newShop(newPlace(t), { lockdown: true })
    const { account, project } = shop
    const issue = (scopes?: string[]) =>
      till.sessions.issue(account, { project_id: project.id, scopes })

    const [all, one] = [await issue(), await issue(['purchases:import'])]

    assert.deepEqual((await till.sessions.authenticate(all.token)).scopes, ALL)
    await till.sessions.authenticate(one.token, 'purchases:import')
    await assert.rejects(till.sessions.authenticate(one.token, 'items:read'), {
      code: 'insufficient_scope',
    })
  })

  test('says of a token that is no good only that, whatever scope is wanted', async (t) => {
    const { till } = await newShop(newPlace(t), { lockdown: true })

    const failed = till.sessions.authenticate('gold', 'projects:write')
    await assert.rejects(failed, { code: 'token_required' })
  })
}

function describeIssuing(newPlace: NewPlace): void {
  test('have the project, all scopes and the usual life unless told', async (t) => {
    const { till, shop } = await newShop(newPlace(t))
    const { account, project } = shop

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

  for (const lifetime of [60, 86_400]) {
    test(`live ${lifetime} s when they are given so much`, async (t) => {
      const { till, shop } = await newShop(newPlace(t))
      const { account, project } = shop
      const input = { project_id: project.id, user_id: 'bot', lifetime }

      const issued = await till.sessions.issue(account, input)

      const { exp, sub } = decodeJwt(issued.token)
      assert.deepEqual([exp, sub], [SECONDS + lifetime, 'bot'])
      assert.equal(Date.parse(issued.expires_at), (SECONDS + lifetime) * 1000)
    })
  }

  const bad: [string, object, string][] = [
    ['no scope', { scopes: [] }, 'scopes'],
    ['an unknown scope', { scopes: ['items:read', 'everything'] }, 'scopes[1]'],
    ['scopes that are one string', { scopes: 'items:read' }, 'scopes'],
    ['more scopes than there are', { scopes: Array(4).fill('items:read') }, 'scopes'],
    ['a life of 59 s', { lifetime: 59 }, 'lifetime'],
    ['a life of more than a day', { lifetime: 86_401 }, 'lifetime'],
    ['a life of half a second too much', { lifetime: 60.5 }, 'lifetime'],
    ['a life in a string', { lifetime: '60' }, 'lifetime'],
    ['an empty user', { user_id: '' }, 'user_id'],
    ['a user with a control character', { user_id: 'a\nb' }, 'user_id'],
    ['a project that is no string', { project_id: 1 }, 'project_id'],
  ]
  for (const [what, change, field] of bad) {
    test(`are refused with ${what}`, async (t) => {
      const { till, shop } = await newShop(newPlace(t))
      const { account, project } = shop

      const issued = till.sessions.issue(account, { project_id: project.id, ...change })

      const { code, details } = await failureOf(issued)
      assert.deepEqual([code, details.map((each) => each.field)], ['invalid_request', [field]])
    })
  }

  test('are not for a foreign project, nor for one that is not there, alike', async (t) => {
    const { till, shop } = await newShop(newPlace(t))
    const other = await till.accounts.create({ name: 'Other' })
    const issue = (project_id: string) => failureOf(till.sessions.issue(other, { project_id }))

    assert.deepEqual(await issue(shop.project.id), await issue('prj_nobody'))
  })

  test('are not for a project that is disabled', async (t) => {
    const { till, shop } = await newShop(newPlace(t))
    const { account, project } = shop
    await till.projects.update(account, { id: project.id, status: 'disabled' })

    const issued = till.sessions.issue(account, { project_id: project.id })
    await assert.rejects(issued, { code: 'project_inactive' })
  })

  test('are not given out or taken back by a session', async (t) => {
    const { till, shop } = await newShop(newPlace(t))
    const session = (await till.sessions.authenticate(shop.token)) as unknown as Account
    const named = { project_id: shop.project.id }

    await assert.rejects(till.sessions.issue(session, named), TypeError)
    await assert.rejects(till.sessions.revoke(session, named), TypeError)
  })
}

function describeRevocation(newPlace: NewPlace): void {
  test("of a user ends that user's tokens, for every process at once and after a restart", async (t) => {
    const place = newPlace(t)
    const { till, shop, clock } = await newShop(place)
    const other = await place.till({ now: clock.now })
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
    const restarted = await place.till({ now: clock.now })
    await assertTokens(restarted, ann, false)
    await assertTokens(restarted, [...bob, access_token], true)
  })

  test('of a project ends all its tokens, and those of no other', async (t) => {
    const place = newPlace(t)
    const { till, shop, clock } = await newShop(place)
    const other = await place.till({ now: clock.now })
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

  test('ends what a clock ahead has issued, or ours before it went back', async (t) => {
    const place = newPlace(t)
    const { till, shop, clock } = await newShop(place)
    const ahead = await place.till({ now: () => clock.now() + 3_600_000 })
    const early = [...(await tokensOf(ahead, shop, 'ann')), ...(await tokensOf(till, shop, 'ann'))]
    clock.pass(-3_600_000)
    await assertTokens(till, early, true)

    await till.sessions.revoke(shop.account, { project_id: shop.project.id, user_id: 'ann' })

    await assertTokens(till, early, false)
    clock.pass(7_200_000)
    await assertTokens(till, early, false)
  })

  test('ends nothing that is issued after it in the same second', async (t) => {
    const place = newPlace(t)
    const { till, shop, clock } = await newShop(place)
    const other = await place.till({ now: clock.now })
    for (const user_id of ['ann', undefined]) {
      const named = user_id === undefined ? {} : { user_id }
      await till.sessions.revoke(shop.account, { project_id: shop.project.id, ...named })
      for (const each of [till, other]) {
        await assertTokens(each, await tokensOf(other, shop, 'ann'), true)
      }
    }
  })

  test('many times in one second ends what was issued in between', async (t) => {
    const { till, shop } = await newShop(newPlace(t))
    const { account, project } = shop
    for (const user_id of ['ann', 'ann', undefined, 'ann', undefined, undefined, 'ann', 'ann']) {
      const before = await tokensOf(till, shop, 'ann')
      const named = user_id === undefined ? {} : { user_id }
      await till.sessions.revoke(account, { project_id: project.id, ...named })
      await assertTokens(till, before, false)
      await assertTokens(till, await tokensOf(till, shop, 'ann'), true)
    }
  })

  test('of a user and then the project in one second ends both', async (t) => {
    const { till, shop } = await newShop(newPlace(t))
    const { account, project } = shop
    await till.sessions.revoke(account, { project_id: project.id, user_id: 'ann' })
    const ann = await tokensOf(till, shop, 'ann')
    const bob = await tokensOf(till, shop, 'bob')

    await till.sessions.revoke(account, { project_id: project.id })

    await assertTokens(till, [...ann, ...bob], false)
    await assertTokens(till, await tokensOf(till, shop, 'ann'), true)
    await assertTokens(till, await tokensOf(till, shop, 'bob'), true)
  })

  test('lets new tokens work when the clock jumps back an hour after it', async (t) => {
    const place = newPlace(t)
    const { till, shop, clock } = await newShop(place)
    const old = await tokensOf(till, shop, 'ann')
    await till.sessions.revoke(shop.account, { project_id: shop.project.id })

    clock.pass(-3_600_000)

    const tokens = await tokensOf(till, shop, 'ann')
    await assertTokens(till, tokens, true)
    await assertTokens(till, old, false)
    await assertTokens(await place.till({ now: clock.now }), tokens, true)
    await till.sessions.revoke(shop.account, { project_id: shop.project.id })
    await assertTokens(till, tokens, false)
    await assertTokens(till, await tokensOf(till, shop, 'ann'), true)
  })

  test('of what another tool has signed ends all but what is later', async (t) => {
    const { till, shop } = await newShop(newPlace(t), { tokenSecret: SECRET })
    await till.sessions.revoke(shop.account, { project_id: shop.project.id })
    const sign = (iat: number) =>
      createFixedKeyring(SECRET).sign({
        iss: 'tillkit',
        sub: 'player',
        project_id: shop.project.id,
        scope: 'items:read',
        jti: 'j-1',
        iat,
        exp: SECONDS + 3600,
      })

    await assertTokens(till, [await sign(SECONDS - 1), await sign(SECONDS)], false)
    await assertTokens(till, [await sign(SECONDS + 1)], true)
  })

  test('of a foreign project is as that of one that is not there, and ends nothing', async (t) => {
    const { till, shop } = await newShop(newPlace(t))
    const other = await till.accounts.create({ name: 'Other' })
    const revoke = (project_id: string) => failureOf(till.sessions.revoke(other, { project_id }))

    assert.deepEqual(await revoke(shop.project.id), await revoke('prj_nobody'))
    await assertTokens(till, [shop.token], true)
  })

  test('names a user that may be, or none', async (t) => {
    const { till, shop } = await newShop(newPlace(t))
    for (const user_id of ['', 1, null, 'a\0b']) {
      const revoked = till.sessions.revoke(shop.account, { project_id: shop.project.id, user_id })
      await assert.rejects(revoked, { code: 'invalid_request' })
    }
    await assertTokens(till, [shop.token], true)
  })
}

async function newShop(place: Place, options: Parameters<Place['till']>[0] = {}) {
  const clock = createClock(NOW)
  const till = await place.till({ now: clock.now, ...options })
  return { till, shop: await createShop(till), clock }
}

type Shop = Awaited<ReturnType<typeof createShop>>

/** One token of a user from each way to get one. */
async function tokensOf(till: Till, { account, project }: Shop, user_id: string) {
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

/** All that a caller is told. */
async function failureOf(operation: Promise<unknown>) {
  const error = await operation.then(
    () => assert.fail('it succeeded'),
    (reason: unknown) => reason,
  )
  if (!(error instanceof TillError)) throw error
  const { code, kind, title, message, details, total } = error
  return { code, kind, title, message, details, total }
}
