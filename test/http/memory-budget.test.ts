import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { eventuallyHolds } from '../support/eventually.ts'
import { createGatedStorage } from '../support/gated.ts'
import { eachOf, itemNamed } from '../support/load.ts'
import { createShopFile } from '../support/served.ts'
import {
  assertProblem,
  connectTo,
  importForm,
  type RawClient,
  rawRequest,
  serveShop,
  startServer,
} from '../support/server.ts'
import { createShop } from '../support/till.ts'

const INIT = 'POST /api/v1/identity/auth/init'
const emptyObjects = (count: number) => Array(count).fill('{}').join()

test('75 bodies of 255 KiB that take 23 times as much when parsed, completed at the same moment, are answered with a small heap', async (t) => {
  const shop = await createShopFile(t)
  const { url } = await shop.serve([], { NODE_OPTIONS: '--max-old-space-size=128' })
  const key = `x-public-project-key: ${shop.public_key}`
  const bytes = rawRequest(INIT, [key], `[${emptyObjects(87_000)}]`)
  const clients: RawClient[] = []
  await eachOf(Array.from({ length: 75 }), async () => {
    const client = await connectTo(url)
    t.after(() => client.socket.destroy())
    clients.push(client)
    await new Promise((resolve) => client.socket.write(bytes.slice(0, -1), resolve))
  })
  assert.equal((await fetch(`${url}/healthz`)).status, 200) // the server has read the requests

  for (const { write } of clients) write(bytes.slice(-1))
  const replies = await Promise.all(clients.map(({ reply }) => reply()))

  // 408 when a busy machine needs more than 30 s to send all bodies.
  for (const { status } of replies) assert.ok([400, 503, 408].includes(status), String(status))
  assert.equal((await fetch(`${url}/healthz`)).status, 200)
})

test('large bodies are parsed one for each turn of the event loop, and others are answered in between', async (t) => {
  const { connect, send, withPublicKey } = await serveShop(t)
  const bodies = 20
  const order: string[] = []
  const body = `{"user_id":"u","other":[${emptyObjects(32_000)}]}`
  const bytes = rawRequest(INIT, [withPublicKey], body)
  const clients = await Promise.all(Array.from({ length: bodies }, connect))
  for (const client of clients) client.write(bytes.slice(0, -1))
  await setTimeout(500) // until all have arrived except for their last bytes

  const large = clients.map(async (client) => {
    client.write(bytes.slice(-1))
    assert.equal((await client.reply()).status, 200)
    order.push('large')
  })
  const small = (async () => {
    for (let i = 0; i < 3; i++) await send('GET /healthz')
    order.push('small')
  })()
  await Promise.all([...large, small])

  assert.ok(order.indexOf('small') < bodies / 2, `${order.indexOf('small')} were answered before`)
})

test('bodies over the memory budget are 503 while they arrive, and release their part when they end', async (t) => {
  const limits = { memoryBytes: 2_000_000, accountShare: 100 }
  const options = { metrics: true }
  const { connect, send, account_key, withKey } = await serveShop(t, { limits, options })
  const head = [withKey, 'content-length: 200001']
  const slow: RawClient[] = []
  // Twenty requests that only announce 200 KB each reserve nothing.
  for (let i = 0; i < 20; i++) slow.push(await connect(rawRequest('POST /api/v1/items', head)))
  const create = (name: string) =>
    send('POST /api/v1/items', { account_key, json: itemNamed(name) })
  assert.equal((await create('before')).status, 200)

  for (const client of slow) client.write(' '.repeat(200_000))
  const refused = await Promise.race(slow.map(({ reply }) => reply()))

  assertProblem(refused, 503, 'overloaded')
  assert.equal(refused.headers.get('retry-after'), '1')
  const { text } = await send('GET /metrics')
  assert.match(text, /^tillkit_http_overloaded_total\{kind="memory"\} [1-9]/m)
  for (const { socket } of slow) socket.destroy()
  await eventuallyHolds(async () => assert.equal((await create('after')).status, 200))
})

test('an account whose slow bodies use up its share of the budget does not block others', async (t) => {
  const limits = { memoryBytes: 4_000_000, accountShare: 50 }
  const { till, connect, send } = await startServer(t, { limits })
  const greedy = await createShop(till)
  const other = await till.accounts.create({ name: 'Other' })
  const head = [`x-account-key: ${greedy.account.account_key}`, 'content-length: 200001']
  const slow: RawClient[] = []
  for (let i = 0; i < 20; i++) {
    slow.push(await connect(rawRequest('POST /api/v1/items', head) + ' '.repeat(200_000)))
  }

  const refused = await Promise.race(slow.map(({ reply }) => reply()))

  assertProblem(refused, 503, 'overloaded')
  assert.match(refused.text, /This account has its share/)
  const { account_id, account_key } = other
  const config = { x: 'x'.repeat(60_000) }
  const json = { account_id, name: 'P', bundle_id: 'a.b', platform: 'web', config }
  assert.equal((await send('POST /api/v1/projects', { account_key, json })).status, 200)
})

test('a body is 503 when its parsed values do not fit into the budget, and releases them when it is answered', async (t) => {
  const limits = { memoryBytes: 2_000_000, accountShare: 100 }
  const { send, public_key } = await serveShop(t, { limits })
  const init = (user: string, values: number) => {
    const body = `{"user_id":${user},"other":[${emptyObjects(values)}]}`
    return send(INIT, { public_key, body })
  }

  for (let i = 0; i < 10; i++) {
    assertProblem(await init('"u"', 32_000), 503, 'overloaded')
    assert.equal((await init('"u"', 9_000)).status, 200)
    assert.equal((await init('7', 9_000)).status, 400)
    assert.equal((await send(INIT, { public_key, body: '{' })).status, 400)
  }
})

test('imports in flight count against the budget', async (t) => {
  const limits = {
    memoryBytes: 16 * 1024 ** 2,
    uploadMemory: 5 * 1024 ** 2,
    accountShare: 100,
  }
  const { connect, send, token, withToken } = await serveShop(t, {
    limits,
  })
  const upload = () =>
    send('POST /api/v1/purchases/import', {
      token,
      body: importForm('transaction_id,sku,purchased_at\nT-1,gold,1700000000\n'),
    })
  const head = ['content-type: multipart/form-data; boundary=x', 'content-length: 100']
  const slow = await connect(rawRequest('POST /api/v1/purchases/import', [withToken, ...head]))

  await eventuallyHolds(async () => assert.equal((await upload()).status, 503))
  slow.socket.destroy()
  await eventuallyHolds(async () => assert.equal((await upload()).status, 200))
})

test('a client with many unread answers is disconnected before one with a small answer', async (t) => {
  const { storage, open } = createGatedStorage()
  const limits = { memoryBytes: 1024 ** 2, answerTimeout: 3_600_000 }
  const { connect, withToken } = await serveShop(t, { storage, limits })
  const list = rawRequest('GET /api/v1/items?store_id=main', [withToken])
  const modest = await connect(list + rawRequest('GET /healthz', []))
  const greedy = await connect(list + rawRequest('GET /healthz', []).repeat(500))

  assert.equal(await greedy.ended, '')
  open()
  assert.equal((await modest.reply()).status, 200)
  assert.equal((await modest.reply()).status, 200)
})
