import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { createMemoryStorage } from '../../lib/index.ts'
import { createGatedStorage } from '../support/gated.ts'
import { assertProblem, type Reply, rawRequest, serveShop, startServer } from '../support/server.ts'

const LIST = '/api/v1/items?store_id=main'
const MARK = 'marked-text'

interface Row {
  readonly name: string
  readonly target: string
  readonly reply: readonly [status: number, code?: string]
}

const NO_ROUTES = [
  ...['//', '/', '/%FF', '/%2F', '*', '/healthz/', '/HEALTHZ', '/a/../healthz', '/__proto__'],
  ...['/api/v1', '/api/v2/items', '/api/v1//items', '/api/v1/items/', '/api/v1/items/a/b'],
]

const targets: Row[] = [
  ...NO_ROUTES.map((target) => [target, 404, 'route_not_found'] as const),
  ['/api/v1/items/%2e%2e', 404, 'item_not_found'],
  ['/api/v1/items/..', 404, 'item_not_found'],
  ['/api/v1/items/.', 404, 'item_not_found'],
  ['/api/v1/items/a%2Fb', 404, 'item_not_found'],
  ['/api/v1/items/..%2F..%2Fprojects', 404, 'item_not_found'],
  ['/api/v1/items/%00', 404, 'item_not_found'],
  ['/api/v1/items/%', 400, 'invalid_request'],
  ['/api/v1/items/%ED%A0%80', 400, 'invalid_request'],
  ['/api/v1/items/itm_1/', 404, 'route_not_found'],
  ['/api/v1/./items', 404, 'route_not_found'],
  ['/api/v1/items/../items', 404, 'route_not_found'],
  ['/api/v1/%69tems', 404, 'route_not_found'],
  ['/api/v1/items;a=b', 404, 'route_not_found'],
  ['/api\\v1\\items', 404, 'route_not_found'],
  ['//test/healthz', 404, 'route_not_found'],
  ['//healthz', 404, 'route_not_found'],
  ['http://test/', 404, 'route_not_found'],
  ['http://test/healthz?x#y', 200],
  ['https://user:password@test/healthz', 200],
  ['ftp://test/healthz', 404, 'route_not_found'],
].map(([target, status, code]) => row(`the target ${target}`, target, status, code))

const queries: Row[] = [
  ['?', 400, 'invalid_request'],
  ['?store_id', 400, 'invalid_request'],
  ['?store_id=%00', 400, 'invalid_request'],
  ['?store_id=%FF', 400, 'invalid_request'],
  ['?store_id=main%', 400, 'invalid_request'],
  ['?store_id=+main', 400, 'invalid_request'],
  ['?store_id=main+', 400, 'invalid_request'],
  ['?store_id[]=main', 400, 'invalid_request'],
  ['?Store_Id=main', 400, 'invalid_request'],
  ['?store_id=nobody&store_id=main', 400, 'invalid_request'],
  ['?store_id=m%61in', 200],
  ['?%73tore_id=main', 200],
  ['?store_id=main?', 400, 'invalid_request'],
  ['?&&&=&store_id=main&__proto__=1&constructor=2', 200],
  [`?${'a=&'.repeat(5_000)}store_id=main`, 200],
  [`?${'&'.repeat(15_000)}store_id=main`, 200],
  [`?${'a=&'.repeat(10_000)}store_id=main`, 431, 'headers_too_large'],
  [`?store_id=${'x'.repeat(15_000)}`, 400, 'invalid_request'],
  [`?store_id=${'x'.repeat(100_000)}`, 431, 'headers_too_large'],
].map(([query, status, code]) =>
  row(
    `the query ${`${query}`.slice(0, 50)} of ${`${query}`.length}`,
    `/api/v1/items${query}`,
    status,
    code,
  ),
)

function row(name: string, target: unknown, status: unknown, code: unknown): Row {
  return {
    name: `${name} is ${status}`,
    target: `${target}`,
    reply: [Number(status), code as string],
  }
}

test('unusual targets and queries are not normalized', async (t) => {
  const { connect, send, withToken } = await serveShop(t, { storage: createMemoryStorage() })

  for (const { name, target, reply } of [...targets, ...queries]) {
    await t.test(name, async () => {
      const client = await connect()
      client.write(rawRequest(`GET ${target}`, [withToken]))
      const answer = await client.reply()
      const [status, code] = reply
      if (code) assertProblem(answer, status, code)
      else assert.equal(answer.status, status, answer.text)
      assert.ok(!answer.text.includes('xxx'), 'quotes the request')
      if (code && target.length > 4) assert.ok(!answer.text.includes(target), 'quotes the target')
      assert.equal((await send('GET /healthz')).status, 200)
    })
  }
})

test('CONNECT to any authority is 405 and closes the connection', async (t) => {
  const { connect, entryOf } = await startServer(t, { storage: createMemoryStorage() })

  for (const target of ['test:443', '[::1]:80']) {
    const client = await connect()
    const head = `CONNECT ${target} HTTP/1.1\r\nhost: test\r\nx-request-id: tunnel\r\n\r\n`
    client.write(`${head}GET /healthz HTTP/1.1\r\n\r\n`)

    const reply = await client.reply()

    assertProblem(reply, 405, 'method_not_allowed')
    assert.equal(reply.headers.get('x-request-id'), 'tunnel')
    assert.equal(await client.ended, '')
    assert.equal((await entryOf('tunnel')).status, 405)
  }
})

test('a credential that is repeated after thousands of headers is refused', async (t) => {
  const { connect, withToken } = await serveShop(t, { storage: createMemoryStorage() })
  const filler = new Array<string>(2_500).fill('a:')
  const client = await connect()

  client.write(rawRequest(`GET ${LIST}`, [withToken, ...filler]))
  assert.equal((await client.reply()).status, 200)
  client.write(rawRequest(`GET ${LIST}`, [withToken, ...filler, withToken]))
  assertProblem(await client.reply(), 401, 'token_required')
})

test('a repeated request id is not used', async (t) => {
  const { connect } = await startServer(t, { storage: createMemoryStorage() })
  const client = await connect()

  client.write(rawRequest('GET /healthz', ['x-request-id: one', 'X-Request-ID: two']))

  const made = (await client.reply()).headers.get('x-request-id') ?? ''
  assert.match(made, /^[\w-]{36}$/)
})

test('a malformed pipelined request is answered after a slow earlier one', async (t) => {
  const behind: [bytes: string, status: number, code: string][] = [
    ['what is this?\r\n\r\n', 400, 'malformed_request'],
    [`GET /${'x'.repeat(20_000)} HTTP/1.1\r\n\r\n`, 431, 'headers_too_large'],
    ['CONNECT test:1 HTTP/1.1\r\nhost: test\r\n\r\n', 405, 'method_not_allowed'],
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
    const client = await connect()
    client.write(rawRequest(`GET ${LIST}`, [withToken]))
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
  const { till, account, connect, withKey, withToken } = await serveShop(t, {
    storage: createMemoryStorage(),
  })
  const body = `{"store_id":"main","name":"a","display_name":"A","price":"1","type":"consumable"}`
  const create = rawRequest('POST /api/v1/items', [withKey], body)
  const client = await connect()

  client.write(`${rawRequest(`GET ${LIST}`, [withToken])}bad\r\n\r\n${create}`)

  assert.equal((await client.reply()).status, 200)
  assertProblem(await client.reply(), 400, 'malformed_request')
  assert.equal(await client.ended, '')
  const { items } = await till.items.list(account, { store_id: 'main' })
  assert.equal(items.length, 1)
})

test('bad and good requests in one packet are each answered, in order', async (t) => {
  const { connect, withToken } = await serveShop(t, { storage: createMemoryStorage() })
  const client = await connect()
  const requests: [status: number, bytes: string][] = [
    [200, rawRequest(`GET ${LIST}`, [withToken])],
    [401, rawRequest(`GET ${LIST}`, [withToken, withToken])],
    [204, rawRequest('OPTIONS *', [])],
    [404, rawRequest('GET //', [])],
    [401, rawRequest('POST /api/v1/items', ['x-account-key: ak_x'], 'x'.repeat(100_000))],
    [405, rawRequest('DELETE /api/v1/items', [withToken], '{}')],
    [400, rawRequest('GET /healthz', ['host: again'])],
    [200, rawRequest('GET /healthz', [])],
  ]

  client.write(requests.map(([, bytes]) => bytes).join(''))
  const replies: Reply[] = []
  for (const _ of requests) replies.push(await client.reply())

  assert.deepEqual(
    replies.map(({ status }) => status),
    requests.map(([status]) => status),
  )
})

test('a malformed rest of a body closes the connection of an answered request', async (t) => {
  const { connect } = await startServer(t, { storage: createMemoryStorage() })
  const client = await connect()
  client.write(rawRequest('POST /api/v1/items', ['transfer-encoding: chunked']))
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
    ['405 Method Not Allowed', `CONNECT ${MARK}:1 HTTP/1.1\r\nhost: test\r\n\r\n`],
  ]
  const options = { storage: createMemoryStorage(), limits: { headersTimeout: 200 } }
  const { connect, entryOf, log } = await startServer(t, options)
  for (const [statusLine, bytes] of rows) {
    const client = await connect()
    client.write(bytes)
    const answer = (await client.ended).split('\r\n')

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
