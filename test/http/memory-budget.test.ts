import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { createMemoryStorage } from '../../lib/index.ts'
import { eachOf, itemNamed } from '../support/load.ts'
import { createShopFile, type ShopFile } from '../support/served.ts'
import {
  assertProblem,
  connectTo,
  eventually,
  importForm,
  type RawClient,
  rawRequest,
  serveShop,
  startServer,
} from '../support/server.ts'
import { soakOnly } from '../support/soak.ts'
import { createShop } from '../support/till.ts'

interface Attack {
  readonly name: string
  readonly clients: number
  readonly request: (shop: ShopFile, client: number) => string
  readonly statuses: readonly number[]
}

const init = ({ project }: ShopFile, body: string) =>
  rawRequest(
    'POST /api/v1/identity/auth/init',
    [`x-public-project-key: ${project.public_key}`],
    body,
  )

const emptyObjects = (count: number) => Array(count).fill('{}').join()

const attacks: Attack[] = [
  {
    name: '75 bodies of 255 KiB that take 23 times as much when parsed',
    clients: 75,
    request: (shop) => init(shop, `[${emptyObjects(87_000)}]`),
    statuses: [400, 503],
  },
  {
    name: '75 bodies with the maximum number of values',
    clients: 75,
    // The other values: the object, two keys, a string and an array.
    request: (shop) => init(shop, `{"user_id":"u","other":[${emptyObjects(33_000 - 5)}]}`),
    statuses: [200, 503],
  },
  {
    name: '75 bodies with one long text outside Latin-1',
    clients: 75,
    request: (shop) => init(shop, `{"user_id":"u","other":"${'日'.repeat(85_000)}"}`),
    statuses: [200, 503],
  },
  {
    name: '75 items with the largest metadata',
    clients: 75,
    request: ({ account_key }, client) => {
      const item = { ...itemNamed(`item_${client}`), meta: { text: 'x'.repeat(65_000) } }
      return rawRequest(
        'POST /api/v1/items',
        [`x-account-key: ${account_key}`],
        JSON.stringify(item),
      )
    },
    statuses: [200, 503],
  },
]

for (const [index, { name, clients: count, request, statuses }] of attacks.entries()) {
  const skip = index > 0 && soakOnly
  test(`${name}, completed at the same moment, are answered with a small heap`, {
    skip,
  }, async (t) => {
    const shop = await createShopFile(t)
    const { url } = await shop.serve([], { NODE_OPTIONS: '--max-old-space-size=128' })
    const clients: RawClient[] = []
    const lastBytes: string[] = []
    const probe = startProbe(t, url)
    await eachOf(Array.from({ length: count }).keys(), async (client) => {
      const bytes = request(shop, client)
      const { socket, ...rest } = await connectTo(url)
      t.after(() => socket.destroy())
      clients.push({ socket, ...rest })
      lastBytes.push(bytes.slice(-1))
      await new Promise((resolve) => socket.write(bytes.slice(0, -1), resolve))
    })
    await probe.answers(2) // until the server has read the earlier requests

    for (const [index, { write }] of clients.entries()) write(lastBytes[index] ?? '')
    const replies = await Promise.all(clients.map(({ reply }) => reply()))

    // 408 when a busy machine needs more than 30 s to send all bodies.
    const answers = [...statuses, 408]
    for (const { status } of replies) assert.ok(answers.includes(status), String(status))
    await probe.answers(2)
  })
}

/** Requests `/healthz` repeatedly until the test ends. */
function startProbe(t: TestContext, url: string) {
  let isOver = false
  let answered = 0
  t.after(() => {
    isOver = true
  })
  const probe = async () => {
    while (!isOver) {
      const { status } = await fetch(`${url}/healthz`)
      // 408 where a busy machine takes more than 10 s to read the headers.
      assert.ok(status === 200 || status === 408, String(status))
      if (status === 200) answered++
      await setTimeout(5)
    }
  }
  const probing = probe()
  probing.catch(() => {})
  return {
    async answers(more: number) {
      const enough = answered + more
      const seen = eventually(() => answered >= enough || undefined, 'an answer of /healthz')
      await Promise.race([seen, probing])
    },
  }
}

test('large bodies are parsed one for each turn of the event loop, and others are answered in between', async (t) => {
  const { connect, send, withPublicKey } = await serveShop(t, { storage: createMemoryStorage() })
  const bodies = 20
  const order: string[] = []
  const body = `{"user_id":"u","other":[${emptyObjects(32_000)}]}`
  const head = [withPublicKey]
  const bytes = rawRequest('POST /api/v1/identity/auth/init', head, body)
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
  const storage = createMemoryStorage()
  const { connect, send, account_key, withKey } = await serveShop(t, {
    storage,
    limits,
    options: { metrics: true },
  })
  const head = [withKey, 'content-length: 200001']
  const slow: RawClient[] = []
  // Twenty requests that only announce 200 KB each reserve nothing.
  for (let i = 0; i < 20; i++) {
    const client = await connect()
    client.write(rawRequest('POST /api/v1/items', head))
    slow.push(client)
  }
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
  for (let tries = 0; ; tries++) {
    const { status } = await create(`after_${tries}`)
    if (status === 200) break
    assert.ok(status === 503 && tries < 100, String(status))
    await setTimeout(10)
  }
})

test('an account whose slow bodies use up its share of the budget does not block others', async (t) => {
  const limits = { memoryBytes: 4_000_000, accountShare: 50 }
  const { till, connect, send } = await startServer(t, { storage: createMemoryStorage(), limits })
  const greedy = await createShop(till)
  const other = await till.accounts.create({ name: 'Other' })
  const head = [`x-account-key: ${greedy.account.account_key}`, 'content-length: 200001']
  const slow: RawClient[] = []
  for (let i = 0; i < 20; i++) {
    const client = await connect()
    client.write(rawRequest('POST /api/v1/items', head))
    client.write(' '.repeat(200_000))
    slow.push(client)
  }

  const refused = await Promise.race(slow.map(({ reply }) => reply()))

  assertProblem(refused, 503, 'overloaded')
  assert.match(refused.text, /This account has its share/)
  const { account_id, account_key } = other
  const json = {
    account_id,
    name: 'P',
    bundle_id: 'a.b',
    platform: 'web',
    config: { x: 'x'.repeat(60_000) },
  }
  assert.equal((await send('POST /api/v1/projects', { account_key, json })).status, 200)
})

test('the memory of a parsed body is released when its request is answered', async (t) => {
  const limits = { memoryBytes: 6_000_000, accountShare: 100 }
  const { send, project } = await serveShop(t, { storage: createMemoryStorage(), limits })
  const body = `{"user_id":"u","other":[${emptyObjects(32_000)}]}`
  const bodies = [body, '{', `{"user_id":7,"other":[${emptyObjects(32_000)}]}`]

  for (let i = 0; i < 30; i++) {
    const { public_key } = project
    const text = bodies[i % bodies.length] ?? ''
    const reply = await send('POST /api/v1/identity/auth/init', { public_key, body: text })
    assert.equal(reply.status, text === body ? 200 : 400)
  }
})

test('a body that fits into the budget is 503 when its parsed values do not', async (t) => {
  const limits = { memoryBytes: 2_000_000, accountShare: 100 }
  const { till, send } = await startServer(t, { storage: createMemoryStorage(), limits })
  const { public_key } = (await createShop(till)).project
  const init = (values: number) => {
    const body = `{"user_id":"u","other":[${emptyObjects(values)}]}`
    return send('POST /api/v1/identity/auth/init', { public_key, body })
  }

  assertProblem(await init(32_000), 503, 'overloaded')
  assert.equal((await init(3_000)).status, 200)
})

test('imports in flight count against the budget', async (t) => {
  const limits = {
    memoryBytes: 16 * 1024 ** 2,
    uploadMemory: 5 * 1024 ** 2,
    accountShare: 100,
  }
  const { connect, send, token, withToken } = await serveShop(t, {
    storage: createMemoryStorage(),
    limits,
  })
  const upload = () =>
    send('POST /api/v1/purchases/import', {
      token,
      body: importForm('transaction_id,sku,purchased_at\nT-1,gold,1700000000\n'),
    })
  const slow = await connect()
  const head = ['content-type: multipart/form-data; boundary=x', 'content-length: 100']
  slow.write(rawRequest('POST /api/v1/purchases/import', [withToken, ...head]))

  for (let tries = 0; ; tries++) {
    const reply = await upload()
    if (reply.status === 503) break
    assert.ok(reply.status === 200 && tries < 100, reply.text)
  }
  slow.socket.destroy()
  for (let tries = 0; (await upload()).status !== 200; tries++) assert.ok(tries < 100)
})

test('a client that pipelines small requests and reads no answer is disconnected', async (t) => {
  const limits = { memoryBytes: 1024 ** 2, answerTimeout: 3_600_000 }
  const { connect, send } = await startServer(t, { storage: createMemoryStorage(), limits })
  const client = await connect()
  client.socket.pause()
  const closed = new Promise((resolve) => client.socket.once('close', resolve))
  const requests = rawRequest('GET /healthz', []).repeat(1_000)
  const write = () => {
    while (client.socket.writable && client.socket.write(requests));
  }

  client.socket.on('drain', write)
  write()

  await closed
  assert.equal((await send('GET /healthz')).status, 200)
})

test('a client with many unread answers is disconnected before one with a small answer', async (t) => {
  const storage = createMemoryStorage()
  const limits = { memoryBytes: 1024 ** 2, answerTimeout: 3_600_000 }
  const { connect, withToken } = await serveShop(t, { storage, limits })
  const { listItems } = storage
  let open = () => {}
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  storage.listItems = async (store, page) => {
    await opened
    return listItems(store, page)
  }
  const list = rawRequest('GET /api/v1/items?store_id=main', [withToken])
  const [modest, greedy] = [await connect(), await connect()]

  modest.write(list + rawRequest('GET /healthz', []))
  greedy.write(list + rawRequest('GET /healthz', []).repeat(500))

  assert.equal(await greedy.ended, '')
  open()
  assert.equal((await modest.reply()).status, 200)
  assert.equal((await modest.reply()).status, 200)
})
