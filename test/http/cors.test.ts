import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { createHandler, type HandlerOptions } from '../../http/index.ts'
import { assertProblem, overFetch, type Reply, rawRequest, serveShop } from '../support/server.ts'
import { memoryTill } from '../support/till.ts'

const SHOP = 'https://shop.example'
const LIST = '/api/v1/items?store_id=main'

async function start(t: TestContext, options: HandlerOptions) {
  const shop = await serveShop(t, { options })
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

/** The routes for browsers, with the methods of their paths that scripts may use, and others. */
const ROUTES: readonly (readonly [method: string, path: string, methods?: string])[] = [
  ['GET', LIST, 'GET, HEAD, OPTIONS'],
  ['HEAD', '/api/v1/items/itm_1', 'GET, HEAD, OPTIONS'],
  ['POST', '/api/v1/identity/auth/init', 'POST, OPTIONS'],
  ['POST', '/api/v1/purchases/import', 'POST, OPTIONS'],
  ['PUT', '/api/v1/projects', 'PUT, OPTIONS'],
  ...['items', 'projects', 'stores'].map((name) => ['POST', `/api/v1/${name}`] as const),
  ...['/healthz', '/readyz', '/metrics'].map((path) => ['GET', path] as const),
]

test('a listed origin, or any with the asterisk, may call the routes for browsers, and no others', async (t) => {
  for (const corsOrigins of [['https://other.example', SHOP], ['*']]) {
    const { ask, preflight, withToken } = await start(t, { corsOrigins, metrics: true })
    const origin = { 'access-control-allow-origin': corsOrigins.at(-1) }
    for (const [method, path, methods] of ROUTES) {
      const asked = {
        ...origin,
        'access-control-allow-methods': methods,
        'access-control-allow-headers':
          'Authorization, Content-Type, If-None-Match, X-Public-Project-Key, X-Request-Id',
        'access-control-max-age': '7200',
      }
      const answered = {
        ...origin,
        'access-control-expose-headers':
          'ETag, Link, X-Request-Id, Retry-After, Import-Id, Import-Rows, Import-Skipped, ' +
          'Import-Updated, Import-Repeated, Import-Passed-Over, RateLimit, RateLimit-Policy, ' +
          'Webhook-Status',
      }
      const title = `${method} ${path}`
      assert.deepEqual(corsOf(await preflight(path, method)), methods ? asked : {}, title)
      for (const credential of [withToken, 'authorization: Bearer x']) {
        const reply = await ask(title, credential, `origin: ${SHOP}`)
        assert.deepEqual(corsOf(reply), methods ? answered : {}, title)
        const vary = corsOrigins.includes('*') ? null : 'Origin'
        if (methods) assert.equal(reply.headers.get('vary'), vary)
      }
    }
    assert.deepEqual(corsOf(await preflight('/api/v1/items', 'DELETE')), {})
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

test('an invalid origin is a TypeError', () => {
  const till = memoryTill()
  for (const origin of [
    ...['', 'null', 'shop.example', 'https://shop.example/', 'https://shop.example:443'],
    ...['https://Shop.example', 'https://a.example,https://b.example', 'https://u@shop.example'],
  ]) {
    assert.throws(() => createHandler(till, { corsOrigins: [origin] }), TypeError, origin)
  }
  for (const origin of ['http://localhost:5173', 'capacitor://localhost', 'https://[::1]:8443']) {
    createHandler(till, { corsOrigins: [origin] })
  }
})
