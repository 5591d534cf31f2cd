import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { createConnection } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { createHandler } from '../../http/index.ts'
import { createMemoryStorage, openSqliteStorage } from '../../lib/index.ts'
import { temporaryFolder } from '../support/folder.ts'
import { createGatedStorage } from '../support/gated.ts'
import { listenOn } from '../support/listen.ts'
import {
  assertProblem,
  eventually,
  type Reply,
  rawRequest,
  type ServedShop,
  serveShop,
  startServer,
  type TestServerOptions,
} from '../support/server.ts'
import { memoryTill } from '../support/till.ts'

/** Text that is in every body and must not be in the log. */
const MARK = 'marked-text-of-a-body'

/** Limits so high that only the limit under test can end a connection. */
const forever = 3_600_000
const patient = {
  jsonTimeout: forever,
  requestTimeout: forever,
  discardTimeout: forever,
  keepAliveTimeout: forever,
  stopTimeout: forever,
}

function itemBody(name: string, more = ''): string {
  const fields = `"store_id":"main","name":"${name}","price":"1","type":"consumable"`
  return `{${fields},"display_name":"${MARK}"${more}}`
}

/** A request, its status and, unless it is 200, the code of the problem. */
type Row = readonly [
  name: string,
  bytes: (shop: ServedShop) => string | Uint8Array,
  status: number,
  code?: string,
  /** Headers of the answer, and texts that must not be in it. */
  more?: {
    readonly headers?: { readonly [name: string]: string }
    readonly absent?: readonly string[]
  },
]

const get = (target: string, ...headers: string[]) => rawRequest(`GET ${target}`, headers)
const create = (body: string, ...headers: string[]) =>
  rawRequest('POST /api/v1/items', headers, body)

function chunked(chunks: readonly string[], ...headers: string[]): string {
  const framed = chunks.map((chunk) => `${chunk.length.toString(16)}\r\n${chunk}\r\n`)
  const head = rawRequest('POST /api/v1/items', [...headers, 'transfer-encoding: chunked'])
  return `${head}${framed.join('')}0\r\n\r\n`
}

const methods = Object.entries({
  'DELETE /api/v1/items': 'POST, GET, HEAD, OPTIONS',
  'POST /api/v1/items/itm_1': 'GET, HEAD, OPTIONS',
  'GET /api/v1/projects': 'POST, PUT, OPTIONS',
  'PATCH /api/v1/stores': 'POST, OPTIONS',
  'GET /api/v1/purchases/import': 'POST, OPTIONS',
  'HEAD /api/v1/identity/auth/init': 'POST, OPTIONS',
  'TRACE /healthz': 'GET, HEAD, OPTIONS',
}).map(([request, allow]): Row => {
  const bytes: Row[1] = ({ withKey }) => rawRequest(request, [withKey])
  return [`${request} is 405 with Allow`, bytes, 405, 'method_not_allowed', { headers: { allow } }]
})

const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth)
const MAX = 256 * 1024

/** Bodies of an item. */
const bodies = (
  [
    ['an unknown field nests 63 levels', itemBody('deep', `,"other":${nested(63)}`), 200],
    ['an unknown field nests 64 levels', itemBody('deeper', `,"other":${nested(64)}`), 400],
    ['it is not UTF-8', itemBody('latin', ',"description":"\xe9"'), 400],
    ['it has an escaped lone surrogate', itemBody('half', ',"description":"\\ud83d"'), 400],
    ['it is incomplete JSON', itemBody('cut').slice(0, -1), 400],
    ['it has 256 KiB', itemBody('large').padEnd(MAX), 200],
    ['it has 256 KiB and a byte', itemBody('larger').padEnd(MAX + 1), 413],
  ] as const
).map(([what, body, status]): Row => {
  const absent = status === 200 ? ['other'] : [MARK, 'SyntaxError', 'JSON.parse', 'RangeError']
  // In Latin-1 each character is a byte.
  const bytes: Row[1] = ({ withKey }) =>
    Buffer.from(create(body.replace('\xe9', '?'), withKey).replace('"?"', '"\xe9"'), 'latin1')
  const code = status === 413 ? 'body_too_large' : 'invalid_request'
  return [`a body is ${status} if ${what}`, bytes, status, code, { absent }]
})

/** The header of a body, and whether it is accepted. */
const types = Object.entries({
  'content-type: application/json': true,
  'content-type: Application/JSON ; charset=utf-8': true,
  'content-encoding: identity': true,
  'content-type: text/plain': false,
  'content-type: multipart/form-data; boundary=x': false,
  'content-type: text/json': false,
  'content-encoding: gzip': false,
  'content-encoding: identity, gzip': false,
  'expect: miracles': true,
}).map(([header, isAccepted], index): Row => {
  const bytes: Row[1] = ({ withKey }) => create(itemBody(`typed_${index}`), withKey, header)
  if (isAccepted) return [`a body with ${header} is accepted`, bytes, 200]
  return [`a body with ${header} is 415`, bytes, 415, 'unsupported_media_type', { absent: [MARK] }]
})

const malformed = Object.entries({
  'a line that is not a request': 'what is this?\r\n\r\n',
  'a TLS handshake': '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
  'the preface of HTTP/2': 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  'another version': 'GET /healthz HTTP/9.9\r\nhost: test\r\n\r\n',
  'a space before a colon': 'GET /healthz HTTP/1.1\r\nhost : test\r\n\r\n',
  'a control character in a header': 'GET /healthz HTTP/1.1\r\nhost: te\0st\r\n\r\n',
  'a negative length': 'POST /api/v1/items HTTP/1.1\r\nhost: test\r\ncontent-length: -1\r\n\r\n',
  'two lengths': rawRequest('POST /api/v1/items', ['content-length: 1'], '{}'),
  'a length and chunks': rawRequest('POST /', ['transfer-encoding: chunked'], '0\r\n\r\n'),
}).map(([what, text]): Row => {
  const more = { headers: { connection: 'close' }, absent: ['HPE_', 'Parse Error'] }
  return [`${what} is 400`, () => Buffer.from(text, 'latin1'), 400, 'malformed_request', more]
})

const LIST = '/api/v1/items?store_id=main'
const CLOSE = { headers: { connection: 'close' }, absent: ['xxx'] }

const rows: readonly Row[] = [
  ...methods,
  ...bodies,
  ...types,
  ...malformed,
  [
    'a target in absolute form is routed by its path, whatever its host',
    () => get('HTTP://elsewhere:99/healthz?a=//'),
    200,
    '',
    { absent: ['elsewhere'] },
  ],
  ['a query may contain anything', () => get('/healthz?a=%FF&%&?=&__proto__=1&a[]'), 200],
  [
    'a chunked body of 256 KiB is accepted',
    ({ withKey }) => chunked([itemBody('chunked').padEnd(MAX)], withKey),
    200,
  ],
  [
    'a chunked body of 256 KiB and a byte is 413',
    ({ withKey }) => chunked([itemBody('longer').padEnd(MAX), ' '], withKey),
    413,
    'body_too_large',
    { absent: [MARK] },
  ],
  [
    'a valid account key after another one is refused',
    ({ withKey }) => create(itemBody('twice'), 'X-Account-Key: ak_other', withKey),
    401,
    'account_key_required',
  ],
  ['two tokens are refused', ({ withToken: own }) => get(LIST, own, own), 401, 'token_required'],
  [
    'two public keys are refused',
    ({ withPublicKey: own }) => get('/api/v1/identity/auth/access-token', own, own),
    400,
    'invalid_public_key',
  ],
  [
    'a GET with a body is answered',
    ({ withToken }) => rawRequest(`GET ${LIST}`, [withToken], MARK.repeat(1000)),
    200,
  ],
  ['a missing host is 400', () => 'GET /healthz HTTP/1.1\r\n\r\n', 400, 'malformed_request'],
  ['a repeated Host is 400', () => get('/healthz', 'Host: test'), 400, 'malformed_request'],
  ['Upgrade is ignored', () => get('/healthz', 'connection: upgrade', 'upgrade: h2c'), 200],
  [
    'headers of more than 16 KiB are 431',
    () => get('/healthz', `x-large: ${'x'.repeat(16 * 1024)}`),
    431,
    'headers_too_large',
    CLOSE,
  ],
  [
    'a target of more than 16 KiB is 431',
    () => get(`/${'x'.repeat(16 * 1024)}`),
    431,
    'headers_too_large',
    CLOSE,
  ],
  ['a request of HTTP/1.0 is answered', () => 'GET /healthz HTTP/1.0\r\n\r\n', 200, '', CLOSE],
]

test('every malformed or unusual request is answered, and the server keeps serving', async (t) => {
  const shop = await serveShop(t)
  const { log, connect, send, account_key, public_key, token, withKey, withToken } = shop

  for (const [name, bytes, status, code = '', { headers = {}, absent = [] } = {}] of rows) {
    await t.test(name, async () => {
      const client = await connect()

      client.write(bytes(shop))
      const answer = await client.reply({ head: name.startsWith('HEAD ') })

      if (status === 200) assert.equal(`${answer.status} ${answer.text}`.slice(0, 5), '200 {')
      else if (!name.startsWith('HEAD ')) assertProblem(answer, status, code)
      assert.match(answer.headers.get('x-request-id') ?? '', /^[\w-]+$/)
      for (const [header, value] of Object.entries(headers)) {
        assert.equal(answer.headers.get(header), value)
      }
      for (const text of [account_key, public_key, token, ...absent]) {
        assert.ok(!answer.text.includes(text), `shows ${text}`)
      }
      assert.equal((await send('GET /healthz')).text, '{"status":"ok"}')
    })
  }

  const logged = JSON.stringify(log)
  for (const text of [account_key, public_key, token, MARK, '[[', withKey, withToken]) {
    assert.ok(!logged.includes(text), `logs ${text}`)
  }
  assert.deepEqual(
    log.filter(({ level }) => level === 'error'),
    [],
  )
})

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
  const { connect } = await startServer(t, { storage: createMemoryStorage() })
  const client = await connect()

  client.socket.end(get('/healthz'))

  assert.equal((await client.reply()).text, '{"status":"ok"}')
})

/** More than the buffers of a connection hold; larger than the API lets clients create. */
const LARGE = 12_000_000

/** A server with a large item, and the path of that item. */
async function serveLargeItem(t: TestContext, limits: TestServerOptions['limits'] = {}) {
  const storage = createMemoryStorage()
  const shop = await serveShop(t, { storage, limits })
  const metadata = { text: 'x'.repeat(LARGE) }
  await storage.insertItem({ ...shop.item, id: 'itm_large', name: 'large', metadata })
  return { ...shop, path: '/api/v1/items/itm_large' }
}

test('a client that disconnects at once or sends nothing does not affect others', async (t) => {
  const { connect, send, url } = await startServer(t, { storage: createMemoryStorage() })

  for (const bytes of ['', 'GET', 'GET /healthz HTTP/1.1\r\nho', get('/healthz')]) {
    const client = await connect()
    client.write(bytes)
    client.socket.resetAndDestroy()
    const other = createConnection(Number(new URL(url).port), '127.0.0.1')
    other.on('error', () => {})
    other.end(bytes)
  }

  assert.equal((await send('GET /healthz')).status, 200)
})

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
    const client = await connect()
    client.write(start)
    const drops = setInterval(() => index === 0 && client.write(' '), 20)
    t.after(() => clearInterval(drops))
    assertProblem(await client.reply(), 408, 'request_timeout')
  }
  assert.equal((await send('GET /healthz')).status, 200)
})

test('a client that stays connected after its 408 is disconnected', async (t) => {
  const limits = { headersTimeout: 100, discardTimeout: 100 }
  const { connect } = await startServer(t, { storage: createMemoryStorage(), limits })
  const client = await connect()
  client.write('GET /healthz HTTP/1.1\r\n')
  assertProblem(await client.reply(), 408, 'request_timeout')

  // A write to a closed connection gets a reset.
  await eventually(() => {
    if (client.socket.writable) client.write('x')
    return client.socket.destroyed || undefined
  }, 'an end of the connection')
})

test('a client that does not read its answer is disconnected', { timeout: 20_000 }, async (t) => {
  const limits = { ...patient, answerTimeout: 200 }
  const { stop, connect, entryOf, path, withToken } = await serveLargeItem(t, limits)
  const client = await connect()
  client.socket.pause()

  client.write(get(path, withToken, ID))
  await entryOf('large')

  await stop() // which would wait an hour for the answer to be taken
  client.socket.resume()
  await assert.rejects(client.reply(), /the connection ended/)
})

test('over the limit on unsent bytes, the longest waiting of equal clients is disconnected', async (t) => {
  const limits = { ...patient, answerTimeout: forever, memoryBytes: 2.5 * LARGE }
  const { connect, path, withToken } = await serveLargeItem(t, limits)
  const readSlowly = async () => {
    const client = await connect()
    client.write(get(path, withToken))
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
  const { connect, entryOf, item, withToken } = await serveShop(t, { storage, limits })
  const metadata = { text: 'x'.repeat(LARGE) }
  await storage.insertItem({ ...item, id: 'itm_large', name: 'large', metadata })
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
  const patient = await connect()
  const greedy = await connect()

  patient.write(list.repeat(100))
  greedy.write(list.repeat(1_000))

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
  const client = await connect()

  client.write(get('/healthz') + get(LIST, withToken))
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
    const client = await connect()
    client.write(`${head}3\r\n{"a\r\n`)
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
  const storage = createMemoryStorage()
  const { stop, connect } = await startServer(t, { storage, limits: patient })
  const client = await connect()
  let hasEnded = false
  client.ended.then(() => {
    hasEnded = true
  })
  const half = MARK.repeat(10_000)
  client.write(rawRequest('POST /api/v1/items', [`content-length: ${2 * half.length}`]) + half)
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
  const storage = createMemoryStorage()
  const { stop, connect } = await startServer(t, { storage, limits: patient })
  const silent = await connect()
  const idle = await connect()
  idle.write(get('/healthz'))
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
  const { stop, connect } = await startServer(t, { storage: createMemoryStorage(), limits })
  const client = await connect()
  client.write(get('/healthz'))
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

test('a request on a connection that a stop has ended is not carried out and not reset', {
  timeout: 20_000,
}, async (t) => {
  const limits = { ...patient, stopIdleTimeout: 500 }
  const { till, stop, connect, withKey, token } = await serveShop(t, { limits })
  const session = await till.sessions.authenticate(token)
  const client = await connect()
  client.write(get('/healthz'))
  await client.reply()
  let error: Error | undefined
  client.socket.on('error', (reset) => (error = reset))

  const stopping = stop()
  await client.ended
  client.write(
    rawRequest('POST /api/v1/items', [withKey, 'content-type: application/json'], itemBody('late')),
  )
  await stopping

  assert.equal((await till.items.list(session, { store_id: 'main' })).items.length, 1)
  assert.equal(error, undefined)
})

test('stop() resolves although a client hangs', { timeout: 20_000 }, async (t) => {
  const limits = { ...patient, stopTimeout: 200 }
  const { stop, connect, entryOf, withKey } = await serveShop(t, { limits })
  const client = await connect()
  client.write(
    rawRequest('POST /api/v1/items', [withKey, 'x-request-id: hangs', 'content-length: 100']),
  )
  client.write('{"store_id":')
  const half = await connect()
  half.write('GET /healthz HTTP/1.1\r\n')

  await stop()

  assert.equal(await client.ended, '')
  assert.equal(await half.ended, '')
  assert.equal((await entryOf('hangs')).status, 499)
})
