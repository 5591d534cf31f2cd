import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { connect, createServer as createServer2 } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { createHandler, type RequestHandler } from '../../http/index.ts'
import { pluck } from '../support/collect.ts'
import {
  createExpress,
  createHost,
  listen,
  load,
  NEW_ITEM,
  useApi,
} from '../support/frameworks/host.ts'
import { assertProblem, connectTo, createClient, rawRequest } from '../support/server.ts'

const LIST = '/api/v1/items?store_id=main&limit=1'

/** The target of the `Link` header. */
function nextOf(headers: Headers): string {
  return /^<([^>]+)>/.exec(headers.get('link') ?? '')?.[1] ?? ''
}

test('under a prefix, the Link header and the OpenAPI document have it', async (t) => {
  const { handler, till, token } = await createHost()
  const mounted = createHandler(till, { basePath: '/plain/shop' })
  const app = await createExpress()
  const nested = (await load<{ Router(): typeof app }>('express')).Router()
  nested.use('/shop', handler)
  app.use('/a', nested as never)
  app.use(mounted)
  const inExpress = await listen(t, createServer(app))
  const plain = await listen(t, createServer(mounted))

  for (const [{ send }, prefix] of [
    [inExpress, '/a/shop'],
    [inExpress, '/plain/shop'],
    [plain, '/plain/shop'],
  ] as const) {
    const first = await send(`GET ${prefix}${LIST}`, { token })
    const next = await send(`GET ${nextOf(first.headers)}`, { token })
    assert.match(first.text, /"gold"/)
    assert.match(next.text, /"silver"/)
    const document = (await send(`GET ${prefix}/openapi.json`)).json<{ servers: object[] }>()
    assert.deepEqual(document.servers, [{ url: prefix }])
  }
  assertProblem(await plain.send(`GET ${LIST}`, { token }), 404, 'route_not_found')
  assertProblem(await plain.send(`GET /plain/shopping`), 404, 'route_not_found')
  assert.equal((await plain.send('GET /plain/shop/healthz')).status, 200)
})

test('a middleware may set and remove credentials, but a repeated one is refused', async (t) => {
  const { handler, token } = await createHost()
  const app = await createExpress()
  app.use((request, _, next) => {
    if (request.headers.cookie === 'token') request.headers.authorization = `Bearer ${token}`
    if (request.headers.cookie === 'none') delete request.headers.authorization
    next()
  })
  app.use(handler)
  const { send, url } = await listen(t, createServer(app))
  const headers = (cookie: string) => ({ headers: { cookie } })

  assert.equal((await send(`GET ${LIST}`, headers('token'))).status, 200)
  const removed = await send(`GET ${LIST}`, { token, ...headers('none') })
  assertProblem(removed, 401, 'token_required')
  const client = await connectTo(url)
  t.after(() => client.socket.destroy())
  for (const repeated of [
    [`authorization: Bearer ${token}`, 'authorization: Bearer x'],
    ['cookie: token', `authorization: Bearer ${token}`, `authorization: Bearer ${token}`],
  ]) {
    client.write(rawRequest(`GET ${LIST}`, repeated))
    assertProblem(await client.reply(), 401, 'token_required')
  }
  client.write(rawRequest(`GET ${LIST}`, ['host: other', `authorization: Bearer ${token}`]))
  assertProblem(await client.reply(), 400, 'malformed_request')
})

/** The part of Fastify that the tests use. */
interface Fastify {
  all(
    path: string,
    handler: (
      request: { raw: IncomingMessage },
      reply: { raw: ServerResponse; hijack(): void },
    ) => void,
  ): void
  removeAllContentTypeParsers(): void
  addContentTypeParser(type: string, parse: (...args: unknown[]) => void): void
  inject(request: object): Promise<{ statusCode: number; headers: object; body: string }>
}

type Handle = (request: Request) => Promise<Response>

/** The headers and the body of a request. */
async function contentOf(request: Request) {
  const body = Buffer.from(await request.arrayBuffer())
  return { headers: { host: 'localhost', ...Object.fromEntries(request.headers) }, body }
}

/** Hosts other than node:http. Each passes requests to the handler. */
const hosts: {
  readonly [name: string]: (t: TestContext, handler: RequestHandler) => Promise<Handle>
} = {
  async 'serverless-http'(_, handler) {
    type Invoke = (event: object) => Promise<{ statusCode: number; body: string; headers: object }>
    const wrap = await load<(app: RequestHandler) => Invoke>('serverless-http')
    const invoke = wrap(handler)
    return async (request) => {
      const { pathname: path, searchParams } = new URL(request.url)
      const { headers, body } = await contentOf(request)
      const answer = await invoke({
        ...{ httpMethod: request.method, path, headers, body: body.toString('base64') },
        ...{ isBase64Encoded: true, queryStringParameters: Object.fromEntries(searchParams) },
      })
      return responseOf(answer.statusCode, answer.headers, answer.body)
    }
  },
  async 'node:http2'(t, handler) {
    const server = createServer2(handler as never)
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const session = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
    t.after(() => {
      session.destroy()
      server.close()
    })
    return async (request) => {
      const { pathname, search } = new URL(request.url)
      const { headers, body } = await contentOf(request)
      const { host: _, ...sent } = headers
      const head = { ':method': request.method, ':path': pathname + search, ...sent }
      const stream = session.request(head, { endStream: body.length === 0 })
      if (body.length > 0) stream.end(body)
      const [{ ':status': status, ...received }] = await once(stream, 'response')
      return responseOf(status, received, await text(stream))
    }
  },
  async 'app.inject() of Fastify'(_, handler) {
    const app = (await load<() => Fastify>('fastify'))()
    app.removeAllContentTypeParsers()
    app.addContentTypeParser('*', (_request, _payload, done) => (done as (e: null) => void)(null))
    app.all('/*', ({ raw }, reply) => {
      reply.hijack()
      handler(raw, reply.raw)
    })
    return async (request) => {
      const { headers, body } = await contentOf(request)
      const { method, url } = request
      const payload = body.length > 0 ? { payload: body } : {}
      const answer = await app.inject({ method, url, headers, ...payload })
      return responseOf(answer.statusCode, answer.headers, answer.body)
    }
  },
}

function responseOf(status: number, headers: object, body: string): Response {
  const texts = Object.entries(headers).map(([name, value]): [string, string] => [name, `${value}`])
  return new Response(status === 304 ? null : body, { status, headers: texts })
}

for (const [name, start] of Object.entries(hosts)) {
  test(`the handler works in ${name}`, async (t) => {
    const { handler, till } = await createHost()
    await useApi(createClient('http://localhost', await start(t, handler)), till, '')
  })
}

test('at the root, unknown paths reach the application; after drain(), only /readyz is 503', async (t) => {
  const { handler, token, log } = await createHost()
  const app = await createExpress()
  app.use(handler)
  app.get('/shop', (_, response) => response.send('welcome'))
  const { send } = await listen(t, createServer(app))

  assert.equal((await send('GET /shop')).text, 'welcome')
  assert.equal((await send(`GET ${LIST}`, { token })).status, 200)
  assertProblem(await send('DELETE /api/v1/items'), 405, 'method_not_allowed')
  assert.equal((await send('GET /api/v1/nowhere')).status, 404)
  assert.deepEqual(pluck(log, 'status'), [200, 405])
  assert.equal((await send('GET /readyz')).status, 200)
  handler.drain()
  assertProblem(await send('GET /readyz'), 503, 'stopping')
  assert.equal((await send(`GET ${LIST}`, { token })).status, 200)
})

test('a base path is checked when the handler is created', async () => {
  const { till } = await createHost()
  const texts = ['shop', '/shop/', '/', '//shop', '/a//b', '/a?b', '/a#b', '/../a', '/./a', '/a b']
  for (const basePath of [...texts, 7]) {
    assert.throws(() => createHandler(till, { basePath: basePath as string }), TypeError)
  }
  createHandler(till, { basePath: '' })
  createHandler(till, { basePath: '/a-b/c_d/%7Ee' })
})

test('a handler with a base path that Express mounts at a prefix is a TypeError that says so', async (t) => {
  const { till } = await createHost()
  const app = await createExpress()
  const errors: string[] = []
  app.use('/shop', createHandler(till, { basePath: '/shop' }))
  app.use(((error, _request, response, _next) => {
    errors.push(String(error))
    response.end()
  }) as ErrorMiddleware as never)
  const { send } = await listen(t, createServer(app))

  await send('GET /shop/healthz')

  assert.deepEqual(errors, [
    'TypeError: Express has removed /shop from the path: omit the option basePath',
  ])
})

type ErrorMiddleware = (
  error: unknown,
  request: IncomingMessage,
  response: ServerResponse,
  next: unknown,
) => void

test('a body that a middleware has parsed has the limits of one that was not, and one that is lost gives advice', async (t) => {
  const { handler, account_key } = await createHost()
  let deep: unknown[] = []
  for (let level = 0; level < 100_000; level++) deep = [deep]
  for (const [body, message, status, code] of [
    [() => {}, /must be a JSON object/, 400, 'invalid_request'],
    [{ deep }, /at most 64 deep/, 400, 'invalid_request'],
    [{ ...NEW_ITEM, meta: { many: Array(40_000).fill(1) } }, /values/, 400, 'invalid_request'],
    [undefined, /before/, 500, 'body_already_read'],
  ] as const) {
    const server = createServer(async (request, response) => {
      await text(request)
      handler(Object.assign(request, { body }), response)
    })
    const { send } = await listen(t, server)
    const reply = await send('POST /api/v1/items', { account_key, json: NEW_ITEM })
    assert.match(assertProblem(reply, status, code).detail, message)
  }
})

test('two handlers for one request are a TypeError that says so', async (t) => {
  const { handler, till } = await createHost()
  const other = createHandler(till)
  const server = createServer((request, response) => {
    handler(request, response)
    assert.throws(() => other(request, response), /^TypeError: .*already/)
  })
  const { send } = await listen(t, server)

  assert.equal((await send('GET /healthz')).status, 200)
})

test('a request whose answer another handler has begun is left to it', async (t) => {
  const { handler } = await createHost()
  const server = createServer((request, response) => {
    response.writeHead(200)
    handler(request, response)
    response.end('own')
  })
  const { send } = await listen(t, server)

  assert.equal((await send('GET /healthz')).text, 'own')
})
