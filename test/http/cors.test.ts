import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { createHandler, type HandlerOptions } from '../../http/index.ts'
import { createMemoryStorage } from '../../lib/index.ts'
import { assertProblem, overFetch, type Reply, rawRequest, serveShop } from '../support/server.ts'
import { memoryTill } from '../support/till.ts'

const SHOP = 'https://shop.example'
const LIST = '/api/v1/items?store_id=main'

async function start(t: TestContext, options: HandlerOptions) {
  const shop = await serveShop(t, { storage: createMemoryStorage(), options })
  const client = await shop.connect()
  const ask = (request: string, ...headers: string[]) => {
    client.write(rawRequest(request, headers))
    return client.reply({ head: request.startsWith('HEAD ') })
  }
  const preflight = (path: string, method: string, origin = SHOP) =>
    ask(
      `OPTIONS ${path}`,
      `origin: ${origin}`,
      `access-control-request-method: ${method}`,
      'access-control-request-headers: authorization',
    )
  return { ...shop, ask, preflight }
}

/** The CORS headers of an answer. */
function corsOf({ headers }: Reply): { [name: string]: string } {
  const corsHeaders = [...headers].filter(([name]) => name.startsWith('access-control-'))
  return Object.fromEntries(corsHeaders)
}

test('without the option OPTIONS lists the methods, and no origin is allowed', async (t) => {
  const { ask, preflight, withToken } = await start(t, {})

  for (const [target, allow] of [
    ['/api/v1/items', 'POST, GET, HEAD, OPTIONS'],
    ['/api/v1/items/itm_1', 'GET, HEAD, OPTIONS'],
    ['/api/v1/stores', 'POST, OPTIONS'],
    ...(overFetch ? [] : [['*', 'GET, POST, PUT, HEAD, OPTIONS']]), // invalid in a Request
  ]) {
    const reply = await ask(`OPTIONS ${target}`)
    assert.deepEqual([reply.status, reply.text], [204, ''])
    assert.equal(reply.headers.get('allow'), allow)
    assert.ok(!reply.headers.has('content-length'), 'RFC 9110 section 8.6 forbids it')
  }
  const asked = await preflight('/api/v1/items', 'GET')
  assert.deepEqual([asked.status, corsOf(asked), asked.headers.get('vary')], [204, {}, null])
  const read = await ask(`GET ${LIST}`, withToken, `origin: ${SHOP}`)
  assert.deepEqual([read.status, corsOf(read), read.headers.get('vary')], [200, {}, null])
  assertProblem(await ask('GET /nowhere'), 404, 'route_not_found')
  const unknown = await ask('OPTIONS /nowhere')
  assertProblem(unknown, 404, 'route_not_found')
})

test('a listed origin may call the routes for browsers', async (t) => {
  const { preflight } = await start(t, { corsOrigins: ['https://other.example', SHOP] })
  const rows = [
    ['/api/v1/items', 'GET', 'GET, HEAD, OPTIONS'],
    ['/api/v1/items/itm_1', 'HEAD', 'GET, HEAD, OPTIONS'],
    ['/api/v1/identity/auth/init', 'POST', 'POST, OPTIONS'],
    ['/api/v1/purchases/import', 'POST', 'POST, OPTIONS'],
    ['/api/v1/projects', 'PUT', 'PUT, OPTIONS'],
  ] as const

  for (const [path, method, methods] of rows) {
    const reply = await preflight(path, method)
    assert.equal(reply.status, 204)
    assert.deepEqual(corsOf(reply), {
      'access-control-allow-origin': SHOP,
      'access-control-allow-methods': methods,
      'access-control-allow-headers':
        'Authorization, Content-Type, If-None-Match, X-Public-Project-Key, X-Request-Id',
      'access-control-max-age': '7200',
    })
    assert.equal(reply.headers.get('vary'), 'Origin')
  }
})

test('routes with an account key and the operator’s routes are never open to scripts', async (t) => {
  for (const origin of [SHOP, '*']) {
    const { ask, preflight, withKey } = await start(t, { corsOrigins: [origin], metrics: true })
    const rows = [
      ['/api/v1/items', 'POST'],
      ['/api/v1/projects', 'POST'],
      ['/api/v1/stores', 'POST'],
      ['/healthz', 'GET'],
      ['/readyz', 'GET'],
      ['/metrics', 'GET'],
    ] as const
    for (const [path, method] of rows) {
      assert.deepEqual(corsOf(await preflight(path, method)), {}, `${method} ${path}`)
      const answer = await ask(`${method} ${path}`, withKey, `origin: ${SHOP}`)
      assert.deepEqual(corsOf(answer), {}, `${method} ${path}`)
    }
    assert.deepEqual(corsOf(await preflight('/api/v1/items', 'DELETE')), {})
  }
})

test('answers and errors allow the origin and expose their headers', async (t) => {
  const { ask, withToken, withPublicKey } = await start(t, { corsOrigins: [SHOP] })
  const rows = [
    [200, `GET ${LIST}`, withToken],
    [200, `HEAD ${LIST}`, withToken],
    [200, 'GET /api/v1/identity/auth/access-token', withPublicKey],
    [401, `GET ${LIST}`, 'authorization: Bearer x'],
    [404, 'GET /api/v1/items/itm_1', withToken],
    [400, 'GET /api/v1/items', withToken],
  ] as const

  for (const [status, request, credential] of rows) {
    const reply = await ask(request, credential, `origin: ${SHOP}`)
    assert.equal(reply.status, status)
    assert.deepEqual(corsOf(reply), {
      'access-control-allow-origin': SHOP,
      'access-control-expose-headers':
        'ETag, Link, X-Request-Id, Retry-After, Import-Id, Import-Rows, Import-Skipped, ' +
        'Import-Updated, Import-Passed-Over, RateLimit, RateLimit-Policy',
    })
    assert.equal(reply.headers.get('vary'), 'Origin')
  }
})

test('an unlisted, invalid or repeated origin gets no CORS headers', async (t) => {
  const { ask, preflight, withToken } = await start(t, { corsOrigins: [SHOP] })
  const origins = ['https://evil.example', 'null', `${SHOP}.evil.example`, 'HTTPS://SHOP.EXAMPLE']

  for (const origin of [...origins, `${SHOP}:8443`, 'http://shop.example']) {
    assert.deepEqual(corsOf(await preflight('/api/v1/items', 'GET', origin)), {}, origin)
    const read = await ask(`GET ${LIST}`, withToken, `origin: ${origin}`)
    assert.deepEqual([read.status, corsOf(read)], [200, {}])
    // A cache must not reuse this answer for another origin.
    assert.equal(read.headers.get('vary'), 'Origin')
  }
  const bare = await ask(`GET ${LIST}`, withToken)
  assert.deepEqual([corsOf(bare), bare.headers.get('vary')], [{}, 'Origin'])
  const twice = await ask(`GET ${LIST}`, withToken, `origin: ${SHOP}`, `origin: ${SHOP}`)
  assert.deepEqual(corsOf(twice), {})
})

test('the asterisk opens the routes for browsers to any origin', async (t) => {
  const { ask, preflight, withToken } = await start(t, { corsOrigins: ['*'] })

  const asked = await preflight('/api/v1/items', 'GET', 'https://any.example')
  const read = await ask(`GET ${LIST}`, withToken, 'origin: https://any.example')

  for (const reply of [asked, read]) {
    assert.equal(corsOf(reply)['access-control-allow-origin'], '*')
    assert.equal(corsOf(reply)['access-control-allow-credentials'], undefined)
    assert.equal(reply.headers.get('vary'), null)
  }
})

test('an invalid origin is a TypeError', () => {
  const till = memoryTill()
  for (const origin of [
    '',
    'shop.example',
    'https://shop.example/',
    'https://shop.example:443',
    'https://Shop.example',
    'https://a.example,https://b.example',
    'null',
    'https://user@shop.example',
  ]) {
    assert.throws(() => createHandler(till, { corsOrigins: [origin] }), TypeError, origin)
  }
  for (const origin of ['http://localhost:5173', 'capacitor://localhost', 'https://[::1]:8443']) {
    createHandler(till, { corsOrigins: [origin] })
  }
})
