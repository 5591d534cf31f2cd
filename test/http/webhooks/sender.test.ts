import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { Webhook } from 'standardwebhooks'
import { startWebhooks, type WebhookSenderOptions } from '../../../http/index.ts'
import {
  createMemoryStorage,
  createTill,
  openSqliteStorage,
  type Till,
  type TillOptions,
  type WebhookDelivery,
} from '../../../lib/index.ts'
import { eventuallyHolds } from '../../support/eventually.ts'
import { temporaryFolder } from '../../support/folder.ts'
import { type Received, startReceiver } from '../../support/receiver.ts'
import { createSignal } from '../../support/server.ts'
import { createClock, createShop } from '../../support/till.ts'

const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'

/** A till whose retries come after some milliseconds, and its senders. */
function openTill(t: TestContext, options: Partial<TillOptions> = {}) {
  const webhooks = { retries: [20], giveUpAfter: 86_400_000 }
  const till = createTill({ storage: createMemoryStorage(), webhooks, ...options })
  const closing: (() => Promise<void>)[] = []
  t.after(async () => {
    for (const close of closing) await close()
    await till.close()
  })
  const send = (options: WebhookSenderOptions = {}, sending: Till = till) => {
    const sender = startWebhooks(sending, { allowPrivate: true, pollInterval: 50, ...options })
    closing.push(sender.close)
    return sender
  }
  return { till, send }
}

/** A shop whose project sends its events to a receiver. */
async function start(t: TestContext, options?: Partial<TillOptions>) {
  const receiver = await startReceiver(t)
  const opened = openTill(t, options)
  const { till } = opened
  const shop = await createShop(till)
  const { account, project } = shop
  const setUrl = (webhook_url: string) => {
    const config = { webhook_url, webhook_secret: SECRET }
    return till.projects.update(account, { id: project.id, config })
  }
  await setUrl(`${receiver.url}/hook`)
  /** Makes this many changes, each with an event. */
  const change = async (count = 1) => {
    for (let i = 0; i < count; i++) {
      await till.projects.update(account, { id: project.id, name: `Game ${Math.random()}` })
    }
  }
  const log = async (): Promise<readonly WebhookDelivery[]> => {
    const query = { endpoint_id: project.id, limit: '1000' }
    return (await till.webhooks.log(account, query)).deliveries
  }
  const endpoint = () => till.webhooks.get(account, project.id)
  /** Waits until everything is delivered. */
  const caughtUp = () => eventuallyHolds(async () => assert.equal((await endpoint()).lag, 0))
  return { ...opened, ...shop, receiver, setUrl, change, log, endpoint, caughtUp }
}

function sequences(received: readonly Received[]): number[] {
  return received.map(({ body }) => JSON.parse(body).sequence).sort((a, b) => a - b)
}

test('sends each change once, signed as in Standard Webhooks', async (t) => {
  const { receiver, send, change, caughtUp, log } = await start(t)
  const sender = send()
  await change(3)
  await caughtUp()
  const messages = receiver.received.map(({ headers, body }) =>
    new Webhook(SECRET).verify(body, headers as Record<string, string>),
  ) as { type: string }[]
  assert.deepEqual(
    messages.map(({ type }) => type),
    ['project.updated', 'project.updated', 'project.updated'],
  )
  assert.equal(new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size, 3)
  const [{ headers, path } = assert.fail()] = receiver.received
  assert.deepEqual([path, headers['content-type']], ['/hook', 'application/json'])
  assert.equal(sender.results['2xx'], 3)
  assert.deepEqual(
    (await log()).map(({ state, attempts, status }) => [state, attempts, status]),
    Array.from({ length: 3 }, () => ['delivered', 1, 204]),
  )
})

test('repeats a message with the same id until the receiver accepts it', async (t) => {
  const { receiver, send, change, caughtUp } = await start(t)
  const statuses = [500, 404, 307, 200]
  receiver.answer = (response) =>
    response.writeHead(statuses.shift() ?? 200, { location: '/other' }).end('no')
  const sender = send()
  await change()
  await caughtUp()
  const ids = receiver.received.map(({ headers }) => headers['webhook-id'])
  assert.deepEqual([ids.length, new Set(ids).size], [4, 1])
  assert.ok(receiver.received.every(({ path }) => path === '/hook')) // follows no redirect
  const { '2xx': accepted, '3xx': redirected, '4xx': refused, '5xx': failed } = sender.results
  assert.deepEqual([accepted, redirected, refused, failed], [1, 1, 1, 1])
})

test('Retry-After delays the whole endpoint', async (t) => {
  const clock = createClock(Date.now())
  const { till, receiver, send, change, caughtUp, log } = await start(t, { now: clock.now })
  receiver.answer = (response) => response.writeHead(503, { 'retry-after': '3600' }).end()
  let claims = 0
  const claim: Till['outbox']['claim'] = (request) => {
    claims++
    return till.outbox.claim(request)
  }
  send({}, { ...till, outbox: { ...till.outbox, claim } })
  const claimTwice = async () => {
    const before = claims
    await eventuallyHolds(() => assert.ok(claims > before + 1))
  }
  await change()
  await eventuallyHolds(async () => assert.equal((await log())[0]?.attempts, 1))
  clock.pass(3_500_000)
  await change()
  await claimTwice()
  assert.equal(receiver.received.length, 1)
  receiver.answer = (response) => response.writeHead(204).end()
  clock.pass(200_000)
  await caughtUp()
  assert.equal(new Set(sequences(receiver.received)).size, 2)
})

test('a receiver that never answers does not delay others, and gets 10 requests', async (t) => {
  const { till, account, receiver, send, change, endpoint } = await start(t)
  const dead = await startReceiver(t)
  const released = createSignal()
  dead.answer = (response) => void released.given.then(() => response.writeHead(204).end())
  const webhook_url = `http://dead.test:${dead.port}` // an account has 10 requests to one host
  const store_config = { webhook_enabled: true, webhook_url, webhook_secret: SECRET }
  await till.stores.update(account, { store_id: 'main', store_config })
  send({ resolve: async () => ['127.0.0.1'] })
  for (let i = 0; i < 25; i++) {
    await till.stores.update(account, { store_id: 'main', is_sandbox: i % 2 === 0 })
  }
  await change(5)
  await eventuallyHolds(async () => assert.equal((await endpoint()).lag, 0))
  await eventuallyHolds(() => assert.equal(dead.received.length, 10))
  assert.equal(new Set(sequences(receiver.received)).size, 31)
  released.give()
  await eventuallyHolds(() => assert.equal(new Set(sequences(dead.received)).size, 25))
})

test('a receiver that rejects everything gets one request at a time, until it accepts one', async (t) => {
  const { receiver, send, change, caughtUp } = await start(t)
  const inFlight: number[] = []
  let open = 0
  let status = 500
  receiver.answer = async (response) => {
    inFlight.push(++open)
    await setTimeout(5)
    open--
    response.writeHead(status).end()
  }
  send()
  await change(40)
  await eventuallyHolds(() => assert.ok(inFlight.length >= 40))
  assert.ok(
    inFlight.slice(20).every((each) => each === 1),
    `${inFlight}`,
  )
  status = 204
  await caughtUp()
  assert.equal(new Set(sequences(receiver.received)).size, 40)
})

test('close waits for the requests in flight, and another sender gets the rest at once', async (t) => {
  const { till, receiver, send, change, caughtUp } = await start(t)
  const released = createSignal()
  receiver.answer = (response) => void released.given.then(() => response.writeHead(204).end())
  const first = send()
  await change(30)
  await eventuallyHolds(() => assert.equal(receiver.received.length, 10))
  const closed = first.close()
  released.give()
  await closed
  assert.equal(first.results['2xx'], 10)
  send({}, till)
  await caughtUp()
  assert.equal(receiver.received.length, 30)
  assert.equal(new Set(sequences(receiver.received)).size, 30)
})

test('close ends a request that gets no answer, and the message is sent again', async (t) => {
  const { receiver, send, change, caughtUp } = await start(t)
  receiver.answer = () => {}
  const first = send({ closeTimeout: 20 })
  await change()
  await eventuallyHolds(() => assert.equal(receiver.received.length, 1))
  await first.close()
  receiver.answer = (response) => response.writeHead(204).end()
  send()
  await caughtUp()
  const [a, b] = receiver.received.map(({ headers }) => headers['webhook-id'])
  assert.equal(a, b)
})

test('a storage that fails for a while delays webhooks, and is reported once', async (t) => {
  const { till, receiver, send, change, caughtUp } = await start(t)
  let failures = 2
  const fail = async () => {
    failures--
    throw new Error('the database is away')
  }
  const outbox: Till['outbox'] = {
    ...till.outbox,
    claim: (request) => (failures > 1 ? fail() : till.outbox.claim(request)),
    settle: (results) => (failures > 0 ? fail() : till.outbox.settle(results)),
  }
  const errors: unknown[] = []
  send({ onError: (error) => errors.push(error) }, { ...till, outbox })
  await change(3)
  await caughtUp()
  assert.equal(failures, 0)
  assert.ok(errors.length >= 1 && errors.length <= 2, `${errors}`)
  assert.equal(receiver.received.length, 3)
})

test('two servers on one file send each message once', async (t) => {
  const path = join(temporaryFolder(t), 'till.db')
  const open = () => openSqliteStorage(path)
  const { receiver, send, change, caughtUp } = await start(t, { storage: await open() })
  const other = openTill(t, { storage: await open() })
  send()
  other.send()
  await change(60)
  await eventuallyHolds(() => assert.equal(new Set(sequences(receiver.received)).size, 60))
  await caughtUp()
  assert.equal(receiver.received.length, 60)
})
