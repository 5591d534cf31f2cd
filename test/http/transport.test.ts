// run: runtime
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { createConnection } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { createHandler } from '../../http/index.ts'
import { openSqliteStorage } from '../../lib/index.ts'
import { temporaryFolder } from '../support/folder.ts'
import { createGatedStorage } from '../support/gated.ts'
import { listenOn } from '../support/listen.ts'
import {
  assertProblem,
  eventually,
  type Reply,
  rawRequest,
  serveShop,
  startServer,
  type TestServerOptions,
} from '../support/server.ts'
import { memoryTill } from '../support/till.ts'

const LIST = '/api/v1/items?store_id=main'
const get = (target: string, ...headers: string[]) => rawRequest(`GET ${target}`, headers)

/** Limits so high that only the limit under test can end a connection. */
const forever = 3_600_000
const patient = {
  jsonTimeout: forever,
  requestTimeout: forever,
  discardTimeout: forever,
  keepAliveTimeout: forever,
  stopTimeout: forever,
}

test('HEAD gets the headers of GET and no body', async (t) => {
  const { connect, withToken, item } = await serveShop(t)
  const client = await connect()
  const withoutDate = ({ headers }: Reply) => [...headers].filter(([name]) => name !== 'date')

  for (const target of ['/healthz', LIST, `/api/v1/items/${item.id}`, '/nowhere']) {
    client.write(rawRequest(`HEAD ${target}`, [withToken, 'x-request-id: same']))
    const head = await client.reply({ head: true })
    // A body of the HEAD answer would stand before this reply.
    client.write(rawRequest(`GET ${target}`, [withToken, 'x-request-id: same']))
    const full = await client.reply()

    assert.deepEqual(withoutDate(head), withoutDate(full))
    assert.equal(head.status, full.status)
    assert.ok(full.text.length > 0)
  }
})

test('a client that half-closes after its request gets the answer', async (t) => {
  const { connect } = await startServer(t)
  const client = await connect()
  client.socket.end(get('/healthz'))

  assert.equal((await client.reply()).text, '{"status":"ok"}')
})

/** More than the buffers of a connection hold; larger than the API lets clients create. */
const LARGE = 12_000_000

/** A server with a large item, and the path of that item. */
async function serveLargeItem(t: TestContext, limits: TestServerOptions['limits'] = {}) {
  const shop = await serveShop(t, { limits })
  const metadata = { text: 'x'.repeat(LARGE) }
  await shop.storage.insertItem({ ...shop.item, id: 'itm_large', name: 'large', metadata })
  return { ...shop, path: '/api/v1/items/itm_large' }
}

test('a slow body and slow headers are 408, however regularly they arrive', async (t) => {
  const limits = { jsonTimeout: 300, uploadIdleTimeout: 100, headersTimeout: 200 }
  const { connect, send, withKey, withToken } = await serveShop(t, { limits })
  const form = 'content-type: multipart/form-data; boundary=x'
  const starts = [
    rawRequest('POST /api/v1/items', [withKey, 'content-length: 100000']),
    `${rawRequest('POST /api/v1/purchases/import', [withToken, form, 'content-length: 9'])}--x`,
    'GET /healthz HTTP/1.1\r\nhost: te',
  ]
  for (const [index, start] of starts.entries()) {
    const client = await connect(start)
    const drops = setInterval(() => index === 0 && client.write(' '), 20)
    t.after(() => clearInterval(drops))
    assertProblem(await client.reply(), 408, 'request_timeout')
  }
  assert.equal((await send('GET /healthz')).status, 200)
})

test('a client that stays connected after its 408 is disconnected', async (t) => {
  const limits = { headersTimeout: 100, discardTimeout: 100 }
  const { connect } = await startServer(t, { limits })
  const client = await connect('GET /healthz HTTP/1.1\r\n')
  assertProblem(await client.reply(), 408, 'request_timeout')

  // A write to a closed connection gets a reset.
  await eventually(() => {
    if (client.socket.writable) client.write('x')
    return client.socket.destroyed || undefined
  }, 'an end of the connection')
})

test('over the limit on unsent bytes, the longest waiting of equal clients is disconnected', async (t) => {
  const limits = { ...patient, answerTimeout: forever, memoryBytes: 2.5 * LARGE }
  const { connect, path, withToken } = await serveLargeItem(t, limits)
  const readSlowly = async () => {
    const client = await connect(get(path, withToken))
    await once(client.socket, 'data')
    client.socket.pause()
    return client
  }

  const [first, ...others] = [await readSlowly(), await readSlowly(), await readSlowly()]

  for (const { socket } of [first, ...others]) socket.resume()
  await assert.rejects(first.reply(), /the connection ended/)
  for (const client of others) assert.equal((await client.reply()).status, 200)
  // Clients that have read their answer no longer count.
  const again = await readSlowly()
  again.socket.resume()
  assert.equal((await again.reply()).status, 200)
})

test('a body that many clients wait for counts once', async (t) => {
  const limits = { ...patient, answerTimeout: forever, memoryBytes: 1.5 * LARGE }
  const file = join(temporaryFolder(t), 'till.db')
  const storage = await openSqliteStorage(file, { cacheBytes: 20 * LARGE })
  const { connect, send, entryOf, item, token, withToken } = await serveShop(t, { storage, limits })
  const metadata = { text: 'x'.repeat(LARGE) }
  await storage.insertItem({ ...item, id: 'itm_large', name: 'large', metadata })
  await send(`GET ${LIST}&limit=1`, { token }) // the first read after this write is not cached
  const clients = [await connect(), await connect(), await connect()]

  for (const [i, { socket, write }] of clients.entries()) {
    socket.pause()
    write(get('/api/v1/items/itm_large', withToken, `x-request-id: asked-${i}`))
    await entryOf(`asked-${i}`) // the answer waits for the client
  }

  for (const { socket, reply } of clients) {
    socket.resume()
    assert.equal((await reply()).status, 200)
  }
})

test('a connection with more than 100 waiting requests is closed', async (t) => {
  const { connect, send, withToken } = await serveShop(t)
  const list = get(LIST, withToken)
  const patient = await connect(list.repeat(100))
  const greedy = await connect(list.repeat(1_000))

  for (let i = 0; i < 100; i++) assert.equal((await patient.reply()).status, 200)
  await greedy.ended
  assert.equal((await send('GET /healthz')).status, 200)
})

test('the requests after the limit of pipelined ones are not parsed', async (t) => {
  const server = createServer(createHandler(memoryTill()))
  let requests = 0
  server.on('request', () => requests++)
  const { port } = new URL(await listenOn(t, server))
  const client = createConnection(Number(port), '127.0.0.1')
  client.on('error', () => {}).resume()

  client.write('GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n'.repeat(1_000))
  await once(client, 'close')

  assert.ok(requests <= 102, `${requests} requests`)
})

const ID = 'x-request-id: large'

test('a slow pipelined request is not mistaken for a slow reader', async (t) => {
  const { storage, entered, open } = createGatedStorage()
  const { connect, withToken } = await serveShop(t, { storage, limits: { answerTimeout: 50 } })
  const client = await connect(get('/healthz') + get(LIST, withToken))
  assert.equal((await client.reply()).text, '{"status":"ok"}')
  await entered
  await setTimeout(200)
  open()

  assert.equal((await client.reply()).status, 200)
})

test('a malformed chunked body gets one 400', async (t) => {
  const { connect, send, log, withKey, withToken } = await serveShop(t)
  const form = 'content-type: multipart/form-data; boundary=x'
  const heads = [
    rawRequest('POST /api/v1/items', [withKey, 'transfer-encoding: chunked']),
    rawRequest('POST /api/v1/purchases/import', [withToken, form, 'transfer-encoding: chunked']),
  ]

  for (const head of heads) {
    const client = await connect(`${head}3\r\n{"a\r\n`)
    assert.equal((await send('GET /healthz')).status, 200)
    client.write('no chunk size\r\n')

    assertProblem(await client.reply(), 400, 'malformed_request')
    assert.equal(await client.ended, '')
  }
  assert.deepEqual(
    log.filter(({ level }) => level === 'error'),
    [],
  )
})

test('a stopping server lets a client read its whole answer', async (t) => {
  const { stop, connect, entryOf, path, withToken } = await serveLargeItem(t, patient)
  const client = await connect()
  client.socket.pause()
  client.write(get(path, withToken, ID))
  await entryOf('large')

  const stopping = stop()
  client.socket.resume()
  const reply = await client.reply()
  await stopping

  assert.equal(reply.json<{ metadata: { text: string } }>().metadata.text.length, LARGE)
})

test('a stopping server reads a refused body to its end, so that its sender gets the answer', {
  timeout: 20_000,
}, async (t) => {
  const { stop, connect } = await startServer(t, { limits: patient })
  const half = 'x'.repeat(200_000)
  const head = rawRequest('POST /api/v1/items', [`content-length: ${2 * half.length}`])
  const client = await connect(head + half)
  let hasEnded = false
  client.ended.then(() => {
    hasEnded = true
  })
  assertProblem(await client.reply(), 401, 'account_key_required')

  const stopping = stop()
  await setTimeout(200)
  assert.equal(hasEnded, false)
  client.write(half)
  await stopping

  assert.equal(await client.ended, '')
})

test('stop() closes idle connections and may be called twice', {
  timeout: 20_000,
}, async (t) => {
  const { stop, connect } = await startServer(t, { limits: patient })
  const silent = await connect()
  const idle = await connect(get('/healthz'))
  await idle.reply()

  await stop()
  await stop()

  assert.equal(await idle.ended, '')
  assert.equal(await silent.ended, '')
})

test('a stopping server answers all pipelined requests that were on their way, then closes the connection', {
  timeout: 20_000,
}, async (t) => {
  const limits = { ...patient, stopIdleTimeout: forever }
  const { stop, connect } = await startServer(t, { limits })
  const client = await connect(get('/healthz'))
  await client.reply()

  const stopping = stop()
  client.write(get('/healthz') + get('/nowhere'))
  const first = await client.reply()
  const last = await client.reply()
  await stopping

  assert.deepEqual([first.status, first.headers.get('connection')], [200, 'keep-alive'])
  assert.deepEqual([last.status, last.headers.get('connection')], [404, 'close'])
  assert.equal(await client.ended, '')
})

test('a request that was on its way to a stopping server may take longer than an idle connection', {
  timeout: 20_000,
}, async (t) => {
  const limits = { ...patient, stopIdleTimeout: 200 }
  const { stop, connect, withKey } = await serveShop(t, { limits })
  const client = await connect() // without a request: Node itself ends the timer of a used one

  const stopping = stop()
  client.write(`${rawRequest('POST /api/v1/items', [withKey, 'content-length: 2'])}{`)
  await setTimeout(500)
  client.write('}')

  assert.equal((await client.reply()).status, 400)
  await stopping
})

test('stop() resolves although a client hangs', { timeout: 20_000 }, async (t) => {
  const limits = { ...patient, stopTimeout: 200 }
  const { stop, connect, entryOf, withKey } = await serveShop(t, { limits })
  const head = [withKey, 'x-request-id: hangs', 'content-length: 100']
  const client = await connect(`${rawRequest('POST /api/v1/items', head)}{"store_id":`)
  const half = await connect('GET /healthz HTTP/1.1\r\n')

  await stop()

  assert.equal(await client.ended, '')
  assert.equal(await half.ended, '')
  assert.equal((await entryOf('hangs')).status, 499)
})
