import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createConnection } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { createMemoryStorage, openSqliteStorage } from '../../lib/index.ts'
import { temporaryFolder } from '../support/folder.ts'
import { createGatedStorage } from '../support/gated.ts'
import {
  assertProblem,
  eventually,
  type RawClient,
  type Reply,
  rawRequest,
  type ServedShop,
  serveShop,
  startServer,
  type TestServerOptions,
} from '../support/server.ts'

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

interface Row {
  readonly name: string
  readonly bytes: (shop: ServedShop) => string | Uint8Array
  /** The status and, unless it is 200, the code of the problem. */
  readonly reply: readonly [status: number, code?: string]
  readonly headers?: { readonly [name: string]: string }
  /** Texts that must not be in the reply. */
  readonly absent?: readonly string[]
}

const get = (target: string, ...headers: string[]) => rawRequest(`GET ${target}`, headers)

const targets: Row[] = [
  {
    name: 'a target in absolute form is routed by its path, whatever its host',
    bytes: () => get('HTTP://elsewhere:99/healthz?a=//'),
    reply: [200],
    absent: ['elsewhere'],
  },
  {
    name: 'a query may contain anything',
    bytes: () => get('/healthz?a=%FF&%&?=&__proto__=1&a[]'),
    reply: [200],
  },
]

const methods: Row[] = (
  [
    ['DELETE /api/v1/items', 'POST, GET, HEAD, OPTIONS'],
    ['POST /api/v1/items/itm_1', 'GET, HEAD, OPTIONS'],
    ['GET /api/v1/projects', 'POST, PUT, OPTIONS'],
    ['PATCH /api/v1/stores', 'POST, OPTIONS'],
    ['GET /api/v1/purchases/import', 'POST, OPTIONS'],
    ['HEAD /api/v1/identity/auth/init', 'POST, OPTIONS'],
    ['TRACE /healthz', 'GET, HEAD, OPTIONS'],
  ] as const
).map(([request, allow]) => ({
  name: `${request} is 405 with Allow`,
  bytes: ({ withKey }) => rawRequest(request, [withKey]),
  reply: [405, 'method_not_allowed'],
  headers: { allow },
}))

const create = (body: string, ...headers: string[]) =>
  rawRequest('POST /api/v1/items', headers, body)

const bodies: Row[] = [
  {
    name: 'a body of 100,000 nested arrays is 400',
    bytes: ({ withKey }) => create('['.repeat(100_000) + ']'.repeat(100_000), withKey),
    reply: [400, 'invalid_request'],
    absent: ['[[', 'RangeError', 'stack'],
  },
  {
    name: 'meta of 40,000 nested objects is 400',
    bytes: ({ withKey }) => {
      const meta = `${'{"a":'.repeat(40_000)}1${'}'.repeat(40_000)}`
      return create(itemBody('deep', `,"meta":${meta}`), withKey)
    },
    reply: [400, 'invalid_request'],
    absent: ['{"a":{', 'RangeError', 'stack'],
  },
  {
    name: 'an unknown field may nest 63 levels',
    bytes: ({ withKey }) => {
      const unknown = '['.repeat(63) + ']'.repeat(63)
      return create(itemBody('deep_unknown', `,"other":${unknown}`), withKey)
    },
    reply: [200],
    absent: ['other'],
  },
  {
    name: 'an unknown field may not nest 64 levels',
    bytes: ({ withKey }) => {
      const unknown = '['.repeat(64) + ']'.repeat(64)
      return create(itemBody('deep_unknown', `,"other":${unknown}`), withKey)
    },
    reply: [400, 'invalid_request'],
    absent: ['other', 'RangeError'],
  },
  {
    name: 'a body that is not UTF-8 is 400',
    bytes: ({ withKey }) => {
      const text = create(itemBody('latin', ',"description":"\xe9"'), withKey)
      const bytes = Buffer.from(text, 'latin1')
      return Buffer.from(
        bytes.toString('latin1').replace(/(content-length: )(\d+)/, shorten),
        'latin1',
      )
    },
    reply: [400, 'invalid_request'],
    absent: [MARK],
  },
  {
    name: 'an escaped lone surrogate is 400',
    bytes: ({ withKey }) => create(itemBody('half', ',"description":"\\ud83d"'), withKey),
    reply: [400, 'invalid_request'],
    absent: [MARK],
  },
  {
    name: 'a body with incomplete JSON is 400 and not quoted',
    bytes: ({ withKey }) => create(itemBody('cut').slice(0, -1), withKey),
    reply: [400, 'invalid_request'],
    absent: [MARK, 'SyntaxError', 'JSON.parse'],
  },
  {
    name: 'a body that is not JSON is 400 and not quoted',
    bytes: ({ withKey }) => create(MARK, withKey),
    reply: [400, 'invalid_request'],
    absent: [MARK.slice(0, 6), 'SyntaxError'],
  },
  {
    name: 'a body of 256 KiB is accepted',
    bytes: ({ withKey }) => create(itemBody('large').padEnd(256 * 1024), withKey),
    reply: [200],
  },
  {
    name: 'a body of 256 KiB and a byte is 413',
    bytes: ({ withKey }) => create(itemBody('larger').padEnd(256 * 1024 + 1), withKey),
    reply: [413, 'body_too_large'],
    absent: [MARK],
  },
  {
    name: 'a chunked body of 256 KiB is accepted',
    bytes: ({ withKey }) => chunked([itemBody('chunked').padEnd(256 * 1024)], withKey),
    reply: [200],
  },
  {
    name: 'a chunked body of 256 KiB and a byte is 413',
    bytes: ({ withKey }) => chunked([itemBody('longer').padEnd(256 * 1024), ' '], withKey),
    reply: [413, 'body_too_large'],
    absent: [MARK],
  },
  ...['application/json', 'Application/JSON ; charset=utf-8'].map(
    (type, index): Row => ({
      name: `the content type ${type} is accepted`,
      bytes: ({ withKey }) => create(itemBody(`typed_${index}`), withKey, `content-type: ${type}`),
      reply: [200],
    }),
  ),
  {
    name: 'a missing content type is accepted',
    bytes: ({ withKey }) => create(itemBody('untyped'), withKey, 'content-encoding: identity'),
    reply: [200],
  },
  ...[
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'text/json',
  ].map(
    (type): Row => ({
      name: `the content type ${type} is 415`,
      bytes: ({ withKey }) => create(itemBody('typed'), withKey, `content-type: ${type}`),
      reply: [415, 'unsupported_media_type'],
      absent: [MARK, type],
    }),
  ),
  ...['gzip', 'br', 'identity, gzip'].map(
    (coding): Row => ({
      name: `the content coding ${coding} is 415`,
      bytes: ({ withKey }) => create(itemBody('coded'), withKey, `content-encoding: ${coding}`),
      reply: [415, 'unsupported_media_type'],
      absent: [MARK],
    }),
  ),
]

function shorten(_: string, name: string, length: string): string {
  return `${name}${Number(length) - 1}`
}

function chunked(chunks: readonly string[], ...headers: string[]): string {
  const framed = chunks.map((chunk) => `${chunk.length.toString(16)}\r\n${chunk}\r\n`)
  const head = rawRequest('POST /api/v1/items', [...headers, 'transfer-encoding: chunked'])
  return `${head}${framed.join('')}0\r\n\r\n`
}

const credentials: Row[] = [
  {
    name: 'two account keys are refused',
    bytes: ({ withKey }) => create(itemBody('twice'), withKey, withKey),
    reply: [401, 'account_key_required'],
  },
  {
    name: 'a valid account key after another one is refused',
    bytes: ({ withKey }) => create(itemBody('twice'), 'X-Account-Key: ak_other', withKey),
    reply: [401, 'account_key_required'],
  },
  {
    name: 'two tokens are refused',
    bytes: ({ withToken }) => get('/api/v1/items?store_id=main', withToken, withToken),
    reply: [401, 'token_required'],
  },
  {
    name: 'two public keys are refused',
    bytes: ({ public_key }) => {
      const header = `x-public-project-key: ${public_key}`
      return get('/api/v1/identity/auth/access-token', header, header)
    },
    reply: [400, 'invalid_public_key'],
  },
  {
    name: 'a GET with a body is answered',
    bytes: ({ withToken }) =>
      rawRequest('GET /api/v1/items?store_id=main', [withToken], MARK.repeat(1000)),
    reply: [200],
  },
]

const malformed: Row[] = Object.entries({
  'a line that is not a request': 'what is this?\r\n\r\n',
  'a TLS handshake': '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
  'the preface of HTTP/2': 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  'another version': 'GET /healthz HTTP/9.9\r\nhost: test\r\n\r\n',
  'a space before a colon': 'GET /healthz HTTP/1.1\r\nhost : test\r\n\r\n',
  'a control character in a header': 'GET /healthz HTTP/1.1\r\nhost: te\0st\r\n\r\n',
  'a negative length': 'POST /api/v1/items HTTP/1.1\r\nhost: test\r\ncontent-length: -1\r\n\r\n',
  'two lengths': rawRequest('POST /api/v1/items', ['content-length: 1'], '{}'),
  'a length and chunks': rawRequest(
    'POST /api/v1/items',
    ['transfer-encoding: chunked'],
    '0\r\n\r\n',
  ),
}).map(([what, bytes]) => ({
  name: `${what} is 400 as a problem document`,
  bytes: () => Buffer.from(bytes, 'latin1'),
  reply: [400, 'malformed_request'],
  headers: { connection: 'close' },
  absent: ['HPE_', 'Parse Error'],
}))

const rows: Row[] = [
  {
    name: 'HTTP/1.1 without a host is 400',
    bytes: () => 'GET /healthz HTTP/1.1\r\n\r\n',
    reply: [400, 'malformed_request'],
  },
  {
    name: 'an unknown Expect header is ignored',
    bytes: ({ withKey }) => create(itemBody('expected'), withKey, 'expect: miracles'),
    reply: [200],
  },
  ...targets,
  ...methods,
  ...bodies,
  ...credentials,
  ...malformed,
  {
    name: 'headers of more than 16 KiB are 431',
    bytes: () => get('/healthz', `x-large: ${'x'.repeat(16 * 1024)}`),
    reply: [431, 'headers_too_large'],
    headers: { connection: 'close' },
    absent: ['xxx'],
  },
  {
    name: 'a target of more than 16 KiB is 431',
    bytes: () => get(`/${'x'.repeat(16 * 1024)}`),
    reply: [431, 'headers_too_large'],
    absent: ['xxx'],
  },
  {
    name: 'a request of HTTP/1.0 is answered',
    bytes: () => 'GET /healthz HTTP/1.0\r\n\r\n',
    reply: [200],
    headers: { connection: 'close' },
  },
]

test('every malformed or unusual request is answered, and the server keeps serving', async (t) => {
  const shop = await serveShop(t)
  const { log, connect, send, account_key, public_key, token, withKey, withToken } = shop

  for (const { name, bytes, reply, headers = {}, absent = [] } of rows) {
    await t.test(name, async () => {
      const client = await connect()

      client.write(bytes(shop))
      const answer = await client.reply({ head: name.startsWith('HEAD ') })

      const [status, code = ''] = reply
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
  const targets = [
    '/healthz',
    '/api/v1/items?store_id=main',
    `/api/v1/items/${item.id}`,
    '/nowhere',
  ]
  const client = await connect()

  for (const target of targets) {
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

function withoutDate({ headers }: Reply): unknown {
  return [...headers].filter(([name]) => name !== 'date')
}

test('a client that half-closes after its request gets the answer', async (t) => {
  const { connect } = await startServer(t, { storage: createMemoryStorage() })
  const client = await connect()

  client.socket.end(get('/healthz'))

  assert.equal((await client.reply()).text, '{"status":"ok"}')
})

test('a reset by the client during its request is logged as 499 and not as a fault', async (t) => {
  const { connect, send, entryOf, withKey, withToken, token } = await serveShop(t)
  const body = itemBody('never')
  const requests: [id: string, head: string[], request: string][] = [
    ['json', [withKey], 'POST /api/v1/items'],
    [
      'form',
      [withToken, 'content-type: multipart/form-data; boundary=x'],
      'POST /api/v1/purchases/import',
    ],
  ]

  for (const [id, head, request] of requests) {
    const client = await connect()
    const length = `content-length: ${body.length + 1}`
    client.write(rawRequest(request, [...head, length, `x-request-id: ${id}`]) + body)
    await eventually(() => client.socket.bytesWritten > body.length || undefined, 'the body sent')
    assert.equal((await send('GET /healthz')).status, 200)
    client.socket.resetAndDestroy()

    const { status, level, error } = await entryOf(id)
    assert.deepEqual([status, level, error], [499, 'info', undefined])
  }
  const items = await send('GET /api/v1/items?store_id=main', { token })
  assert.ok(!items.text.includes('never'))
})

test('a reset by the client during its answer does not affect others', async (t) => {
  const { connect, send, path, token, withToken } = await serveLargeItem(t)

  for (let i = 0; i < 5; i++) {
    const client = await connect()
    client.write(get(path, withToken))
    await new Promise((resolve) => client.socket.once('data', resolve))
    client.socket.resetAndDestroy()
    assert.equal((await send('GET /healthz')).status, 200)
  }
  const whole = await send(`GET ${path}`, { token })
  assert.equal(whole.json<{ metadata: { text: string } }>().metadata.text.length, LARGE)
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

test('a slow body is 408', async (t) => {
  const limits = { jsonTimeout: 100, uploadIdleTimeout: 100 }
  const { connect, send, withKey, withToken } = await serveShop(t, { limits })
  const form = 'content-type: multipart/form-data; boundary=x'

  const json = await connect()
  json.write(rawRequest('POST /api/v1/items', [withKey, 'content-length: 100']))
  json.write('{"store_id":')
  assertProblem(await json.reply(), 408, 'request_timeout')
  const upload = await connect()
  upload.write(rawRequest('POST /api/v1/purchases/import', [withToken, form, 'content-length: 9']))
  upload.write('--x')
  assertProblem(await upload.reply(), 408, 'request_timeout')

  assert.equal((await send('GET /healthz')).status, 200)
})

test('a JSON body that arrives byte by byte is 408, however regularly', async (t) => {
  const { connect, withKey } = await serveShop(t, { limits: { jsonTimeout: 300 } })
  const client = await connect()
  client.write(rawRequest('POST /api/v1/items', [withKey, 'content-length: 100000']))

  const drops = setInterval(() => client.write(' '), 20)
  t.after(() => clearInterval(drops))

  assertProblem(await client.reply(), 408, 'request_timeout')
})

test('slow headers are 408', async (t) => {
  const limits = { headersTimeout: 200, requestTimeout: 10_000 }
  const { connect, send } = await startServer(t, { storage: createMemoryStorage(), limits })
  const client = await connect()

  client.write('GET /healthz HTTP/1.1\r\nhost: te')

  assertProblem(await client.reply(), 408, 'request_timeout')
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

/** Clients of a server that caches items: requests for the same item share its body. */
async function serveSlowReaders(t: TestContext, memoryBytes: number) {
  const limits = { ...patient, answerTimeout: forever, memoryBytes }
  const file = join(temporaryFolder(t), 'till.db')
  const storage = await openSqliteStorage(file, { cacheBytes: 20 * LARGE })
  const { connect, entryOf, item, withToken } = await serveShop(t, { storage, limits })
  const metadata = { text: 'x'.repeat(LARGE) }
  for (const id of ['a', 'b', 'c', 'd']) {
    await storage.insertItem({ ...item, id: `itm_${id}`, name: id, metadata })
  }
  let asked = 0
  /** Resolves when the answer waits for the client, which reads nothing. */
  const ask = async ({ socket, write }: RawClient, id: string) => {
    socket.pause()
    const request_id = `asked-${asked++}`
    const headers = [withToken, `x-request-id: ${request_id}`]
    write(rawRequest(`GET /api/v1/items/itm_${id}`, headers))
    await entryOf(request_id)
  }
  const take = ({ socket, reply }: RawClient) => {
    socket.resume()
    return reply()
  }
  return { connect, ask, take }
}

test('a body that many clients wait for counts once', async (t) => {
  const { connect, ask, take } = await serveSlowReaders(t, 1.5 * LARGE)
  const clients = [await connect(), await connect(), await connect()]

  for (const client of clients) await ask(client, 'a')

  for (const client of clients) assert.equal((await take(client)).status, 200)
})

test('a connection with more than 100 waiting requests is closed', async (t) => {
  const { connect, send, withToken } = await serveShop(t)
  const list = get('/api/v1/items?store_id=main', withToken)
  const patient = await connect()
  const greedy = await connect()

  patient.write(list.repeat(100))
  greedy.write(list.repeat(1_000))

  for (let i = 0; i < 100; i++) assert.equal((await patient.reply()).status, 200)
  await greedy.ended
  assert.equal((await send('GET /healthz')).status, 200)
})

const ID = 'x-request-id: large'

test('a slow pipelined request is not mistaken for a slow reader', async (t) => {
  const { storage, entered, open } = createGatedStorage()
  const { connect, withToken } = await serveShop(t, { storage, limits: { answerTimeout: 50 } })
  const client = await connect()

  client.write(get('/healthz') + get('/api/v1/items?store_id=main', withToken))
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

test('a stopping server finishes requests in flight and accepts no new connection', {
  timeout: 20_000,
}, async (t) => {
  const { storage, entered, open } = createGatedStorage()
  const options = { storage, limits: patient }
  const { stop, connect, send, url, withToken } = await serveShop(t, options)
  const client = await connect()
  client.write(get('/api/v1/items?store_id=main', withToken))
  await entered

  let isStopped = false
  const stopping = stop().then(() => {
    isStopped = true
  })
  await assert.rejects(send('GET /healthz'), TypeError)
  await assert.rejects(connectionTo(url), { code: 'ECONNREFUSED' })
  assert.equal(isStopped, false)
  open()
  const reply = await client.reply()
  await stopping

  assert.equal(reply.status, 200)
  assert.equal(reply.json<{ items: object[] }>().items.length, 1)
  assert.equal(await client.ended, '')
})

function connectionTo(url: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = createConnection(Number(new URL(url).port), '127.0.0.1', () => {
      socket.destroy()
      resolve()
    })
    socket.on('error', reject)
  })
}

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
