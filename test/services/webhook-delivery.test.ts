// run: early, soak
import assert from 'node:assert/strict'
import {
  copyStorage,
  createMemoryStorage,
  createTill,
  type OutgoingMessage,
  type WebhookEventType,
} from '../../lib/index.ts'
import { collect } from '../support/collect.ts'
import { eventuallyHolds } from '../support/eventually.ts'
import { importRefunds } from '../support/refunds.ts'
import { outboxOf } from '../support/storage/holding.ts'
import {
  bodies,
  DAY,
  type Hooks,
  idOf,
  type Messages,
  OK,
  testHooks as test,
  typesOf,
  URL,
} from '../support/storage/hooks.ts'
import { createShop } from '../support/till.ts'

const DOWN = { status: 503, answer: 'busy' }

test('an endpoint receives signed events of its project, from its creation on', async (hooks) => {
  const item = await hooks.newItem('gem')

  const [message = assert.fail()] = await hooks.claimSome(1)

  assert.deepEqual([message.url, message.attempt], [URL, 1])
  const { type, timestamp, sequence, data } = JSON.parse(message.body)
  const now = new Date(hooks.clock.now()).toISOString()
  assert.deepEqual([type, timestamp, sequence], ['item.created', now, message.sequence])
  assert.deepEqual([data.store_id, data.item.id], ['main', item.id])
  assert.match(message.headers['webhook-signature'] ?? '', /^v1,/)
  await hooks.settle([message], OK)
  assert.deepEqual(await hooks.claim(), [])
  const { lag, is_signed } = await hooks.get()
  assert.deepEqual([lag, is_signed], [0, true])
  const log = await hooks.log()
  assert.deepEqual(
    log.map(({ state, status, type, attempts }) => ({ state, status, type, attempts })),
    [{ state: 'delivered', status: 200, type: 'item.created', attempts: 1 }],
  )
})

test('the refunds of an import are read in parts, whose ids stay the same', async (hooks) => {
  const { till, account } = hooks
  await importRefunds(till, account, 300)
  const claimAll = async (process: string) => {
    const found = new Map<string, OutgoingMessage>()
    await eventuallyHolds(async () => {
      const { messages } = await hooks.outboxOf(process).claim({ limit: 2 })
      assert.ok(messages.length <= 2)
      await hooks.settle(messages, OK, process)
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
  await hooks.outboxOf('one').release()
  const first = await claimAll('two')
  // The next process continues where the last one stopped, between two parts.
  await eventuallyHolds(() => hooks.replay({ from: Math.min(...sequences) }))
  await hooks.claimSome(2, 'two', 2)
  await hooks.outboxOf('two').release()
  const again = await claimAll('three')

  assert.ok(first.every(({ body }) => Buffer.byteLength(body) <= 64 * 1024))
  assert.equal(new Set(purchasesOf(first).map((each) => each.transaction_id)).size, 300)
  assert.deepEqual(again.map(idOf).sort(), first.map(idOf).sort())
  assert.deepEqual(purchasesOf(again), purchasesOf(first))
})

test('the endpoint of a store receives only events of that store', async (hooks) => {
  const { till, account, endpoint_id } = hooks
  const ids = Array.from({ length: 12 }, (_, i) => `store_${i}`)
  await hooks.newStores(ids)
  await hooks.settle(await hooks.claimSome(12), OK)

  const item = await hooks.newItem('gem', 'store_3')

  // The endpoints of the other stores have nothing to do.
  await eventuallyHolds(async () => {
    const { messages, isMore } = await outboxOf(till).claim()
    const found = messages.map(({ endpoint_id }) => endpoint_id).sort()
    assert.deepEqual(found, [endpoint_id, `${endpoint_id}/store_3`])
    assert.equal(isMore, false)
    const own = messages.filter((each) => each.endpoint_id !== endpoint_id)
    assert.equal(bodies(own)[0].data.item.id, item.id)
    assert.match(own[0]?.headers['webhook-signature'] ?? '', /^v1,/) // by the project's secret
  })
  const { endpoints } = await till.webhooks.list(account)
  assert.equal(
    endpoints.filter(({ is_signed, store_id }) => is_signed && store_id !== '').length,
    12,
  )
})

test('an endpoint passes over the entries of other projects, also in a replay', async (hooks) => {
  const { till, account } = hooks
  hooks.clock.pass(1_000) // since the shop was created
  const since = new Date(hooks.clock.now()).toISOString()
  const project = { name: 'Other', bundle_id: 'com.other', platform: 'web' as const }
  const { id } = await till.projects.create(account, project)
  const other = { project_id: id, store_id: 'other', store_type: 'web' as const }
  await till.stores.create(account, other)
  const newOthers = (name: string) =>
    Promise.all(Array.from({ length: 45 }, (_, i) => hooks.newItem(`${name}_${i}`, 'other')))
  await newOthers('a')
  await hooks.newItem('gem')
  await newOthers('b')
  assert.deepEqual([(await hooks.get()).lag], [1])

  assert.deepEqual(typesOf(await hooks.claimSome(1)), ['item.created'])
  await eventuallyHolds(async () => {
    const { messages, isMore } = await outboxOf(till).claim()
    assert.deepEqual([messages, isMore], [[], false])
  })
  await hooks.outboxOf('sender').release()
  await hooks.settle(await hooks.claimSome(1), OK)
  assert.equal((await hooks.get()).lag, 0)

  await hooks.replay({ since })
  assert.equal(bodies(await hooks.claimSome(1))[0].data.item.name, 'gem')
})

test('the entries of other stores are not read for each endpoint of a quiet store', async (hooks) => {
  const { storage, clock, endpoint_id } = hooks
  const stores = Array.from({ length: 30 }, (_, i) => `store_${i}`)
  await hooks.newStores(stores)
  await hooks.settle(await hooks.claimSome(30), OK)
  await hooks.outboxOf('sender').release()
  const read = new Set<string>()
  const listUnread: typeof storage.listUnread = (id, limit) => {
    read.add(id)
    return storage.listUnread(id, limit)
  }
  const outbox = outboxOf(createTill({ storage: { ...storage, listUnread }, now: clock.now }))
  const namesOfNext = async (count: number) => {
    const found: OutgoingMessage[] = []
    await eventuallyHolds(async () => {
      const { messages, isMore } = await outbox.claim()
      found.push(...messages)
      assert.deepEqual([found.length, isMore], [count, false])
    })
    return bodies(found).map(({ data }) => data.item.name)
  }
  const names = stores.map((_, i) => `gem_${i}`)

  for (const name of names) await hooks.newItem(name)
  assert.deepEqual(await namesOfNext(30), names)
  assert.deepEqual([...read], [endpoint_id])
  await hooks.newItem('coin', 'store_7')
  assert.deepEqual(await namesOfNext(2), ['coin', 'coin'])
})

test('a claim serves 100 endpoints, at least one of each account, and none that is full', async (hooks) => {
  const { till } = hooks
  const stores = Array.from({ length: 120 }, (_, i) => `store_${i}`)
  await hooks.newStores(stores)
  await Promise.all(stores.map((store_id) => hooks.newItem('gem', store_id)))
  await Promise.all(stores.map((store_id) => hooks.newItem('coin', store_id)))
  const small = await createShop(till, 'Small')
  const config = { webhook_url: 'https://small.example.com/' }
  await till.projects.update(small.account, { id: small.project.id, config })
  await hooks.newItem('gem', 'main', small.account)
  const claim = async () => {
    const { messages } = await outboxOf(till).claim({ limit: 1 })
    return new Set(messages.map(({ endpoint_id }) => endpoint_id))
  }

  await eventuallyHolds(async () => {
    await outboxOf(till).release() // the claims of an earlier attempt
    const served = await claim()
    assert.ok(served.size === 100 && served.has(small.project.id), `${served.size}`)
    assert.equal((await claim()).size, 1 + 121 - 100)
  })
})

test('a claim leaves out an account that has used up its share of the claimed bytes', async (hooks) => {
  const { till, storage, account, clock } = hooks
  const { account_id } = account
  let left: readonly string[] = []
  const findReady: typeof storage.findReady = (request) => {
    left = request.full_accounts
    return storage.findReady(request)
  }
  const outbox = outboxOf(createTill({ storage: { ...storage, findReady }, now: clock.now }))
  const item = { store_id: 'main', display_name: 'Gem', price: '1', type: 'consumable' } as const
  const meta = { text: 'x'.repeat(50_000) }
  const names = Array.from({ length: 150 }, (_, i) => `gem_${i}`)
  await Promise.all(names.map((name) => till.items.create(account, { ...item, name, meta })))

  await eventuallyHolds(async () => {
    await outbox.claim()
    assert.deepEqual(left, [account_id])
  })
})

test('a storage that fails during a claim does not hold back the messages claimed before', async (hooks) => {
  const { storage, clock } = hooks
  for (let i = 0; i < 15; i++) await hooks.newItem(`gem_${i}`)
  let reads = 0
  const findItem: typeof storage.findItem = async (id) => {
    if (++reads === 12) throw new Error('down')
    return storage.findItem(id)
  }
  const outbox = outboxOf(createTill({ storage: { ...storage, findItem }, now: clock.now }))
  const found = new Set<string>()
  await eventuallyHolds(async () => {
    const { messages } = await outbox.claim()
    for (const each of messages) found.add(idOf(each))
    assert.equal(found.size, 15)
  })
})

const masterKeys = [Buffer.alloc(32, 1)]
/** Claims with the other master key until the endpoint is disabled. Sends nothing. */
async function claimWithOtherKey({ storage, clock, till, get }: Hooks) {
  const keys = { masterKeys: [Buffer.alloc(32, 2)] }
  const other = outboxOf(createTill({ storage, now: clock.now, ...keys }))
  await outboxOf(till).release()
  const disabled: string[] = []
  await eventuallyHolds(async () => {
    const claim = await other.claim()
    disabled.push(...claim.disabled)
    assert.deepEqual(claim.messages, [])
    const { state, reason } = await get()
    assert.deepEqual([state, reason], ['disabled', 'secret'])
  })
  assert.deepEqual((await other.claim()).disabled, [])
  clock.pass(60_000)
  assert.deepEqual((await other.claim()).resumed, [])
  await other.release()
  return disabled
}

test(
  'a replaced secret signs for a day, and one that no master key opens disables the endpoint',
  async (hooks) => {
    const { till, account, clock } = hooks
    const signatures = async () => {
      const sent = await hooks.claimSome(1)
      await hooks.settle(sent, OK)
      return sent[0]?.headers['webhook-signature']?.split(' ').length
    }
    await hooks.configure({ webhook_url: URL, webhook_secret: 'a second secret' })
    assert.equal(await signatures(), 2)
    clock.pass(DAY)
    await hooks.newItem('coin')
    assert.equal(await signatures(), 1)
    await hooks.newItem('gem')

    assert.deepEqual(await claimWithOtherKey(hooks), [hooks.endpoint_id])
    await till.webhooks.resume(account, hooks.endpoint_id)
    assert.equal((await hooks.claimSome(1))[0]?.attempt, 1)
  },
  { masterKeys },
)

test(
  'a sender with the right master key resumes an endpoint that one with another key disabled',
  async (hooks) => {
    const { endpoint_id, clock } = hooks
    await hooks.claim() // asks for such endpoints: there are none
    await hooks.newItem('gem')
    await hooks.newItem('coin')
    await claimWithOtherKey(hooks)

    const { resumed, messages: first } = await hooks.outboxOf('restarted').claim()

    assert.ok(resumed.includes(endpoint_id))
    const messages = [...first, ...(await hooks.claimSome(2 - first.length, 'restarted'))]
    for (const { headers } of messages) assert.match(headers['webhook-signature'] ?? '', /^v1,/)
    assert.equal((await hooks.get()).state, 'active')
    await hooks.outboxOf('restarted').release()
    await claimWithOtherKey(hooks)
    clock.pass(60_000)
    assert.ok((await hooks.outboxOf('sender').claim()).resumed.includes(endpoint_id))
  },
  { masterKeys },
)

test(
  'an endpoint that was disabled for its secret stays so when it is paused, or the secret removed',
  async (hooks) => {
    const { till, account, endpoint_id } = hooks
    await hooks.newItem('gem')
    await claimWithOtherKey(hooks)
    await hooks.configure({ webhook_url: URL, webhook_secret: null })
    assert.deepEqual(await hooks.claim('restarted'), [])
    assert.equal((await hooks.get()).state, 'disabled')

    await till.webhooks.pause(account, endpoint_id)
    assert.deepEqual(await hooks.claim('third'), [])
    assert.equal((await hooks.get()).state, 'paused')
  },
  { masterKeys },
)

test(
  'a failed message keeps its id, is retried later, and expires; an erasure deletes its answer',
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
    const [third = assert.fail()] = await hooks.claimSome(1)
    assert.equal(idOf(third), idOf(first))
    // The answer is stored without U+0000, and up to 4,096 characters.
    await hooks.settle([third], { status: 500, answer: `who is ann?\0${'x'.repeat(5000)}` })
    assert.equal((await hooks.log())[0]?.answer, `who is ann?\uFFFD${'x'.repeat(4084)}`)
    const { till, account, project_id } = hooks
    await till.users.erase(account, { project_id, user_id: 'ann' })
    assert.equal((await hooks.log())[0]?.answer, undefined)
  },
  { webhooks: { retries: [1_000], giveUpAfter: 5_000 } },
)

test('one message of the log is sent again, and no other', async (hooks) => {
  const { till, account, endpoint_id } = hooks
  for (const name of ['a', 'b']) await hooks.newItem(name)
  const [first = assert.fail(), second = assert.fail()] = await hooks.claimSome(2)
  await hooks.settle([first, second], OK)
  const webhook_id = first.headers['webhook-id'] as string

  await till.webhooks.resend(account, { endpoint_id, webhook_id })

  const [again = assert.fail()] = await hooks.claimSome(1)
  assert.deepEqual([idOf(again), again.attempt, again.body], [idOf(first), 1, first.body])
  await hooks.settle([again], DOWN)
  const states = (await hooks.log()).map(({ sequence, state }) => [sequence, state])
  assert.deepEqual(new Map(states as [number, string][]).get(first.sequence), 'waiting')
  const actions = (await till.accounts.listAudit(account)).entries.map(({ action }) => action)
  assert.ok(actions.includes('webhooks.resend'))
  const unknown = { endpoint_id, webhook_id: `${webhook_id}0` }
  await assert.rejects(till.webhooks.resend(account, unknown), { code: 'webhook_not_found' })
  const foreign = await till.accounts.create({ name: 'Other' })
  const theirs = till.webhooks.resend(foreign, { endpoint_id, webhook_id })
  await assert.rejects(theirs, { code: 'webhook_not_found' })
})

test('a message that is sent again does not keep old ones in the log', async (hooks) => {
  const { till, account, endpoint_id } = hooks
  for (const name of ['a', 'b']) await hooks.newItem(name)
  const messages = await hooks.claimSome(2)
  const [oldest = assert.fail()] = messages.toSorted((a, b) => a.sequence - b.sequence)
  await hooks.settle(messages, OK)
  hooks.clock.pass(31 * DAY)

  await till.webhooks.resend(account, { endpoint_id, webhook_id: idOf(oldest) })
  await hooks.outboxOf('sender').release()
  await hooks.settle(await hooks.claimSome(1, 'other'), OK, 'other') // its first result prunes the log

  const log = await hooks.log()
  assert.deepEqual(
    log.map(({ sequence }) => sequence),
    [oldest.sequence],
  )
})

test('a resend of a message that is pruned meanwhile is refused, and leaves no audit entry', async (hooks) => {
  const { till, account, endpoint_id, storage } = hooks
  await hooks.newItem('a')
  const [message = assert.fail()] = await hooks.claimSome(1)
  await hooks.settle([message], OK)
  const { findMessage } = storage
  Object.assign(storage, {
    async findMessage(key: Parameters<typeof findMessage>[0]) {
      const found = await findMessage(key)
      await storage.pruneMessages(endpoint_id, hooks.clock.now(), 0)
      return found
    },
  })

  const webhook_id = idOf(message)
  const resend = till.webhooks.resend(account, { endpoint_id, webhook_id })

  await assert.rejects(resend, { code: 'webhook_not_found' })
  const actions = (await till.accounts.listAudit(account)).entries.map(({ action }) => action)
  assert.ok(!actions.includes('webhooks.resend'))
})

test('an attempt under way counts as the first attempt of a resend, which is due at once', async (hooks) => {
  const { till, account, endpoint_id, clock } = hooks
  for (const name of ['a', 'b']) await hooks.newItem(name)
  await hooks.settle(await hooks.claimSome(2), DOWN)
  clock.pass(DAY / 24)
  const [fails = assert.fail(), succeeds = assert.fail()] = await hooks.claimSome(2)

  for (const message of [fails, succeeds]) {
    await till.webhooks.resend(account, { endpoint_id, webhook_id: idOf(message) })
  }

  const requested = new Date(clock.now()).toISOString()
  assert.deepEqual(
    (await hooks.log()).map(({ state, attempts, next_at }) => ({ state, attempts, next_at })),
    Array(2).fill({ state: 'waiting', attempts: 0, next_at: requested }),
  )
  await hooks.settle([fails], DOWN)
  await hooks.settle([succeeds], OK)
  const log = await hooks.log()
  const ends = log.map(({ webhook_id, state, attempts }) => [webhook_id, state, attempts])
  assert.deepEqual(
    new Set(ends),
    new Set([
      [idOf(fails), 'waiting', 1],
      [idOf(succeeds), 'delivered', 1],
    ]),
  )
})

test('a resend of an event whose data is archived is refused, and the message stays delivered', async (hooks, t) => {
  const { till, account, endpoint_id, clock } = hooks
  await hooks.newItem('a')
  const messages = await hooks.claimSome(1)
  const webhook_id = idOf(messages[0])
  await hooks.settle(messages, OK)
  clock.pass(DAY)
  await eventuallyHolds(async () => {
    await hooks.archive(t, DAY / 2)
    const { body } = await till.webhooks.getRequest(account, { endpoint_id, webhook_id })
    assert.equal(body, undefined)
  })

  const resend = till.webhooks.resend(account, { endpoint_id, webhook_id })

  await assert.rejects(resend, { code: 'invalid_request', message: /event whose data is gone/ })
  await hooks.claim()
  assert.deepEqual(
    (await hooks.log()).map(({ state }) => state),
    ['delivered'],
  )
  const actions = (await till.accounts.listAudit(account)).entries.map(({ action }) => action)
  assert.ok(!actions.includes('webhooks.resend'))
})

test('a message of a resumed endpoint is due from then on', async (hooks) => {
  const { till, account, endpoint_id, clock } = hooks
  await hooks.newItem('a')
  await hooks.settle(await hooks.claimSome(1), DOWN)
  await till.webhooks.pause(account, endpoint_id)
  clock.pass(DAY)

  await till.webhooks.resume(account, endpoint_id)

  const [message] = await hooks.log()
  assert.equal(message?.next_at, new Date(clock.now()).toISOString())
})

test('a replay starts at a time, and has only entries that are in the log', async (hooks) => {
  await hooks.newItem('old')
  hooks.clock.pass(DAY)
  await hooks.newItem('new')
  await hooks.settle(await hooks.claimSome(2), OK)

  await hooks.replay({ since: '2026-02-01' })

  assert.equal(bodies(await hooks.claimSome(1))[0].data.item.name, 'new')
  const both = hooks.replay({ from: 1, since: '2026-02-01' })
  await assert.rejects(both, { code: 'invalid_request' })
})

test('the log is listed in pages, and a second replay waits for the events of the first', async (hooks) => {
  for (const name of ['a', 'b', 'c']) await hooks.newItem(name)
  const sent = await hooks.claimSome(3)
  await hooks.settle(sent, OK)
  const first = await hooks.page(2)
  const pages = [...first.deliveries, ...(await hooks.page(2, first.next)).deliveries]
  const numbers = sent.map(({ sequence }) => sequence).sort((a, b) => b - a)
  assert.deepEqual(
    pages.map(({ sequence }) => sequence),
    numbers,
  )
  const replay = () => hooks.replay({ from: Math.min(...sent.map(({ sequence }) => sequence)) })

  await Promise.allSettled([replay(), replay()]) // one of them is refused
  await hooks.claimSome(2, 'sender', 2)
  await assert.rejects(replay(), { code: 'invalid_request', message: /a replay under way/ })
  await hooks.settle(await hooks.claimSome(1), DOWN)

  await eventuallyHolds(async () => {
    await hooks.claim()
    await replay()
  })
})

test('an endpoint that answers 410 is disabled, and one that sends Retry-After is retried later', async (hooks) => {
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
})

test('one process sends at a time, gets each message once, and releases what it has not sent', async (hooks) => {
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
  await hooks.settle(found.slice(1), { released: true }, 'two')
  const again = await hooks.claim('two')
  assert.deepEqual(again.map(idOf), found.slice(1).map(idOf), 'only the released one, at once')
  await hooks.settle(again, { released: true }, 'two')
  await hooks.settle(found, { released: true }, 'two') // ignores the one that is not claimed any more
  await hooks.outboxOf('two').release()
  assert.equal((await hooks.claim('three')).length, 2)
  await hooks.settle(found, OK, 'three')
  assert.equal((await hooks.get()).lag, 0)
})

test('a paused endpoint keeps its cursor and its messages', async (hooks) => {
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

test(
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

test('a request is read again as it was sent, without erased users', async (hooks, t) => {
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

  // An archive leaves what was not delivered, unless the endpoint pauses for a month.
  await hooks.newItem('coin')
  hooks.clock.pass(DAY)
  await hooks.archive(t, 3_600_000)
  assert.ok(typesOf(await hooks.claimSome(3)).includes('item.created'))
  await till.webhooks.pause(account, endpoint_id)
  hooks.clock.pass(40 * DAY)
  await hooks.archive(t, DAY)
  const left = await collect(till.operator.allAudit({}))
  assert.ok(left.every(({ action }) => action !== 'item.create'))
  for (const message of sent) assert.equal((await read(message)).body, undefined)
  for (const webhook_id of ['msg_1_x', 'msg_999_1', 'other']) {
    const unknown = till.webhooks.getRequest(account, { endpoint_id, webhook_id })
    await assert.rejects(unknown, { code: 'webhook_not_found' })
  }
})

test('an endpoint with a selection of events receives only these, and each test', async (hooks) => {
  const { till, account, endpoint_id } = hooks
  const select = (events: readonly WebhookEventType[] | null) =>
    till.webhooks.update(account, { endpoint_id, events })
  const selected = await select(['purchases.refunded', 'item.archived'])
  assert.deepEqual(selected.events, ['item.archived', 'purchases.refunded'])

  const { id } = await hooks.newItem('gem')
  await till.items.archive(account, id)
  await importRefunds(till, account, 2)
  await till.webhooks.test(account, endpoint_id)
  const messages = await hooks.claimSome(3)

  const types = ['item.archived', 'purchases.refunded', 'webhook.test']
  assert.deepEqual([...new Set(typesOf(messages))].sort(), types)
  await hooks.settle(messages, OK)
  await eventuallyHolds(async () => assert.equal((await hooks.get()).lag, 0))
  assert.equal((await select(null)).events, undefined)
  await hooks.newItem('axe')
  assert.deepEqual(typesOf(await hooks.claimSome(1)), ['item.created'])
})

test('a store without a secret signs with the confirmed secret of its project', async (hooks) => {
  const { till, account, project, token } = hooks
  const { id } = project
  const ofStore = await signedStore(hooks)
  const setSecret = (webhook_secret: string | null) =>
    till.projects.update(account, { id, config: { webhook_url: URL, webhook_secret } })

  assert.equal(await ofStore('one'), 1)
  assert.equal((await till.webhooks.get(account, `${id}/main`)).is_signed, true)
  await setSecret('second')
  assert.equal(await ofStore('two'), 2) // a replaced secret overlaps
  const session = await till.sessions.authenticate(token)
  await till.projects.update(session, { id, config: {} })
  await till.projects.update(session, { id, config: { webhook_url: URL, webhook_secret: 'x' } })
  assert.equal(await ofStore('three'), 2)
  await setSecret(null)
  assert.equal((await till.webhooks.get(account, `${id}/main`)).is_signed, false)
  assert.equal(await ofStore('four'), 0)
})

test('a store signs with the secret of a project without a URL, and after the URL is removed', async (hooks) => {
  const { till, account, token, endpoint_id: id } = hooks
  const ofStore = await signedStore(hooks)
  const set = (config: { webhook_url?: string; webhook_secret?: string | null }) =>
    till.projects.update(account, { id, config })
  const isSigned = async () => (await till.webhooks.get(account, `${id}/main`)).is_signed

  await set({}) // removes the URL
  assert.equal(await ofStore('one'), 1)
  const { endpoints } = await till.webhooks.list(account)
  assert.deepEqual(
    endpoints.map(({ store_id }) => store_id),
    ['main'],
  )
  await assert.rejects(till.webhooks.get(account, id), { code: 'webhook_not_found' })

  const session = await till.sessions.authenticate(token)
  await till.projects.update(session, { id, config: { webhook_secret: 'x' } })
  await till.projects.update(session, { id, config: { webhook_secret: null } })
  await till.projects.update(session, { id, config: { webhook_url: URL, webhook_secret: 'x' } })
  await till.projects.update(session, { id, config: {} })
  assert.equal(await ofStore('two'), 1)

  await set({ webhook_secret: 'second' })
  assert.equal(await ofStore('three'), 2) // a replaced secret overlaps
  await set({ webhook_url: URL, webhook_secret: 'second' })
  assert.equal((await till.webhooks.get(account, id)).lag, 0) // begins anew
  assert.equal(await ofStore('four'), 2)

  await set({})
  await set({ webhook_secret: null })
  assert.equal(await isSigned(), false)
  await set({ webhook_secret: 'third' })
  assert.equal(await isSigned(), true)
  const other = { name: 'Other', bundle_id: 'com.other', platform: 'ios' as const }
  const config = { webhook_secret: 'fourth' }
  const { id: project_id } = await till.projects.create(account, { ...other, config })
  const store_config = { webhook_enabled: true, webhook_url: URL }
  const store = { project_id, store_id: 'other', store_type: 'web' as const, store_config }
  await till.stores.create(account, store)
  assert.equal((await till.webhooks.get(account, `${project_id}/other`)).is_signed, true)
})

test('a project with only a secret does not hold back an archive', async (hooks, t) => {
  const { till, account, clock, newItem, configure } = hooks
  await configure({})
  await newItem('gem')
  clock.pass(DAY)
  await hooks.archive(t, 3_600_000)
  const left = await collect(till.operator.allAudit({ account_id: account.account_id }))
  assert.ok(left.every(({ action }) => action !== 'item.create'))
})

test('a key without the scope admin changes nothing about what signs for stores', async (hooks) => {
  const { till, account, endpoint_id: id, configure } = hooks
  const { account_key } = await till.accounts.addKey(account, { scopes: ['catalog'] })
  const limited = await till.accounts.authenticate(account_key)
  await signedStore(hooks)
  const isSigned = async () => (await till.webhooks.get(account, `${id}/main`)).is_signed
  const set = (webhook_secret: string | null) =>
    till.projects.update(limited, { id, config: { webhook_secret } })
  await configure({})
  await set(null)
  assert.equal(await isSigned(), true)
  await configure({ webhook_secret: 'mine' })
  await configure({ webhook_secret: null })
  await set('theirs')
  assert.equal(await isSigned(), false)
  await configure({ currency: 'USD' })
  assert.equal(await isSigned(), false)
})

test(
  'the secret of a project without a URL is copied, and encrypted with a new master key',
  async (hooks) => {
    const { storage, clock, newItem, configure } = hooks
    await signedStore(hooks)
    await configure({})
    await newItem('gem')
    const copied = createMemoryStorage()
    await copyStorage(storage, copied)
    const newest = Buffer.alloc(32, 2)
    const open = (keys: readonly Uint8Array[]) =>
      createTill({ storage: copied, now: clock.now, masterKeys: keys })

    await open([newest, ...masterKeys]).operator.sealSecrets()

    const { messages } = await outboxOf(open([newest])).claim()
    assert.deepEqual(typesOf(messages), ['item.created'])
    assert.match(messages[0]?.headers['webhook-signature'] ?? '', /^v1,/)
  },
  { masterKeys },
)

/** Gives the store a URL. The result counts the signatures of the store's message about a new item. */
async function signedStore({ till, account, newItem, claim, settle }: Hooks) {
  const store_config = { webhook_enabled: true, webhook_url: `${URL}/store` }
  await till.stores.update(account, { store_id: 'main', store_config })
  return async (name: string) => {
    await newItem(name)
    let message: OutgoingMessage | undefined
    await eventuallyHolds(async () => {
      const messages = await claim()
      await settle(messages, OK)
      const isOwn = ({ url, body }: OutgoingMessage) =>
        url === store_config.webhook_url && JSON.parse(body).data.item?.name === name
      message ??= messages.find(isOwn)
      assert.ok(message)
    })
    const signatures = String(message?.headers['webhook-signature'] ?? '').split(' ')
    return signatures.filter(Boolean).length
  }
}

test('a session does not change the selection of events', async (hooks) => {
  const { till, account, project, endpoint_id, token } = hooks
  const { id } = project
  await till.projects.update(account, { id, config: {} })
  const session = await till.sessions.authenticate(token)
  const put = (config: { webhook_url?: string }) => till.projects.update(session, { id, config })
  await put({ webhook_url: URL })
  await till.webhooks.update(account, { endpoint_id, events: ['item.created'] })
  await put({})
  await put({ webhook_url: `${URL}/other` })
  const confirmed = await till.webhooks.confirm(account, { endpoint_id })
  assert.deepEqual(confirmed.events, ['item.created'])
})
