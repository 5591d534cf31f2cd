import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import {
  type Account,
  type AttemptResult,
  createTill,
  type OutgoingMessage,
  type Till,
  type TillOptions,
} from '../../../lib/index.ts'
import { collect } from '../../support/collect.ts'
import { eventuallyHolds } from '../../support/eventually.ts'
import { temporaryFolder } from '../../support/folder.ts'
import { importRefunds } from '../../support/refunds.ts'
import { createClock, createShop, fileOf } from '../../support/till.ts'
import type { OpenStorage } from './open.ts'

const URL = 'https://hooks.example.com/till'
const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
const OK = { status: 200 }
const DOWN = { status: 503, answer: 'busy' }
const DAY = 86_400_000

type Answer = Pick<AttemptResult, 'status' | 'error' | 'released' | 'retry_after' | 'answer'>

export function describeWebhooks(open: OpenStorage): void {
  /** A project with an endpoint, a store and a clock that the test moves. */
  const openHooks = async (t: TestContext, options: Partial<TillOptions> = {}) => {
    const storage = await open(t)
    const clock = createClock(Date.parse('2026-01-31T12:00:00Z'))
    const till = createTill({ storage, now: clock.now, ...options })
    const shop = await createShop(till)
    const config = { webhook_url: URL, webhook_secret: SECRET }
    await till.projects.update(shop.account, { id: shop.project.id, config })
    return { ...shop, storage, till, clock, endpoint_id: shop.project.id }
  }

  const claim = async (till: Till, holder = 'sender', lease?: number) =>
    (await till.outbox.claim({ holder, ...(lease !== undefined && { lease }) })).messages

  /** Waits, because on PostgreSQL a transaction of another test may hold back what follows it. */
  const claimSome = async (till: Till, count: number, holder = 'sender', limit?: number) => {
    const found: OutgoingMessage[] = []
    await eventuallyHolds(async () => {
      const most = limit === undefined ? undefined : limit - found.length
      found.push(...(await till.outbox.claim({ holder, limit: most })).messages)
      assert.equal(found.length, count)
    })
    return found
  }

  const settle = (
    till: Till,
    messages: readonly OutgoingMessage[],
    answer: Answer,
    holder = 'sender',
  ) =>
    till.outbox.settle(
      holder,
      messages.map(({ endpoint_id, sequence, part }) => {
        return { endpoint_id, sequence, part, duration_ms: 12, ...answer }
      }),
    )

  const bodies = (messages: readonly OutgoingMessage[]) =>
    messages.map(({ body }) => JSON.parse(body)).sort((a, b) => a.sequence - b.sequence)

  const typesOf = (messages: readonly OutgoingMessage[]) => bodies(messages).map(({ type }) => type)

  const newItem = (till: Till, account: Account, store_id: string, name: string) =>
    till.items.create(account, {
      store_id,
      name,
      display_name: name,
      price: '499',
      type: 'consumable',
    })

  test('an endpoint receives signed events of its project, from its creation on', async (t) => {
    const { till, account, store, clock, project } = await openHooks(t)
    const item = await newItem(till, account, store.store_id, 'gem')

    const [message] = await claimSome(till, 1)

    assert.ok(message)
    assert.equal(message.url, URL)
    assert.equal(message.attempt, 1)
    const { type, timestamp, sequence, data } = JSON.parse(message.body)
    assert.equal(type, 'item.created')
    assert.equal(timestamp, new Date(clock.now()).toISOString())
    assert.equal(sequence, message.sequence)
    assert.equal(data.store_id, store.store_id)
    assert.equal(data.item.id, item.id)
    const { 'webhook-id': id, 'webhook-timestamp': at, ...headers } = message.headers
    const key = Buffer.from(SECRET.slice(6), 'base64')
    const mac = createHmac('sha256', key).update(`${id}.${at}.${message.body}`).digest('base64')
    assert.deepEqual(headers, {
      'content-type': 'application/json',
      'webhook-signature': `v1,${mac}`,
    })
    await settle(till, [message], OK)
    assert.deepEqual(await claim(till), [])
    const endpoint = await till.webhooks.get(account, project.id)
    assert.equal(endpoint.lag, 0)
    assert.equal(endpoint.is_signed, true)
    const { deliveries } = await till.webhooks.log(account, { endpoint_id: project.id })
    assert.deepEqual(
      deliveries.map(({ state, status, type, attempts }) => ({ state, status, type, attempts })),
      [{ state: 'delivered', status: 200, type: 'item.created', attempts: 1 }],
    )
  })

  test('each kind of change creates its event', async (t) => {
    const { till, account, store, project, endpoint_id } = await openHooks(t)
    const { store_id } = store
    await till.projects.update(account, { id: project.id, name: 'New name' })
    await till.stores.update(account, { store_id, is_sandbox: true })
    const gem = await newItem(till, account, store_id, 'gem')
    await till.items.update(account, { id: gem.id, price: '599' })
    await till.items.archive(account, gem.id)
    await till.items.restore(account, gem.id)
    const row = (status: string) => `t1,gem,2026-01-01T00:00:00Z,ann,${status}\n`
    const header = 'transaction_id,sku,purchased_at,user_id,status\n'
    const load = (text: string) => till.purchases.import(account, { store_id, file: fileOf(text) })
    await load(header + row('purchased'))
    const { import_id } = await load(header + row('refunded'))
    await till.purchases.record(account, {
      ...{ store_id, transaction_id: 't2', sku: 'gem', user_id: 'bob' },
      purchased_at: '2026-01-02T00:00:00Z',
    })
    await till.webhooks.test(account, endpoint_id)

    const found = bodies(await claimSome(till, 11))

    const byType = (type: string) => found.find((each) => each.type === type)
    assert.deepEqual(found.map(({ type }) => type).sort(), [
      'item.archived',
      'item.created',
      'item.restored',
      'item.updated',
      'project.updated',
      'purchase.recorded',
      'purchases.imported',
      'purchases.imported',
      'purchases.refunded',
      'store.updated',
      'webhook.test',
    ])
    assert.deepEqual(byType('item.updated').data.change.price, { old: 499, new: 599 })
    assert.equal(byType('purchase.recorded').data.user_id, 'bob')
    assert.equal(byType('purchase.recorded').data.sku, 'gem')
    const refunded = byType('purchases.refunded')
    assert.deepEqual(refunded.data, {
      ...{ store_id, import_id },
      purchases: [{ transaction_id: 't1', user_id: 'ann', sku: 'gem', status: 'refunded' }],
    })
    assert.equal(refunded.part, 1)
    assert.doesNotMatch(JSON.stringify(found), /whsec_/)
  })

  test('the refunds of an import are read in parts, whose ids stay the same', async (t) => {
    const { till, account, endpoint_id } = await openHooks(t)
    await importRefunds(till, account, 300)
    const claimAll = async (holder: string) => {
      const found = new Map<unknown, OutgoingMessage>()
      await eventuallyHolds(async () => {
        const { messages } = await till.outbox.claim({ holder, limit: 2 })
        assert.ok(messages.length <= 2)
        for (const each of messages) found.set(each.headers['webhook-id'], each)
        assert.equal(found.size, 5)
      })
      return [...found.values()]
    }
    const idsOf = (messages: readonly OutgoingMessage[]) =>
      messages.map(({ headers }) => headers['webhook-id']).sort()
    const purchasesOf = (messages: readonly OutgoingMessage[]) =>
      bodies(messages).flatMap(({ data }) => data.purchases ?? [])

    // A replay starts again with the first part of the entry that is half read.
    const begun = await claimSome(till, 2, 'one', 2)
    const newest = Math.max(...begun.map(({ sequence }) => sequence))
    await till.webhooks.replay(account, { endpoint_id, from: newest })
    await till.outbox.release('one')
    const first = await claimAll('two')
    await settle(till, first, OK, 'two')
    // The next holder continues where the last one stopped, between two parts.
    await eventuallyHolds(async () => {
      const from = Math.min(...begun.map(({ sequence }) => sequence))
      await till.webhooks.replay(account, { endpoint_id, from })
    })
    await claimSome(till, 2, 'two', 2)
    await till.outbox.release('two')
    const again = await claimAll('three')

    assert.equal(new Set(purchasesOf(first).map((each) => each.transaction_id)).size, 300)
    assert.deepEqual(idsOf(again), idsOf(first))
    assert.deepEqual(purchasesOf(again), purchasesOf(first))
  })

  test('an undone import and an erased user create events without the user', async (t) => {
    const { till, account, store, project } = await openHooks(t)
    const { store_id } = store
    await newItem(till, account, store_id, 'gem')
    const file = fileOf(
      'transaction_id,sku,purchased_at,user_id\nt1,gem,2026-01-01T00:00:00Z,ann\n',
    )
    const { import_id } = await till.purchases.import(account, { store_id, file })
    await till.imports.undo(account, { import_id })
    await till.users.erase(account, { project_id: project.id, user_id: 'ann' })

    const found = await claimSome(till, 4)

    assert.deepEqual(typesOf(found).slice(1), [
      'purchases.imported',
      'purchases.undone',
      'user.erased',
    ])
    assert.ok(bodies(found).every((body) => !JSON.stringify(body.data).includes('"ann"')))
  })

  test('a catalog creates the events of its items and stores', async (t) => {
    const { till, account, store, project } = await openHooks(t)
    const gem = await newItem(till, account, store.store_id, 'gem')
    await settle(till, await claimSome(till, 1), OK)
    const items = [
      { name: 'gem', price: '599' },
      { name: 'coin', display_name: 'Coin', price: '1', type: 'consumable' as const },
    ]
    const stores = [
      { store_id: store.store_id, is_sandbox: true, items },
      { store_id: 'new', store_type: 'web' as const, items: [] },
    ]
    const request = { project_id: project.id, catalog: { stores }, createStores: true }
    await till.catalog.apply(account, request)

    const found = bodies(await claimSome(till, 4))

    assert.deepEqual(found.map(({ type }) => type).sort(), [
      'item.created',
      'item.updated',
      'store.created',
      'store.updated',
    ])
    const updated = found.find(({ type }) => type === 'item.updated')
    assert.equal(updated.data.item.id, gem.id)
    assert.deepEqual(updated.data.change.price, { old: 499, new: 599 })
  })

  test('the endpoint of a store receives only events of that store', async (t) => {
    const { till, account, project, store } = await openHooks(t)
    await till.projects.update(account, { id: project.id, config: {} })
    const store_config = { webhook_url: URL, webhook_enabled: true }
    await till.stores.update(account, { store_id: store.store_id, store_config })
    await till.stores.create(account, {
      ...{ project_id: project.id, store_id: 'other', store_type: 'web' },
    })
    await newItem(till, account, 'other', 'no')
    const item = await newItem(till, account, store.store_id, 'yes')

    const [message] = await claimSome(till, 1)

    assert.equal(message?.endpoint_id, `${project.id}/${store.store_id}`)
    assert.equal(bodies([message as OutgoingMessage])[0].data.item.id, item.id)
    assert.equal(message?.headers['webhook-signature'], undefined)
    const { endpoints } = await till.webhooks.list(account)
    assert.deepEqual(
      endpoints.map(({ is_signed, state }) => ({ is_signed, state })),
      [{ is_signed: false, state: 'active' }],
    )
  })

  test('accounts take turns, and so do the endpoints of an account', async (t) => {
    const { till, account, project } = await openHooks(t)
    const stores = Array.from({ length: 30 }, (_, i) => `store_${i}`)
    const store_config = { webhook_url: URL, webhook_enabled: true }
    for (const store_id of stores) {
      const store = { project_id: project.id, store_id, store_config }
      await till.stores.create(account, { ...store, store_type: 'web' })
      await newItem(till, account, store_id, 'gem')
    }
    const small = await createShop(till, 'Small')
    await till.projects.update(small.account, {
      ...{ id: small.project.id, config: { webhook_url: 'https://small.example.com/' } },
    })
    const seen = new Set<string>()

    for (let round = 0; round < 4; round++) {
      await newItem(till, small.account, 'main', `gem_${round}`)
      await eventuallyHolds(async () => {
        const { messages } = await till.outbox.claim({ holder: 'sender', limit: 1 })
        for (const { endpoint_id } of messages) seen.add(endpoint_id)
        assert.ok(messages.some(({ url }) => url.includes('small')))
      })
    }

    // Each claim serves 10 endpoints: one of the small account, and 9 others.
    assert.equal(seen.size, 1 + 31)
  })

  test('the endpoint of a store has nothing to do for the events of other stores', async (t) => {
    const { till, account, project } = await openHooks(t)
    const store_config = { webhook_url: URL, webhook_enabled: true }
    for (let i = 0; i < 12; i++) {
      const store = { project_id: project.id, store_id: `store_${i}`, store_config }
      await till.stores.create(account, { ...store, store_type: 'web' })
    }
    await settle(till, await claimSome(till, 12), OK)

    await newItem(till, account, 'store_3', 'gem')

    await eventuallyHolds(async () => {
      const { messages, next } = await till.outbox.claim({ holder: 'sender' })
      const ids = messages.map(({ endpoint_id }) => endpoint_id).sort()
      assert.deepEqual(ids, [project.id, `${project.id}/store_3`])
      assert.ok(next > 0)
    })
  })

  test('a URL that a session sets receives nothing until the account confirms it', async (t) => {
    const { till, account, store, project, endpoint_id, token } = await openHooks(t)
    const session = await till.sessions.authenticate(token)
    const other = 'https://evil.example.com/'
    await till.projects.update(session, { id: project.id, config: { webhook_url: other } })
    await newItem(till, account, store.store_id, 'gem')

    const found = await claimSome(till, 2)

    assert.ok(found.every(({ url }) => url === URL))
    await settle(till, found, OK)
    const endpoint = await till.webhooks.get(account, endpoint_id)
    assert.equal(endpoint.unconfirmed_url, other)
    const wrong = till.webhooks.confirm(account, endpoint_id, { url: URL })
    await assert.rejects(wrong, { code: 'invalid_request' })
    await till.webhooks.confirm(account, endpoint_id, { url: other })
    await newItem(till, account, store.store_id, 'coin')
    const [message] = await claimSome(till, 1)
    assert.equal(message?.url, other)
    assert.equal(message?.headers['webhook-signature'], undefined, 'the secret is not inherited')
  })

  test('a URL that a session set stays unconfirmed when the account changes the secret', async (t) => {
    const { till, account, store, project, endpoint_id, token } = await openHooks(t)
    const session = await till.sessions.authenticate(token)
    const other = 'https://evil.example.com/'
    await till.projects.update(session, { id: project.id, config: { webhook_url: other } })
    const config = { webhook_url: other, webhook_secret: 'a new secret' }
    await till.projects.update(account, { id: project.id, config })
    await newItem(till, account, store.store_id, 'gem')

    const { url, unconfirmed_url } = await till.webhooks.get(account, endpoint_id)
    assert.deepEqual({ url, unconfirmed_url }, { url: URL, unconfirmed_url: other })
    assert.ok((await claimSome(till, 3)).every((message) => message.url === URL))
  })

  test('an endpoint whose URL a session removed outlives other changes of the account', async (t) => {
    const { till, account, project, endpoint_id, token } = await openHooks(t)
    const session = await till.sessions.authenticate(token)
    await till.projects.update(session, { id: project.id, config: {} })
    await till.projects.update(account, { id: project.id, config: { theme: 'dark' } })

    const { url, state } = await till.webhooks.get(account, endpoint_id)
    assert.deepEqual({ url, state }, { url: URL, state: 'active' })
  })

  test('a session cannot stop the endpoint of the account', async (t) => {
    const { till, account, store, project, token } = await openHooks(t)
    const session = await till.sessions.authenticate(token)
    await till.projects.update(session, { id: project.id, config: {} })
    await newItem(till, account, store.store_id, 'gem')
    assert.equal((await claimSome(till, 2)).length, 2)
  })

  test('a first URL that a session sets waits for the account, and starts then', async (t) => {
    const { till, account, store, project, endpoint_id, token } = await openHooks(t)
    await till.projects.update(account, { id: project.id, config: {} })
    const session = await till.sessions.authenticate(token)
    await till.projects.update(session, { id: project.id, config: { webhook_url: URL } })
    await newItem(till, account, store.store_id, 'early')
    assert.deepEqual(await claim(till), [])
    const { state, url } = await till.webhooks.get(account, endpoint_id)
    assert.deepEqual({ state, url }, { state: 'unconfirmed', url: '' })

    await till.webhooks.confirm(account, endpoint_id)
    const item = await newItem(till, account, store.store_id, 'later')

    const found = bodies(await claimSome(till, 1))
    assert.equal(found[0].data.item.id, item.id)
  })

  test('a replaced secret signs for a day beside the new one', async (t) => {
    const { till, account, store, project, clock } = await openHooks(t)
    const config = { webhook_url: URL, webhook_secret: 'a second secret' }
    await till.projects.update(account, { id: project.id, config })

    const [first] = await claimSome(till, 1)
    await settle(till, [first as OutgoingMessage], OK)
    clock.pass(DAY)
    await newItem(till, account, store.store_id, 'gem')
    const [second] = await claimSome(till, 1)

    const count = (message?: OutgoingMessage) =>
      message?.headers['webhook-signature']?.split(' ').length
    assert.deepEqual([count(first), count(second)], [2, 1])
  })

  test('a secret that no master key opens disables the endpoint', async (t) => {
    const masterKeys = [Buffer.alloc(32, 1)]
    const { storage, till, account, store, clock } = await openHooks(t, { masterKeys })
    await newItem(till, account, store.store_id, 'gem')
    await claimSome(till, 1)
    await till.outbox.release('sender')
    const other = createTill({ storage, now: clock.now, masterKeys: [Buffer.alloc(32, 2)] })

    assert.deepEqual(await claim(other), [])

    const [endpoint] = await collect(other.webhooks.all(account))
    assert.equal(endpoint?.state, 'disabled')
    assert.equal(endpoint?.reason, 'secret')
    await till.webhooks.resume(account, endpoint?.endpoint_id as string)
    assert.equal((await claimSome(till, 1))[0]?.attempt, 1)
  })

  test('a failed message keeps its id, is retried later, and finally expires', async (t) => {
    const webhooks = { retries: [1_000], giveUpAfter: 5_000 }
    const { till, account, store, clock, endpoint_id } = await openHooks(t, { webhooks })
    await newItem(till, account, store.store_id, 'gem')
    const [first] = await claimSome(till, 1)
    await settle(till, [first as OutgoingMessage], DOWN)
    assert.deepEqual(await claim(till), [])

    clock.pass(1_500)
    const [second] = await claimSome(till, 1)
    assert.equal(second?.attempt, 2)
    assert.equal(second?.headers['webhook-id'], first?.headers['webhook-id'])
    clock.pass(5_000)
    await settle(till, [second as OutgoingMessage], { error: 'timeout' })

    const log = await till.webhooks.log(account, { endpoint_id, state: 'failed' })
    assert.deepEqual(
      log.deliveries.map(({ attempts, error, state }) => ({ attempts, error, state })),
      [{ attempts: 2, error: 'timeout', state: 'failed' }],
    )
    clock.pass(DAY)
    assert.deepEqual(await claim(till), [])
    const { last_failure, lag } = await till.webhooks.get(account, endpoint_id)
    assert.equal(last_failure?.error, 'timeout')
    assert.equal(lag, 0)

    await till.webhooks.replay(account, { endpoint_id, from: second?.sequence })
    const [again] = await claimSome(till, 1)
    assert.equal(again?.headers['webhook-id'], first?.headers['webhook-id'])
  })

  test('a replay starts at a time, and has only entries that are in the log', async (t) => {
    const { till, account, store, clock, endpoint_id } = await openHooks(t)
    await newItem(till, account, store.store_id, 'old')
    clock.pass(DAY)
    await newItem(till, account, store.store_id, 'new')
    await settle(till, await claimSome(till, 2), OK)

    await till.webhooks.replay(account, { endpoint_id, since: '2026-02-01' })

    const found = bodies(await claimSome(till, 1))
    assert.equal(found[0].data.item.name, 'new')
    const both = till.webhooks.replay(account, { endpoint_id, from: 1, since: '2026-02-01' })
    await assert.rejects(both, { code: 'invalid_request' })
  })

  test('a second replay waits until the endpoint has read all events of the first', async (t) => {
    const { till, account, store, endpoint_id } = await openHooks(t)
    for (const name of ['a', 'b', 'c']) await newItem(till, account, store.store_id, name)
    const sent = await claimSome(till, 3)
    await settle(till, sent, OK)
    const from = Math.min(...sent.map(({ sequence }) => sequence))
    const replay = () => till.webhooks.replay(account, { endpoint_id, from })

    await Promise.allSettled([replay(), replay()]) // one of them is refused
    await claimSome(till, 2, 'sender', 2)
    await assert.rejects(replay(), { code: 'invalid_request', message: /a replay under way/ })
    await settle(till, await claimSome(till, 1), DOWN)

    await eventuallyHolds(async () => {
      await claim(till)
      await replay()
    })
  })

  test('an endpoint that answers 410 is disabled, and one that sends Retry-After is retried later', async (t) => {
    const { till, account, store, clock, endpoint_id } = await openHooks(t)
    await newItem(till, account, store.store_id, 'gem')
    const busy = await claimSome(till, 1)
    await settle(till, busy, { status: 429, retry_after: 60_000 })
    await newItem(till, account, store.store_id, 'coin')
    clock.pass(59_000)
    assert.deepEqual(await claim(till), [])
    clock.pass(2_000)
    const found = await claimSome(till, 2)

    await settle(till, found, { status: 410 })

    const { state, reason } = await till.webhooks.get(account, endpoint_id)
    assert.deepEqual({ state, reason }, { state: 'disabled', reason: 'gone' })
    assert.deepEqual(await claim(till), [])
    await till.webhooks.resume(account, endpoint_id)
    assert.equal((await claimSome(till, 2)).length, 2)
  })

  test('only one sender has the lease of an endpoint, and the lease expires', async (t) => {
    const { till, account, store, clock } = await openHooks(t)
    await newItem(till, account, store.store_id, 'gem')
    const lease = 300
    await eventuallyHolds(async () => assert.equal((await claim(till, 'one', lease)).length, 1))
    await newItem(till, account, store.store_id, 'coin')
    assert.deepEqual(await claim(till, 'two', 60_000), [])

    clock.pass(lease)
    const found: OutgoingMessage[] = []
    await eventuallyHolds(async () => {
      found.push(...(await claim(till, 'two', 60_000)))
      assert.equal(found.length, 2)
    })

    await settle(till, found, DOWN, 'one')
    await settle(till, found, OK, 'two')
    assert.equal((await till.webhooks.list(account)).endpoints[0]?.lag, 0)
  })

  test('a sender never gets a message twice, but gets a released one at once', async (t) => {
    const { till, account, store } = await openHooks(t)
    await newItem(till, account, store.store_id, 'gem')
    const [first] = await claimSome(till, 1)
    await newItem(till, account, store.store_id, 'coin')
    const [second] = await claimSome(till, 1)
    assert.notEqual(first?.sequence, second?.sequence)

    await settle(till, [first as OutgoingMessage], { released: true })
    assert.equal((await claim(till))[0]?.sequence, first?.sequence)
    await till.outbox.release('sender')
    assert.equal((await claim(till, 'other')).length, 2)
  })

  test('a paused endpoint keeps its cursor and its messages', async (t) => {
    const { till, account, store, clock, endpoint_id } = await openHooks(t)
    await till.webhooks.pause(account, endpoint_id)
    await newItem(till, account, store.store_id, 'gem')
    assert.deepEqual(await claim(till), [])
    assert.equal((await till.webhooks.get(account, endpoint_id)).lag, 1)
    await till.webhooks.resume(account, endpoint_id)
    await settle(till, await claimSome(till, 1), DOWN)

    await till.webhooks.pause(account, endpoint_id)
    clock.pass(4 * DAY)
    await till.webhooks.resume(account, endpoint_id)
    await settle(till, await claimSome(till, 1), DOWN)
    const log = await till.webhooks.log(account, { endpoint_id, state: 'waiting' })
    assert.equal(log.deliveries[0]?.attempts, 2, 'is not given up because of the pause')
  })

  test('after an outage, a success makes all waiting messages due', async (t) => {
    const webhooks = { retries: [3_600_000] }
    const { till, account, store, clock } = await openHooks(t, { webhooks })
    await newItem(till, account, store.store_id, 'gem')
    await newItem(till, account, store.store_id, 'coin')
    await settle(till, await claimSome(till, 2), DOWN)
    clock.pass(600_000)
    await newItem(till, account, store.store_id, 'new')
    await settle(till, await claimSome(till, 1), OK)
    assert.equal((await claimSome(till, 2)).length, 2)
  })

  test('an endpoint of another account looks like an unknown one', async (t) => {
    const { till, endpoint_id } = await openHooks(t)
    const { account } = await createShop(till, 'Other')
    const calls = [
      () => till.webhooks.get(account, endpoint_id),
      () => till.webhooks.pause(account, endpoint_id),
      () => till.webhooks.test(account, endpoint_id),
      () => till.webhooks.confirm(account, endpoint_id),
      () => till.webhooks.log(account, { endpoint_id }),
      () => till.webhooks.getRequest(account, { endpoint_id, webhook_id: 'msg_1_x' }),
      () => till.webhooks.replay(account, { endpoint_id, from: 1 }),
    ]
    for (const call of calls) await assert.rejects(call(), { code: 'webhook_not_found' })
    assert.deepEqual((await till.webhooks.list(account)).endpoints, [])
  })

  test('an archive leaves entries that an endpoint has not delivered', async (t) => {
    const { till, account, store, clock, endpoint_id } = await openHooks(t)
    await newItem(till, account, store.store_id, 'gem')
    clock.pass(DAY)
    const file = join(temporaryFolder(t), 'audit.jsonl')
    const before = new Date(clock.now() - 3_600_000).toISOString()
    await till.operations.archiveAudit({ before, file })
    const [message] = await claimSome(till, 1)
    assert.equal(JSON.parse(message?.body ?? '{}').type, 'item.created')

    await till.webhooks.pause(account, endpoint_id)
    clock.pass(31 * DAY)
    await till.operations.archiveAudit({ before, file })
    const left = await collect(till.operations.allAudit({}))
    assert.ok(left.every(({ action }) => action !== 'item.create'))
  })

  test('an erasure deletes the answers of the receiver', async (t) => {
    const { till, account, store, project, endpoint_id } = await openHooks(t)
    await newItem(till, account, store.store_id, 'gem')
    await settle(till, await claimSome(till, 1), { status: 500, answer: 'who is ann?' })
    const answers = async () =>
      (await till.webhooks.log(account, { endpoint_id })).deliveries.map(({ answer }) => answer)
    assert.deepEqual(await answers(), ['who is ann?'])

    await till.users.erase(account, { project_id: project.id, user_id: 'ann' })

    assert.deepEqual(await answers(), [undefined])
  })

  test('a request is read again as it was sent, without erased users', async (t) => {
    const { till, account, store, project, clock, endpoint_id } = await openHooks(t)
    const { store_id } = store
    await newItem(till, account, store_id, 'gem')
    await importRefunds(till, account, 1)
    const purchased_at = '2026-01-31T12:00:00Z'
    const purchase = { store_id, sku: 'gem', user_id: 'ann', transaction_id: 'T-1', purchased_at }
    await till.purchases.record(account, purchase)
    const sent = await claimSome(till, 5)
    await settle(till, sent, OK)
    const read = ({ headers }: OutgoingMessage) => {
      const webhook_id = headers['webhook-id'] as string
      return till.webhooks.getRequest(account, { endpoint_id, webhook_id })
    }
    for (const message of sent) {
      const { url, headers, body } = await read(message)
      const { 'webhook-signature': _, ...unsigned } = message.headers
      assert.deepEqual({ url, headers, body }, { url: URL, headers: unsigned, body: message.body })
    }
    const requests = async () => JSON.stringify(await Promise.all(sent.map(read)))
    assert.match(await requests(), /purchases\.refunded.*ü/)
    assert.match(await requests(), /ann/)

    for (const user_id of ['ann', 'ü'.repeat(250)]) {
      await till.users.erase(account, { project_id: project.id, user_id })
    }
    assert.doesNotMatch(await requests(), /ann|ü/)

    clock.pass(40 * DAY)
    const before = new Date(clock.now() - DAY).toISOString()
    const file = join(temporaryFolder(t), 'audit.jsonl')
    await till.webhooks.pause(account, endpoint_id)
    await till.operations.archiveAudit({ before, file })
    for (const message of sent) assert.equal((await read(message)).body, undefined)
    for (const webhook_id of ['msg_1_x', 'msg_999_1', 'other']) {
      const unknown = till.webhooks.getRequest(account, { endpoint_id, webhook_id })
      await assert.rejects(unknown, { code: 'webhook_not_found' })
    }
  })

  test('the delivery log is listed in pages, newest first', async (t) => {
    const { till, account, store, endpoint_id } = await openHooks(t)
    for (const name of ['a', 'b', 'c']) await newItem(till, account, store.store_id, name)
    const sent = await claimSome(till, 3)
    await settle(till, sent, OK)
    const numbers = sent.map(({ sequence }) => sequence).sort((a, b) => b - a)

    const first = await till.webhooks.log(account, { endpoint_id, limit: 2 })
    const second = await till.webhooks.log(account, { endpoint_id, limit: 2, cursor: first.next })

    const found = [...first.deliveries, ...second.deliveries].map(({ sequence }) => sequence)
    assert.deepEqual(found, numbers)
    assert.equal(second.next, undefined)
  })
}
