import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { JsonObject } from '../../../lib/domain/fields.ts'
import {
  type AttemptResult,
  createTill,
  type OutgoingMessage,
  type TillOptions,
} from '../../../lib/index.ts'
import { collect } from '../../support/collect.ts'
import { eventuallyHolds } from '../../support/eventually.ts'
import { temporaryFolder } from '../../support/folder.ts'
import { importRefunds } from '../../support/refunds.ts'
import { createClock, createShop, fileOf } from '../../support/till.ts'
import type { OpenStorage } from './open.ts'

const URL = 'https://hooks.example.com/till'
const OTHER_URL = 'https://evil.example.com/'
const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
const OK = { status: 200 }
const DOWN = { status: 503, answer: 'busy' }
const DAY = 86_400_000

type Answer = Pick<AttemptResult, 'status' | 'error' | 'released' | 'retry_after' | 'answer'>
type Messages = readonly OutgoingMessage[]

const bodies = (messages: Messages) =>
  messages.map(({ body }) => JSON.parse(body)).sort((a, b) => a.sequence - b.sequence)
const typesOf = (messages: Messages) => bodies(messages).map(({ type }) => type)
const idOf = (message?: OutgoingMessage) => message?.headers['webhook-id'] as string

/** A project with an endpoint, a store and a clock that the test moves. */
async function openHooks(open: OpenStorage, t: TestContext, options: Partial<TillOptions>) {
  const storage = await open(t)
  const clock = createClock(Date.parse('2026-01-31T12:00:00Z'))
  const till = createTill({ storage, now: clock.now, ...options })
  const shop = await createShop(till)
  const { account, project_id, token } = shop
  const configure = (config: JsonObject) =>
    till.projects.update(account, { id: project_id, config })
  await configure({ webhook_url: URL, webhook_secret: SECRET })
  return {
    ...shop,
    ...{ storage, clock, endpoint_id: project_id, configure },
    /** Changes the project with the token of a player. */
    async configureBySession(config: JsonObject) {
      const session = await till.sessions.authenticate(token)
      await till.projects.update(session, { id: project_id, config })
    },
    get: () => till.webhooks.get(account, project_id),
    replay: (from: { from?: number; since?: string }) =>
      till.webhooks.replay(account, { endpoint_id: project_id, ...from }),
    log: async (filter: object = {}) =>
      (await till.webhooks.log(account, { endpoint_id: project_id, ...filter })).deliveries,
    newItem: (name: string, store_id = 'main', of = account) =>
      till.items.create(of, {
        ...{ store_id, name, display_name: name },
        ...{ price: '499', type: 'consumable' },
      }),
    async newStores(ids: readonly string[]) {
      const store_config = { webhook_url: URL, webhook_enabled: true }
      for (const store_id of ids) {
        const store = { project_id, store_id, store_type: 'web' as const, store_config }
        await till.stores.create(account, store)
      }
    },
    claim: async (holder = 'sender', lease?: number) =>
      (await till.outbox.claim({ holder, ...(lease !== undefined && { lease }) })).messages,
    /** Waits, because on PostgreSQL a transaction of another test may hold back what follows it. */
    async claimSome(count: number, holder = 'sender', limit?: number) {
      const found: OutgoingMessage[] = []
      await eventuallyHolds(async () => {
        const most = limit === undefined ? undefined : limit - found.length
        found.push(...(await till.outbox.claim({ holder, limit: most })).messages)
        assert.equal(found.length, count)
      })
      return found
    },
    settle: (messages: Messages, answer: Answer, holder = 'sender') =>
      till.outbox.settle(
        holder,
        messages.map(({ endpoint_id, sequence, part }) => {
          return { endpoint_id, sequence, part, duration_ms: 12, ...answer }
        }),
      ),
    async archive(t: TestContext, age: number) {
      const before = new Date(clock.now() - age).toISOString()
      const file = join(temporaryFolder(t), 'audit.jsonl')
      await till.operations.archiveAudit({ before, file })
    },
  }
}

type Hooks = Awaited<ReturnType<typeof openHooks>>

export function describeWebhooks(open: OpenStorage): void {
  const testHooks = (
    title: string,
    work: (hooks: Hooks, t: TestContext) => Promise<void>,
    options: Partial<TillOptions> = {},
  ) => test(title, async (t) => work(await openHooks(open, t, options), t))

  testHooks(
    'an endpoint receives signed events of its project, from its creation on',
    async (hooks) => {
      const item = await hooks.newItem('gem')

      const [message = assert.fail()] = await hooks.claimSome(1)

      assert.deepEqual([message.url, message.attempt], [URL, 1])
      const { type, timestamp, sequence, data } = JSON.parse(message.body)
      const now = new Date(hooks.clock.now()).toISOString()
      assert.deepEqual([type, timestamp, sequence], ['item.created', now, message.sequence])
      assert.deepEqual([data.store_id, data.item.id], ['main', item.id])
      const { 'webhook-id': id, 'webhook-timestamp': at, ...headers } = message.headers
      const key = Buffer.from(SECRET.slice(6), 'base64')
      const mac = createHmac('sha256', key).update(`${id}.${at}.${message.body}`).digest('base64')
      const expected = { 'content-type': 'application/json', 'webhook-signature': `v1,${mac}` }
      assert.deepEqual(headers, expected)
      await hooks.settle([message], OK)
      assert.deepEqual(await hooks.claim(), [])
      const { lag, is_signed } = await hooks.get()
      assert.deepEqual([lag, is_signed], [0, true])
      const log = await hooks.log()
      assert.deepEqual(
        log.map(({ state, status, type, attempts }) => ({ state, status, type, attempts })),
        [{ state: 'delivered', status: 200, type: 'item.created', attempts: 1 }],
      )
    },
  )

  testHooks(
    'each kind of change creates its event, without secrets and erased users',
    async (hooks) => {
      const { till, account, project_id, endpoint_id } = hooks
      const store_id = 'main'
      await till.projects.update(account, { id: project_id, name: 'New name' })
      await till.stores.update(account, { store_id, is_sandbox: true })
      const gem = await hooks.newItem('gem')
      await till.items.update(account, { id: gem.id, price: '599' })
      await till.items.archive(account, gem.id)
      await till.items.restore(account, gem.id)
      const load = (status: string) => {
        const header = 'transaction_id,sku,purchased_at,user_id,status\n'
        const file = fileOf(`${header}t1,gem,2026-01-01T00:00:00Z,ann,${status}\n`)
        return till.purchases.import(account, { store_id, file })
      }
      await load('purchased')
      const { import_id } = await load('refunded')
      await till.purchases.record(account, {
        ...{ store_id, transaction_id: 't2', sku: 'gem', user_id: 'bob' },
        purchased_at: '2026-01-02T00:00:00Z',
      })
      await till.webhooks.test(account, endpoint_id)

      const found = bodies(await hooks.claimSome(11))

      const byType = (type: string) => found.find((each) => each.type === type)
      assert.deepEqual(found.map(({ type }) => type).sort(), [
        ...['item.archived', 'item.created', 'item.restored', 'item.updated', 'project.updated'],
        ...['purchase.recorded', 'purchases.imported', 'purchases.imported', 'purchases.refunded'],
        ...['store.updated', 'webhook.test'],
      ])
      assert.deepEqual(byType('item.updated').data.change.price, { old: 499, new: 599 })
      const { user_id, sku } = byType('purchase.recorded').data
      assert.deepEqual([user_id, sku], ['bob', 'gem'])
      const refunded = byType('purchases.refunded')
      assert.deepEqual(refunded.data, {
        ...{ store_id, import_id },
        purchases: [{ transaction_id: 't1', user_id: 'ann', sku: 'gem', status: 'refunded' }],
      })
      assert.equal(refunded.part, 1)
      assert.doesNotMatch(JSON.stringify(found), /whsec_/)

      await till.imports.undo(account, { import_id })
      await till.users.erase(account, { project_id, user_id: 'ann' })
      const later = await hooks.claimSome(2)
      assert.deepEqual(typesOf(later), ['purchases.undone', 'user.erased'])
      for (const { data } of bodies(later)) assert.doesNotMatch(JSON.stringify(data), /"ann"/)
    },
  )

  testHooks(
    'the refunds of an import are read in parts, whose ids stay the same',
    async (hooks) => {
      const { till, account } = hooks
      await importRefunds(till, account, 300)
      const claimAll = async (holder: string) => {
        const found = new Map<string, OutgoingMessage>()
        await eventuallyHolds(async () => {
          const { messages } = await till.outbox.claim({ holder, limit: 2 })
          assert.ok(messages.length <= 2)
          for (const each of messages) found.set(idOf(each), each)
          assert.equal(found.size, 5)
        })
        return [...found.values()]
      }
      const purchasesOf = (messages: Messages) =>
        bodies(messages).flatMap(({ data }) => data.purchases ?? [])

      // A replay starts again with the first part of the entry that is half read.
      const begun = await hooks.claimSome(2, 'one', 2)
      const sequences = begun.map(({ sequence }) => sequence)
      await hooks.replay({ from: Math.max(...sequences) })
      await till.outbox.release('one')
      const first = await claimAll('two')
      await hooks.settle(first, OK, 'two')
      // The next holder continues where the last one stopped, between two parts.
      await eventuallyHolds(() => hooks.replay({ from: Math.min(...sequences) }))
      await hooks.claimSome(2, 'two', 2)
      await till.outbox.release('two')
      const again = await claimAll('three')

      assert.equal(new Set(purchasesOf(first).map((each) => each.transaction_id)).size, 300)
      assert.deepEqual(again.map(idOf).sort(), first.map(idOf).sort())
      assert.deepEqual(purchasesOf(again), purchasesOf(first))
    },
  )

  testHooks('a catalog creates the events of its items and stores', async (hooks) => {
    const gem = await hooks.newItem('gem')
    await hooks.settle(await hooks.claimSome(1), OK)
    const items = [
      { name: 'gem', price: '599' },
      { name: 'coin', display_name: 'Coin', price: '1', type: 'consumable' as const },
    ]
    const stores = [
      { store_id: 'main', is_sandbox: true, items },
      { store_id: 'new', store_type: 'web' as const, items: [] },
    ]
    const request = { project_id: hooks.project_id, catalog: { stores }, createStores: true }
    await hooks.till.catalog.apply(hooks.account, request)

    const found = bodies(await hooks.claimSome(4))

    const types = ['item.created', 'item.updated', 'store.created', 'store.updated']
    assert.deepEqual(found.map(({ type }) => type).sort(), types)
    const { data } = found.find(({ type }) => type === 'item.updated')
    assert.equal(data.item.id, gem.id)
    assert.deepEqual(data.change.price, { old: 499, new: 599 })
  })

  testHooks('the endpoint of a store receives only events of that store', async (hooks) => {
    const { till, account, endpoint_id } = hooks
    const ids = Array.from({ length: 12 }, (_, i) => `store_${i}`)
    await hooks.newStores(ids)
    await hooks.settle(await hooks.claimSome(12), OK)

    const item = await hooks.newItem('gem', 'store_3')

    // The endpoints of the other stores have nothing to do.
    await eventuallyHolds(async () => {
      const { messages, next } = await till.outbox.claim({ holder: 'sender' })
      const found = messages.map(({ endpoint_id }) => endpoint_id).sort()
      assert.deepEqual(found, [endpoint_id, `${endpoint_id}/store_3`])
      assert.ok(next > 0)
      const own = messages.filter((each) => each.endpoint_id !== endpoint_id)
      assert.equal(bodies(own)[0].data.item.id, item.id)
      assert.equal(own[0]?.headers['webhook-signature'], undefined)
    })
    const { endpoints } = await till.webhooks.list(account)
    assert.equal(
      endpoints.filter(({ is_signed, state }) => !is_signed && state === 'active').length,
      12,
    )
  })

  testHooks('accounts take turns, and so do the endpoints of an account', async (hooks) => {
    const { till } = hooks
    const stores = Array.from({ length: 30 }, (_, i) => `store_${i}`)
    await hooks.newStores(stores)
    for (const store_id of stores) await hooks.newItem('gem', store_id)
    const small = await createShop(till, 'Small')
    const config = { webhook_url: 'https://small.example.com/' }
    await till.projects.update(small.account, { id: small.project.id, config })
    const seen = new Set<string>()

    for (let round = 0; round < 4; round++) {
      await hooks.newItem(`gem_${round}`, 'main', small.account)
      await eventuallyHolds(async () => {
        const { messages } = await till.outbox.claim({ holder: 'sender', limit: 1 })
        for (const { endpoint_id } of messages) seen.add(endpoint_id)
        assert.ok(messages.some(({ url }) => url.includes('small')))
      })
    }

    // Each claim serves 10 endpoints: one of the small account, and 9 others.
    assert.equal(seen.size, 1 + 31)
  })

  testHooks(
    'a URL that a session sets receives nothing until the account confirms it',
    async (hooks) => {
      const { till, account, endpoint_id } = hooks
      await hooks.configureBySession({ webhook_url: OTHER_URL })
      await hooks.newItem('gem')

      const found = await hooks.claimSome(2)

      assert.ok(found.every(({ url }) => url === URL))
      await hooks.settle(found, OK)
      assert.equal((await hooks.get()).unconfirmed_url, OTHER_URL)
      const wrong = till.webhooks.confirm(account, endpoint_id, { url: URL })
      await assert.rejects(wrong, { code: 'invalid_request' })
      await till.webhooks.confirm(account, endpoint_id, { url: OTHER_URL })
      await hooks.newItem('coin')
      const [message] = await hooks.claimSome(1)
      assert.equal(message?.url, OTHER_URL)
      assert.equal(message?.headers['webhook-signature'], undefined, 'the secret is not inherited')
    },
  )

  testHooks(
    'a URL that a session set stays unconfirmed when the account changes the secret',
    async (hooks) => {
      await hooks.configureBySession({ webhook_url: OTHER_URL })
      await hooks.configure({ webhook_url: OTHER_URL, webhook_secret: 'a new secret' })
      await hooks.newItem('gem')

      const { url, unconfirmed_url } = await hooks.get()
      assert.deepEqual({ url, unconfirmed_url }, { url: URL, unconfirmed_url: OTHER_URL })
      assert.ok((await hooks.claimSome(3)).every((message) => message.url === URL))
    },
  )

  testHooks(
    'a session cannot stop the endpoint of the account, also before other changes of it',
    async (hooks) => {
      await hooks.configureBySession({})
      await hooks.configure({ theme: 'dark' })
      await hooks.newItem('gem')

      const { url, state } = await hooks.get()
      assert.deepEqual({ url, state }, { url: URL, state: 'active' })
      assert.equal((await hooks.claimSome(3)).length, 3)
    },
  )

  testHooks(
    'a first URL that a session sets waits for the account, and starts then',
    async (hooks) => {
      await hooks.configure({})
      await hooks.configureBySession({ webhook_url: URL })
      await hooks.newItem('early')
      assert.deepEqual(await hooks.claim(), [])
      const { state, url } = await hooks.get()
      assert.deepEqual({ state, url }, { state: 'unconfirmed', url: '' })

      await hooks.till.webhooks.confirm(hooks.account, hooks.endpoint_id)
      const item = await hooks.newItem('later')

      assert.equal(bodies(await hooks.claimSome(1))[0].data.item.id, item.id)
    },
  )

  testHooks('a replaced secret signs for a day beside the new one', async (hooks) => {
    await hooks.configure({ webhook_url: URL, webhook_secret: 'a second secret' })

    const first = await hooks.claimSome(1)
    await hooks.settle(first, OK)
    hooks.clock.pass(DAY)
    await hooks.newItem('gem')
    const second = await hooks.claimSome(1)

    const signatures = [...first, ...second].map(
      ({ headers }) => headers['webhook-signature']?.split(' ').length,
    )
    assert.deepEqual(signatures, [2, 1])
  })

  const masterKeys = [Buffer.alloc(32, 1)]
  testHooks(
    'a secret that no master key opens disables the endpoint',
    async (hooks) => {
      const { storage, till, account, clock } = hooks
      await hooks.newItem('gem')
      await hooks.claimSome(1)
      await till.outbox.release('sender')
      const other = createTill({ storage, now: clock.now, masterKeys: [Buffer.alloc(32, 2)] })

      assert.deepEqual((await other.outbox.claim({ holder: 'sender' })).messages, [])

      const { state, reason, endpoint_id } = await hooks.get()
      assert.deepEqual([state, reason], ['disabled', 'secret'])
      await till.webhooks.resume(account, endpoint_id)
      assert.equal((await hooks.claimSome(1))[0]?.attempt, 1)
    },
    { masterKeys },
  )

  testHooks(
    'a failed message keeps its id, is retried later, and finally expires',
    async (hooks) => {
      const { clock } = hooks
      await hooks.newItem('gem')
      const [first = assert.fail()] = await hooks.claimSome(1)
      await hooks.settle([first], DOWN)
      assert.deepEqual(await hooks.claim(), [])

      clock.pass(1_500)
      const [second = assert.fail()] = await hooks.claimSome(1)
      assert.deepEqual([second.attempt, idOf(second)], [2, idOf(first)])
      clock.pass(5_000)
      await hooks.settle([second], { error: 'timeout' })

      const log = await hooks.log({ state: 'failed' })
      assert.deepEqual(
        log.map(({ attempts, error, state }) => ({ attempts, error, state })),
        [{ attempts: 2, error: 'timeout', state: 'failed' }],
      )
      clock.pass(DAY)
      assert.deepEqual(await hooks.claim(), [])
      const { last_failure, lag } = await hooks.get()
      assert.deepEqual([last_failure?.error, lag], ['timeout', 0])

      await hooks.replay({ from: second.sequence })
      assert.equal(idOf((await hooks.claimSome(1))[0]), idOf(first))
    },
    { webhooks: { retries: [1_000], giveUpAfter: 5_000 } },
  )

  testHooks(
    'a replay starts at a time, and has only entries that are in the log',
    async (hooks) => {
      await hooks.newItem('old')
      hooks.clock.pass(DAY)
      await hooks.newItem('new')
      await hooks.settle(await hooks.claimSome(2), OK)

      await hooks.replay({ since: '2026-02-01' })

      assert.equal(bodies(await hooks.claimSome(1))[0].data.item.name, 'new')
      const both = hooks.replay({ from: 1, since: '2026-02-01' })
      await assert.rejects(both, { code: 'invalid_request' })
    },
  )

  testHooks(
    'a second replay waits until the endpoint has read all events of the first',
    async (hooks) => {
      for (const name of ['a', 'b', 'c']) await hooks.newItem(name)
      const sent = await hooks.claimSome(3)
      await hooks.settle(sent, OK)
      const replay = () => hooks.replay({ from: Math.min(...sent.map(({ sequence }) => sequence)) })

      await Promise.allSettled([replay(), replay()]) // one of them is refused
      await hooks.claimSome(2, 'sender', 2)
      await assert.rejects(replay(), { code: 'invalid_request', message: /a replay under way/ })
      await hooks.settle(await hooks.claimSome(1), DOWN)

      await eventuallyHolds(async () => {
        await hooks.claim()
        await replay()
      })
    },
  )

  testHooks(
    'an endpoint that answers 410 is disabled, and one that sends Retry-After is retried later',
    async (hooks) => {
      await hooks.newItem('gem')
      await hooks.settle(await hooks.claimSome(1), { status: 429, retry_after: 60_000 })
      await hooks.newItem('coin')
      hooks.clock.pass(59_000)
      assert.deepEqual(await hooks.claim(), [])
      hooks.clock.pass(2_000)

      await hooks.settle(await hooks.claimSome(2), { status: 410 })

      const { state, reason } = await hooks.get()
      assert.deepEqual({ state, reason }, { state: 'disabled', reason: 'gone' })
      assert.deepEqual(await hooks.claim(), [])
      await hooks.till.webhooks.resume(hooks.account, hooks.endpoint_id)
      assert.equal((await hooks.claimSome(2)).length, 2)
    },
  )

  testHooks(
    'only one sender has the lease of an endpoint, and the lease expires',
    async (hooks) => {
      await hooks.newItem('gem')
      const lease = 300
      await eventuallyHolds(async () => assert.equal((await hooks.claim('one', lease)).length, 1))
      await hooks.newItem('coin')
      assert.deepEqual(await hooks.claim('two', 60_000), [])

      hooks.clock.pass(lease)
      const found: OutgoingMessage[] = []
      await eventuallyHolds(async () => {
        found.push(...(await hooks.claim('two', 60_000)))
        assert.equal(found.length, 2)
      })

      await hooks.settle(found, DOWN, 'one')
      await hooks.settle(found, OK, 'two')
      assert.equal((await hooks.get()).lag, 0)
    },
  )

  testHooks(
    'a sender never gets a message twice, but gets a released one at once',
    async (hooks) => {
      await hooks.newItem('gem')
      const [first = assert.fail()] = await hooks.claimSome(1)
      await hooks.newItem('coin')
      const [second] = await hooks.claimSome(1)
      assert.notEqual(first.sequence, second?.sequence)

      await hooks.settle([first], { released: true })
      assert.equal((await hooks.claim())[0]?.sequence, first.sequence)
      await hooks.till.outbox.release('sender')
      assert.equal((await hooks.claim('other')).length, 2)
    },
  )

  testHooks('a paused endpoint keeps its cursor and its messages', async (hooks) => {
    const { till, account, endpoint_id, clock } = hooks
    await till.webhooks.pause(account, endpoint_id)
    await hooks.newItem('gem')
    assert.deepEqual(await hooks.claim(), [])
    assert.equal((await hooks.get()).lag, 1)
    await till.webhooks.resume(account, endpoint_id)
    await hooks.settle(await hooks.claimSome(1), DOWN)

    await till.webhooks.pause(account, endpoint_id)
    clock.pass(4 * DAY)
    await till.webhooks.resume(account, endpoint_id)
    await hooks.settle(await hooks.claimSome(1), DOWN)
    const [waiting] = await hooks.log({ state: 'waiting' })
    assert.equal(waiting?.attempts, 2, 'is not given up because of the pause')
  })

  testHooks(
    'after an outage, a success makes all waiting messages due',
    async (hooks) => {
      await hooks.newItem('gem')
      await hooks.newItem('coin')
      await hooks.settle(await hooks.claimSome(2), DOWN)
      hooks.clock.pass(600_000)
      await hooks.newItem('new')
      await hooks.settle(await hooks.claimSome(1), OK)
      assert.equal((await hooks.claimSome(2)).length, 2)
    },
    { webhooks: { retries: [3_600_000] } },
  )

  testHooks(
    'an endpoint of another account looks like an unknown one',
    async ({ till, endpoint_id }) => {
      const { account } = await createShop(till, 'Other')
      const calls = await Promise.allSettled([
        till.webhooks.get(account, endpoint_id),
        till.webhooks.pause(account, endpoint_id),
        till.webhooks.test(account, endpoint_id),
        till.webhooks.confirm(account, endpoint_id),
        till.webhooks.log(account, { endpoint_id }),
        till.webhooks.getRequest(account, { endpoint_id, webhook_id: 'msg_1_x' }),
        till.webhooks.replay(account, { endpoint_id, from: 1 }),
      ])
      const codes = calls.map((each) => each.status === 'rejected' && each.reason.code)
      assert.deepEqual(codes, Array(7).fill('webhook_not_found'))
      assert.deepEqual((await till.webhooks.list(account)).endpoints, [])
    },
  )

  testHooks('an archive leaves entries that an endpoint has not delivered', async (hooks, t) => {
    const { till, account, endpoint_id, clock } = hooks
    await hooks.newItem('gem')
    clock.pass(DAY)
    await hooks.archive(t, 3_600_000)
    assert.deepEqual(typesOf(await hooks.claimSome(1)), ['item.created'])

    await till.webhooks.pause(account, endpoint_id)
    clock.pass(31 * DAY)
    await hooks.archive(t, DAY)
    const left = await collect(till.operations.allAudit({}))
    assert.ok(left.every(({ action }) => action !== 'item.create'))
  })

  testHooks('a request is read again as it was sent, without erased users', async (hooks, t) => {
    const { till, account, endpoint_id, project_id } = hooks
    await hooks.newItem('gem')
    await importRefunds(till, account, 1)
    const purchase = { store_id: 'main', sku: 'gem', user_id: 'ann', transaction_id: 'T-1' }
    await till.purchases.record(account, { ...purchase, purchased_at: '2026-01-31T12:00:00Z' })
    const sent = await hooks.claimSome(5)
    await hooks.settle(sent, OK)
    const read = (message: OutgoingMessage) =>
      till.webhooks.getRequest(account, { endpoint_id, webhook_id: idOf(message) })
    for (const message of sent) {
      const { url, headers, body } = await read(message)
      const { 'webhook-signature': _, ...unsigned } = message.headers
      assert.deepEqual({ url, headers, body }, { url: URL, headers: unsigned, body: message.body })
    }
    const requests = async () => JSON.stringify(await Promise.all(sent.map(read)))
    assert.match(await requests(), /purchases\.refunded.*ü/)
    assert.match(await requests(), /ann/)

    for (const user_id of ['ann', 'ü'.repeat(250)]) {
      await till.users.erase(account, { project_id, user_id })
    }
    assert.doesNotMatch(await requests(), /ann|ü/)

    hooks.clock.pass(40 * DAY)
    await till.webhooks.pause(account, endpoint_id)
    await hooks.archive(t, DAY)
    for (const message of sent) assert.equal((await read(message)).body, undefined)
    for (const webhook_id of ['msg_1_x', 'msg_999_1', 'other']) {
      const unknown = till.webhooks.getRequest(account, { endpoint_id, webhook_id })
      await assert.rejects(unknown, { code: 'webhook_not_found' })
    }
  })

  testHooks('an erasure deletes the answers of the receiver', async (hooks) => {
    const { till, account, project_id } = hooks
    await hooks.newItem('gem')
    await hooks.settle(await hooks.claimSome(1), { status: 500, answer: 'who is ann?' })
    assert.equal((await hooks.log())[0]?.answer, 'who is ann?')

    await till.users.erase(account, { project_id, user_id: 'ann' })

    assert.equal((await hooks.log())[0]?.answer, undefined)
  })

  testHooks(
    'the delivery log is listed in pages, newest first',
    async ({ till, account, endpoint_id, ...hooks }) => {
      for (const name of ['a', 'b', 'c']) await hooks.newItem(name)
      const sent = await hooks.claimSome(3)
      await hooks.settle(sent, OK)
      const numbers = sent.map(({ sequence }) => sequence).sort((a, b) => b - a)

      const first = await till.webhooks.log(account, { endpoint_id, limit: 2 })
      const second = await till.webhooks.log(account, { endpoint_id, limit: 2, cursor: first.next })

      const found = [...first.deliveries, ...second.deliveries].map(({ sequence }) => sequence)
      assert.deepEqual(found, numbers)
      assert.equal(second.next, undefined)
    },
  )
}
