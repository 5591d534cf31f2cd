// run: early
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import {
  type ChangeEvent,
  copyStorage,
  createMemoryStorage,
  createTill,
  type OutgoingMessage,
  openSqliteStorage,
  type Till,
} from '../../lib/index.ts'
import { testOnEach } from '../support/databases.ts'
import { eventuallyHolds } from '../support/eventually.ts'
import { temporaryFolder } from '../support/folder.ts'
import { newPlace } from '../support/place.ts'
import { openPostgres, rawPostgres, startPostgres } from '../support/postgres.ts'
import { startReceiver } from '../support/receiver.ts'
import { outboxOf } from '../support/storage/holding.ts'
import { createClock, createShop, memoryTill, openStorage } from '../support/till.ts'
import { startWorker } from '../support/worker.ts'

const URL = 'https://hooks.example.com/till'
const server = await startPostgres()

async function openHooks(till: Till, webhook_url = URL) {
  const shop = await createShop(till)
  await till.projects.update(shop.account, { id: shop.project.id, config: { webhook_url } })
  const newItem = (name: string) =>
    till.items.create(shop.account, {
      ...{ store_id: 'main', name, display_name: name, price: '1', type: 'consumable' },
    })
  return { ...shop, newItem }
}

const subjectsOf = (messages: readonly OutgoingMessage[]) =>
  messages.map(({ body }) => JSON.parse(body).data.item?.name)

/** Claims messages until `check` accepts all of them. */
async function claimUntil(till: Till, check: (found: OutgoingMessage[]) => void) {
  const found: OutgoingMessage[] = []
  await eventuallyHolds(async () => {
    found.push(...(await outboxOf(till).claim()).messages)
    check(found)
  })
  return found
}

/** Settles messages as delivered. */
const settle = (till: Till, messages: readonly OutgoingMessage[]) =>
  outboxOf(till).settle(messages.map((each) => ({ ...each, status: 200 })))

test('on PostgreSQL, no event is lost or sent before its commit in any order of commits', async (t) => {
  const url = await server.createDatabase(t)
  const till = createTill({ storage: await openPostgres(t, url) })
  const { account, project, newItem, item } = await openHooks(till)
  const sql = rawPostgres(t, url)
  const early = await sql.reserve()
  const late = await sql.reserve()
  const claimed: OutgoingMessage[] = []
  const claim = async () => {
    claimed.push(...(await outboxOf(till).claim()).messages)
    return claimed.map(({ body }) => JSON.parse(body).data.change.version)
  }
  const insert = (version: number) => `
    INSERT INTO audit (at, actor, action, subject, account_id, project_id, store_id, request_id, data)
    VALUES ('2026-01-01T00:00:00.000Z', 'operator', 'item.update', '${item.id}',
      '${account.account_id}', '${project.id}', 'main', '', '{"version": ${version}}')`

  // "late" has the higher xid and the lower number, and commits last.
  await early.unsafe('BEGIN')
  await early.unsafe('SELECT pg_current_xact_id()')
  await late.unsafe('BEGIN')
  await late.unsafe(insert(2))
  await early.unsafe(insert(3))
  assert.deepEqual(await claim(), [])
  await early.unsafe('COMMIT')
  await eventuallyHolds(async () => assert.deepEqual(await claim(), [3]))
  await newItem('after')
  assert.deepEqual(await claim(), [3])
  await late.unsafe('COMMIT')

  await eventuallyHolds(async () => {
    claimed.push(...(await outboxOf(till).claim()).messages)
    const types = claimed.map(({ body }) => JSON.parse(body).type)
    assert.deepEqual(types, ['item.updated', 'item.updated', 'item.created'])
  })
  const [first, second] = claimed
  assert.ok((first?.sequence as number) > (second?.sequence as number))
  early.release()
  late.release()
})

test('two senders on one PostgreSQL take turns, and no message goes out twice', async (t) => {
  const url = await server.createDatabase(t)
  const tills = [
    createTill({ storage: await openPostgres(t, url) }),
    createTill({ storage: await openPostgres(t, url) }),
  ] as const
  const { account, newItem } = await openHooks(tills[0])
  const names = Array.from({ length: 60 }, (_, i) => `item_${i}`)
  await Promise.all(names.map(newItem))
  const sent: string[] = []
  const isDone = () => sent.length >= names.length

  const send = async (till: Till) => {
    while (!isDone()) {
      const { messages } = await outboxOf(till).claim({ limit: 7 })
      sent.push(...subjectsOf(messages))
      await settle(till, messages)
      await outboxOf(till).release()
    }
  }
  await Promise.all(tills.map(send))

  assert.deepEqual(sent.toSorted(), names.toSorted())
  assert.equal((await tills[1].webhooks.list(account)).endpoints[0]?.lag, 0)
})

test('a new endpoint gets the changes of transactions that were open, and none of before', async (t) => {
  const url = await server.createDatabase(t)
  const till = createTill({ storage: await openPostgres(t, url) })
  const { account, project, item } = await createShop(till)
  const sql = rawPostgres(t, url)
  const open = await sql.reserve()
  await open`BEGIN`
  await open`INSERT INTO audit (at, actor, action, subject, account_id, project_id, store_id,
      request_id) VALUES ('2030-01-01T00:00:00Z', 'operator', 'item.create', ${item.id},
      ${account.account_id}, ${project.id}, 'main', '')`
  const input = {
    store_id: 'main',
    display_name: 'Item',
    price: '1',
    type: 'consumable',
  } as const
  await till.items.create(account, { ...input, name: 'before' })
  await till.projects.update(account, { id: project.id, config: { webhook_url: URL } })
  await till.items.create(account, { ...input, name: 'after' })

  await open`COMMIT`
  open.release()

  const found = await claimUntil(till, ({ length }) => assert.equal(length, 2))
  assert.deepEqual(subjectsOf(found), [item.name, 'after'])
  await till.webhooks.replay(account, { endpoint_id: project.id, from: 1 })
  assert.ok((await till.webhooks.list(account)).endpoints[0]?.lag ?? 0 > 3)
})

test('a restored dump of another PostgreSQL server delivers what was not delivered', async (t) => {
  const url = await server.createDatabase(t)
  const old = createTill({ storage: await openPostgres(t, url) })
  const { newItem } = await openHooks(old)
  await newItem('delivered')
  const all = await claimUntil(old, ({ length }) => assert.equal(length, 1))
  await settle(old, all)
  await old.outbox.release()
  await newItem('waiting')
  const sql = rawPostgres(t, url)
  await sql.unsafe(`
    ALTER TABLE audit DISABLE TRIGGER USER;
    UPDATE audit SET xid = (xid::text::bigint + 1000000000)::text::xid8;
    ALTER TABLE audit ENABLE TRIGGER USER;
    UPDATE webhook_endpoints SET read_xid = (read_xid::text::bigint + 1000000000)::text::xid8`)

  const storage = await openPostgres(t, url)
  const till = createTill({ storage })
  const found = await claimUntil(till, (messages) =>
    assert.ok(subjectsOf(messages).includes('waiting')),
  )
  assert.deepEqual(subjectsOf(found), ['waiting'])
  const change = sql.unsafe("UPDATE audit SET actor = 'nobody'")
  await assert.rejects(async () => change, /append-only/)
})

test('a message that was sent before kill -9 and not settled is sent again with its id', async (t) => {
  const { received, url } = await startReceiver(t)
  const path = join(temporaryFolder(t), 'till.db')
  const storage = await openSqliteStorage(path)
  const till = createTill({ storage })
  t.after(() => till.close())
  const { account, newItem } = await openHooks(till, url)
  for (const name of ['a', 'b', 'c']) await newItem(name)
  const worker = startWorker(t)
  await worker.ask('open', path)
  const lease = 500
  assert.equal(await worker.ask('sendWebhooks', lease), 3)
  await worker.kill()

  const found = await claimUntil(till, ({ length }) => assert.equal(length, 3))

  const ids = found.map(({ headers }) => headers['webhook-id'])
  assert.deepEqual(
    ids,
    received.map(({ headers }) => headers['webhook-id']),
  )
  await settle(till, found)
  assert.equal((await till.webhooks.list(account)).endpoints[0]?.lag, 0)
})

test('deliveries do not empty the read cache of another process, and changes do', async (t) => {
  const path = join(temporaryFolder(t), 'till.db')
  const [storage, other] = [await openSqliteStorage(path), await openSqliteStorage(path)]
  const till = createTill({ storage: other })
  t.after(() => Promise.all([storage.close(), other.close()]))
  const { account, item, newItem } = await openHooks(till)
  await newItem('a')
  const cached = await storage.findItem(item.id)

  const { messages } = await outboxOf(till).claim()
  await settle(till, messages)

  assert.equal(messages.length, 1)
  assert.equal(await storage.findItem(item.id), cached, 'the same object')
  await till.items.update(account, { id: item.id, price: '7' })
  assert.equal((await storage.findItem(item.id))?.price, 7)
})

testOnEach('a copy and a copy of it send what was not delivered, with the same ids', async (t) => {
  const [from, back] = [createMemoryStorage(), createMemoryStorage()]
  const source = createTill({ storage: from })
  t.after(() => source.close())
  const { account, newItem } = await openHooks(source)
  const sent = (await outboxOf(source).claim()).messages
  await settle(source, sent)
  await newItem('a')
  const waiting = await outboxOf(source).claim() // is waiting in the source
  await newItem('b')
  const to = await newPlace(t).storage()
  const { counts } = await copyStorage(from, to)
  await copyStorage(to, back)

  for (const storage of [to, back]) {
    const copy = createTill({ storage })
    const messages = await claimUntil(copy, (found) =>
      assert.deepEqual(subjectsOf(found), ['a', 'b']),
    )
    assert.equal(messages[0]?.headers['webhook-id'], waiting.messages[0]?.headers['webhook-id'])
    const [endpoint] = (await copy.webhooks.list(account)).endpoints
    assert.equal(endpoint?.url, URL)
    await copy.close()
  }
  assert.equal(counts.webhook_endpoints, 1)
})

test('what a session sets is shown as unconfirmed, and confirmed only as it was shown', async () => {
  const clock = createClock()
  const till = memoryTill({ now: clock.now })
  const { account, project_id: id, token } = await openHooks(till)
  const session = await till.sessions.authenticate(token)
  const set = async (config: { webhook_url: string; webhook_secret?: string }) => {
    clock.pass(1)
    await till.projects.update(session, { id, config })
    return till.webhooks.get(account, id)
  }
  const confirm = (expected: object) =>
    till.webhooks.confirm(account, { endpoint_id: id, ...expected })

  // The punycode tells look-alikes apart: this is the Cyrillic o.
  const { unconfirmed_url } = await set({ webhook_url: URL.replace('o', '\u043e') })
  assert.match(String(unconfirmed_url), /^https:\/\/xn--[!-~]+\.example\.com\/till$/)
  await assert.rejects(confirm({ url: URL }), { code: 'invalid_request' })
  assert.equal((await confirm({ url: unconfirmed_url })).url, unconfirmed_url)

  // A change of only the secret is told apart from a new URL.
  const own = String(unconfirmed_url)
  for (const [config, isSameUrl, isSigned] of [
    [{ webhook_url: own, webhook_secret: 'of a stranger' }, true, true],
    [{ webhook_url: 'https://other.example/' }, false, false],
    [{ webhook_url: own }, true, false],
  ] as const) {
    const shown = await set(config)
    assert.equal(shown.unconfirmed_url === shown.url, isSameUrl)
    assert.equal(shown.unconfirmed_is_signed, isSigned)
  }

  // A secret that was replaced since the account saw it is not confirmed.
  const seen = await set({ webhook_url: own, webhook_secret: 'one' })
  const next = await set({ webhook_url: own, webhook_secret: 'two' })
  const old = confirm({ url: own, unconfirmed_at: seen.unconfirmed_at })
  await assert.rejects(old, { code: 'invalid_request' })
  const confirmed = await confirm({ url: own, unconfirmed_at: next.unconfirmed_at })
  assert.equal(confirmed.unconfirmed_at, undefined)
})

test('a webhook_url that was stored before its rule works, also when it is sent unchanged', async (t) => {
  const storage = createMemoryStorage()
  const till = createTill({ storage })
  t.after(() => till.close())
  const { account, project, newItem } = await openHooks(till)
  const webhook_url = 'https://name:word@hooks.example.com/'
  const { id } = project
  const refused = till.projects.update(account, { id, config: { webhook_url } })
  await assert.rejects(refused, /^TillError: config\.webhook_url must be .* without credentials/)
  await storage.updateProject(id, (current) => ({
    record: { ...current, config: { webhook_url } },
  }))

  const config = { webhook_url, webhook_secret: 'a secret' }
  assert.deepEqual((await till.projects.update(account, { id, config })).config, config)
  await newItem('a')
  const { messages } = await outboxOf(till).claim()
  assert.ok(messages.length > 0)
})

test('a large item is sent without its metadata, because a message has at most 64 KiB', async () => {
  const till = memoryTill()
  const { account, item } = await openHooks(till)
  await till.items.update(account, { id: item.id, meta: { text: 'x'.repeat(65_500) } })

  const { messages } = await outboxOf(till).claim()

  assert.ok(messages.every(({ body }) => Buffer.byteLength(body) <= 64 * 1024))
  const bodies = messages.map(({ body }) => JSON.parse(body))
  const { data } = bodies.find(({ type }) => type === 'item.updated')
  assert.deepEqual([data.is_shortened, data.item.id], [true, item.id])
  assert.equal(data.item.metadata, undefined)
})

test('an endpoint has at most 1,000 waiting messages, and then waits', async (t) => {
  const till = memoryTill({ webhooks: { retries: [3_600_000] } })
  t.after(() => till.close())
  const { account, project, newItem } = await openHooks(till)
  for (let i = 0; i < 1_010; i++) await newItem(`item_${i}`)
  for (;;) {
    const { messages } = await outboxOf(till).claim()
    assert.ok(messages.length <= 200, 'one transaction inserts few messages')
    if (messages.length === 0) break
    const results = messages.map((each) => ({ ...each, error: 'down' }))
    await outboxOf(till).settle(results)
  }

  const waiting: unknown[] = []
  for (let cursor: string | undefined; ; ) {
    const query = { endpoint_id: project.id, limit: 1000, cursor }
    const { deliveries, next } = await till.webhooks.log(account, query)
    waiting.push(...deliveries)
    cursor = next
    if (next === undefined) break
  }
  assert.equal(waiting.length, 1_000)
  assert.equal((await till.webhooks.get(account, project.id)).lag, 1_010)
})

test('listeners get committed changes, and a failing one disturbs nobody', async () => {
  const till = memoryTill()
  const { account, project, item } = await openHooks(till)
  const events: ChangeEvent[] = []
  till.on('change', () => {
    throw new Error('a failing listener')
  })
  const off = till.on('change', (event) => events.push(event))
  const wrong = till.items.update(account, { id: item.id, price: '1', version: 9 })
  await assert.rejects(wrong, { code: 'version_conflict' })

  await till.items.update(account, { id: item.id, price: '7' })

  await eventuallyHolds(() => assert.equal(events.length, 1))
  assert.equal(events[0]?.type, 'item.updated')
  assert.equal(events[0]?.project_id, project.id)
  off()
  assert.throws(() => till.on('other' as 'change', () => {}), TypeError)
})

testOnEach('the audit log can be read on from its last page', async () => {
  const till = createTill({ storage: await openStorage() })
  const { account, newItem } = await openHooks(till)
  const actions: string[] = []
  let cursor: string | undefined
  const follow = async () => {
    const page = await till.operator.followAudit({ account_id: account.account_id, cursor })
    actions.push(...page.entries.map(({ action }) => action))
    cursor = page.next
  }
  await eventuallyHolds(async () => {
    await follow()
    assert.equal(actions.at(-1), 'project.update')
  })
  await newItem('a')
  await eventuallyHolds(async () => {
    await follow()
    assert.deepEqual(actions.slice(-2), ['project.update', 'item.create'])
  })
})
