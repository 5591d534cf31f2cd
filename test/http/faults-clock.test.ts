import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Till } from '../../lib/index.ts'
import { collect } from '../support/collect.ts'
import { describeFiles, type Place } from '../support/place.ts'
import { createSignal } from '../support/server.ts'
import { fileOf, NOW } from '../support/till.ts'

const HOUR = 3_600_000
const JUMPS = [-HOUR, HOUR]

await describeFiles('a clock that jumps by an hour', (newPlace) => {
  for (const jump of JUMPS) {
    const where = jump < 0 ? 'back' : 'forward'
    test(`${where}: tokens with a life of one day stay valid, revoked ones stay revoked, new ones work`, async (t) => {
      const { till, other, clock, account, project } = await setUp(newPlace(t))
      const { id: project_id, public_key } = project
      const lasting = { project_id, user_id: 'lasting', lifetime: 86_400_000 }
      const { token } = await till.sessions.issue(account, lasting)
      const { token: revoked } = await till.sessions.issue(account, { ...lasting, user_id: 'gone' })
      await till.sessions.revoke(account, { project_id, user_id: 'gone' })

      clock.pass(jump)

      for (const each of [till, other]) {
        assert.equal((await each.sessions.authenticate(token)).user_id, 'lasting')
        await assert.rejects(each.sessions.authenticate(revoked), { code: 'token_required' })
        const issued = await each.sessions.token(public_key, { user_id: 'gone', public_key })
        assert.equal((await till.sessions.authenticate(issued.token)).user_id, 'gone')
        assert.equal((await other.sessions.authenticate(issued.token)).user_id, 'gone')
        await each.sessions.revoke(account, { project_id, user_id: 'gone' })
        await assert.rejects(till.sessions.authenticate(issued.token), { code: 'token_required' })
        await assert.rejects(other.sessions.authenticate(issued.token), { code: 'token_required' })
      }
    })

    test(`${where}: tokens of signing keys from before and after the jump are valid`, async (t) => {
      const { till, other, clock, project } = await setUp(newPlace(t))
      const { public_key } = project
      const tokens: string[] = []
      const issue = async (by: Till) => {
        const { token } = await by.sessions.token(public_key, { user_id: 'player', public_key })
        tokens.push(token)
      }
      await till.operations.rotateSigningKeys()
      await issue(till)
      clock.pass(jump)
      await issue(till)
      await till.operations.rotateSigningKeys()
      await issue(till)
      await issue(other)
      clock.pass(10_000)
      await issue(till)
      await issue(other)

      // Tokens from before a jump forward have expired.
      const valid = jump < 0 ? tokens : tokens.slice(1)
      for (const each of [till, other]) {
        for (const token of valid) await each.sessions.authenticate(token)
      }
    })

    test(`${where}: a repeat with an Idempotency-Key replays the first answer`, async (t) => {
      const { till, other, clock, account } = await setUp(newPlace(t))
      const options = { idempotencyKey: 'key-1' }
      const first = await till.items.create(account, itemNamed('shield'), options)

      clock.pass(jump)

      assert.deepEqual(await other.items.create(account, itemNamed('shield'), options), first)
      await assert.rejects(till.items.create(account, itemNamed('sword'), options), {
        code: 'invalid_request',
      })
    })

    test(`${where}: lists keep the order of creation, and their pages are complete`, async (t) => {
      const { till, clock, account, token } = await setUp(newPlace(t))
      const session = await till.sessions.authenticate(token)
      const names = ['gold']
      const create = async (name: string) => {
        await till.items.create(account, itemNamed(name))
        await till.purchases.import(account, {
          store_id: 'main',
          file: fileOf(`transaction_id,sku,purchased_at\n${name},${name},2024-01-15T10:00:00Z\n`),
        })
        names.push(name)
      }
      for (const name of ['a1', 'a2', 'a3']) await create(name)
      clock.pass(jump)
      for (const name of ['b1', 'b2', 'b3']) await create(name)

      const listed: string[] = []
      let cursor: string | undefined
      do {
        const page = await till.items.list(session, { store_id: 'main', limit: 2, cursor })
        listed.push(...page.items.map(({ name }) => name))
        cursor = page.next
      } while (cursor !== undefined)
      assert.deepEqual(listed, names)

      const imported: string[] = []
      let from: string | undefined
      do {
        const query = { store_id: 'main', limit: 2, cursor: from }
        const page = await till.purchases.list(account, query)
        imported.push(...page.purchases.map(({ transaction_id }) => transaction_id))
        from = page.next
      } while (from !== undefined)
      assert.deepEqual(imported, names.slice(1))

      const actions = (await collect(till.operations.allAudit({}))).map(({ action }) => action)
      const tail = Array.from({ length: 6 }, () => ['item.create', 'purchases.import']).flat()
      assert.deepEqual(actions.slice(-12), tail)
    })

    test(`${where}: a running import stores all its rows or none, and the next ones run`, async (t) => {
      const { till, other, clock, account } = await setUp(newPlace(t))
      const now = Date.now
      t.mock.method(Date, 'now', () => now() + clock.now() - NOW)
      const [begun, released] = [createSignal(), createSignal()]
      const request = { store_id: 'main' }
      const first = till.purchases.import(account, {
        ...request,
        file: (async function* () {
          yield Buffer.from('transaction_id,sku,purchased_at\nT-1,gold,1700000000\n')
          begun.give()
          await released.given
        })(),
      })
      const failed = first.then(
        () => undefined,
        ({ code }) => code,
      )
      await begun.given

      clock.pass(jump)
      const file = () => fileOf('transaction_id,sku,purchased_at\nT-2,gold,1700000000\n')
      const later = [till, other].map((each) =>
        each.purchases.import(account, { ...request, file: file() }),
      )
      await new Promise((resolve) => setTimeout(resolve, 200)) // four checks by each
      released.give()

      const added = (await Promise.all(later)).reduce((sum, each) => sum + each.added, 0)
      assert.equal(added, 1)
      const failure = await failed
      assert.ok([undefined, 'storage_unavailable'].includes(failure), failure)
      const { purchases } = await till.purchases.list(account, { store_id: 'main' })
      const stored = purchases.map(({ transaction_id }) => transaction_id)
      assert.deepEqual(stored.sort(), failure ? ['T-2'] : ['T-1', 'T-2'])
    })
  }

  test('forward and back again: nothing expires earlier', async (t) => {
    const { till, clock, account, project } = await setUp(newPlace(t))
    const { id: project_id, public_key } = project
    const { token } = await till.sessions.token(public_key, { user_id: 'player', public_key })
    await till.projects.rotateKey(account, { id: project_id, gracePeriod: 1_800_000 })
    const former = () => till.sessions.token(public_key, { user_id: 'player', public_key })

    clock.pass(HOUR + 10_000)
    await assert.rejects(till.sessions.authenticate(token), { code: 'token_required' })
    await assert.rejects(former(), { code: 'invalid_public_key' })

    clock.pass(-HOUR - 10_000)
    await till.sessions.authenticate(token)
    await former()
  })
})

async function setUp(place: Place) {
  return { ...(await place.shop()), other: await place.till() }
}

function itemNamed(name: string) {
  return { store_id: 'main', name, display_name: name, price: '1', type: 'consumable' as const }
}
