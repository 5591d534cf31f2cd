// run: runtime
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { createGatedStorage } from '../support/gated.ts'
import {
  assertProblem,
  inChunks,
  type Reply,
  rawRequest,
  type ServedShop,
  serveShop,
  startServer,
} from '../support/server.ts'

const LIST = '/api/v1/items?store_id=main'

/** Text that is in every body and must not be in the log. */
const MARK = 'marked-text-of-a-body'

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

const chunked = (body: string, ...headers: string[]) =>
  rawRequest('POST /api/v1/items', [...headers, 'transfer-encoding: chunked']) + inChunks(body)

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

const ITEM = '/api/v1/items/'
const ITEMS = '/api/v1/items?'

/** The targets of GET requests, by their answers. */
const targets = Object.entries({
  '404 route_not_found': [
    ...['//', '/%FF', '/%2F', '*', '/healthz/', '/HEALTHZ', '/a/../healthz', '/__proto__'],
    ...['/api/v1', '/api/v2/items', '/api/v1//items', ITEM, `${ITEM}a/b`, `${ITEM}itm_1/`],
    ...['/api/v1/./items', `${ITEM}../items`, '/api/v1/%69tems', '/api/v1/items;a=b'],
    ...['/api\\v1\\items', '//test/healthz', '//healthz', 'http://test//', 'ftp://test/healthz'],
  ],
  '404 item_not_found': ['%2e%2e', '..', '.', 'a%2Fb', '..%2F..%2Fprojects', '%00'].map(
    (id) => ITEM + id,
  ),
  '400 invalid_request': [
    ...[`${ITEM}%`, `${ITEM}%ED%A0%80`, ITEMS, `${ITEMS}store_id[]=main`, `${ITEMS}Store_Id=main`],
    ...['', '=%00', '=%FF', '=main%', '=+main', '=main+', '=main?', '=nobody&store_id=main'].map(
      (value) => `${ITEMS}store_id${value}`,
    ),
    `${ITEMS}store_id=${'x'.repeat(15_000)}`,
  ],
  '200 ': [
    ...['/', 'http://test/', 'http://test/healthz?x#y', 'HTTP://elsewhere:99/healthz?a=//'],
    ...['https://user:password@test/healthz', '/healthz?a=%FF&%&?=&__proto__=1&a[]'],
    ...['store_id=m%61in', '%73tore_id=main', '&&&=&store_id=main&__proto__=1&constructor=2'].map(
      (query) => ITEMS + query,
    ),
    ...['a=&'.repeat(5_000), '&'.repeat(15_000)].map((query) => `${ITEMS}${query}store_id=main`),
  ],
  '431 headers_too_large': [
    `${ITEMS}${'a=&'.repeat(10_000)}store_id=main`,
    `${ITEMS}store_id=${'x'.repeat(100_000)}`,
  ],
}).flatMap(([answer, all]) =>
  all.map((target): Row => {
    const [status, code = ''] = answer.split(' ')
    const absent = ['xxx', 'elsewhere', ...(code && target.length > 4 ? [target] : [])]
    const name = `the target ${target.slice(0, 50)} of ${target.length} is ${status}`
    return [name, ({ withToken }) => get(target, withToken), Number(status), code, { absent }]
  }),
)

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

const CLOSE = { headers: { connection: 'close' }, absent: ['xxx'] }

const rows: readonly Row[] = [
  ...methods,
  ...bodies,
  ...types,
  ...targets,
  ...malformed,
  [
    'a chunked body of 256 KiB is accepted',
    ({ withKey }) => chunked(itemBody('chunked').padEnd(MAX), withKey),
    200,
  ],
  [
    'a chunked body of 256 KiB and a byte is 413',
    ({ withKey }) => chunked(itemBody('longer').padEnd(MAX + 1), withKey),
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
  [
    'a token that is repeated after thousands of headers is refused',
    ({ withToken: own }) => get(LIST, own, ...Array(2_500).fill('a:'), own),
    401,
    'token_required',
  ],
  [
    'thousands of headers are accepted',
    ({ withToken: own }) => get(LIST, own, ...Array(2_500).fill('a:')),
    200,
  ],
  ['a request of HTTP/1.0 is answered', () => 'GET /healthz HTTP/1.0\r\n\r\n', 200, '', CLOSE],
]

test('every malformed or unusual request is answered, and the server keeps serving', async (t) => {
  const shop = await serveShop(t, { storage: 'file' })
  const { log, connect, send, account_key, public_key, token, withKey, withToken } = shop

  for (const [name, bytes, status, code = '', { headers = {}, absent = [] } = {}] of rows) {
    await t.test(name, async () => {
      const client = await connect(bytes(shop))
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

test('a repeated request id is not used', async (t) => {
  const { sendRaw } = await startServer(t)
  const { headers } = await sendRaw(get('/healthz', 'x-request-id: one', 'X-Request-ID: two'))
  assert.match(headers.get('x-request-id') ?? '', /^[\w-]{36}$/)
})

test('a malformed pipelined request is answered after a slow earlier one', async (t) => {
  const behind: [bytes: string, status: number, code: string][] = [
    ['what is this?\r\n\r\n', 400, 'malformed_request'],
    [`GET /${'x'.repeat(20_000)} HTTP/1.1\r\n\r\n`, 431, 'headers_too_large'],
    [
      rawRequest('POST /api/v1/items', ['transfer-encoding: chunked', 'content-length: 5'], ''),
      400,
      'malformed_request',
    ],
    [
      `${rawRequest('POST /api/v1/identity/auth/init', ['transfer-encoding: chunked', 'PK'])}no size\r\n`,
      400,
      'malformed_request',
    ],
  ]
  for (const [bytes, status, code] of behind) {
    const { storage, entered, open } = createGatedStorage()
    const { connect, withToken, withPublicKey } = await serveShop(t, { storage })
    const client = await connect(get(LIST, withToken))
    client.write(bytes.replace('PK', withPublicKey))
    await entered
    client.write('and more of it\r\n\r\n')
    await setTimeout(50)
    open()

    const first = await client.reply()
    assert.deepEqual([first.status, first.text.slice(0, 9)], [200, '{"items":'])
    assertProblem(await client.reply(), status, code)
    assert.equal(await client.ended, '')
  }
})

test('requests after a malformed one are neither answered nor carried out', async (t) => {
  const { till, account, connect, withKey, withToken } = await serveShop(t)

  const client = await connect(
    `${get(LIST, withToken)}bad\r\n\r\n${create(itemBody('a'), withKey)}`,
  )

  assert.equal((await client.reply()).status, 200)
  assertProblem(await client.reply(), 400, 'malformed_request')
  assert.equal(await client.ended, '')
  const { items } = await till.items.list(account, { store_id: 'main' })
  assert.equal(items.length, 1)
})

test('bad and good requests in one packet are each answered, in order', async (t) => {
  const { connect, withToken } = await serveShop(t)
  const requests: [status: number, bytes: string][] = [
    [200, get(LIST, withToken)],
    [401, get(LIST, withToken, withToken)],
    [204, rawRequest('OPTIONS *', [])],
    [404, get('//')],
    [401, rawRequest('POST /api/v1/items', ['x-account-key: ak_x'], 'x'.repeat(100_000))],
    [405, rawRequest('DELETE /api/v1/items', [withToken], '{}')],
    [400, get('/healthz', 'host: again')],
    [200, get('/healthz')],
  ]

  const client = await connect(requests.map(([, bytes]) => bytes).join(''))
  const replies: Reply[] = []
  for (const _ of requests) replies.push(await client.reply())

  assert.deepEqual(
    replies.map(({ status }) => status),
    requests.map(([status]) => status),
  )
})

test('a malformed rest of a body closes the connection of an answered request', async (t) => {
  const { connect } = await startServer(t)
  const client = await connect(rawRequest('POST /api/v1/items', ['transfer-encoding: chunked']))
  assertProblem(await client.reply(), 401, 'account_key_required')

  client.write('no size\r\n')

  assert.equal(await client.ended, '')
})

test('requests that Node cannot parse are answered and logged like other refused ones', async (t) => {
  const rows: [statusLine: string, bytes: string][] = [
    ['400 Bad Request', `${MARK}\r\n\r\n`],
    [
      '431 Request Header Fields Too Large',
      rawRequest('GET /', [`x-large: ${MARK.repeat(2_000)}`]),
    ],
    ['408 Request Timeout', `GET /${MARK} HTTP/1.1\r\n`],
  ]
  const options = { limits: { headersTimeout: 200 } }
  const { connect, entryOf, log } = await startServer(t, options)
  for (const [statusLine, bytes] of rows) {
    const answer = (await (await connect(bytes)).ended).split('\r\n')

    assert.equal(answer[0], `HTTP/1.1 ${statusLine}`)
    assert.ok(answer.includes('cache-control: no-store'))
    assert.ok(answer.includes('x-content-type-options: nosniff'))
    const id = /"request_id":"([^"]+)/.exec(answer.at(-1) ?? '')?.[1] ?? ''
    const { time, ...entry } = await entryOf(id)
    assert.match(time, /Z$/)
    const status = Number.parseInt(statusLine, 10)
    const expected = { level: 'info', method: '', route: null, status, ms: 0, request_id: id }
    assert.deepEqual(entry, { ...expected, client: '127.0.0.1' })
  }
  assert.ok(!JSON.stringify(log).includes(MARK))
})
