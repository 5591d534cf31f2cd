import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { TillError } from '../../lib/index.ts'
import { assertDocumented } from '../support/openapi/answers.ts'
import { type Operation, operations, type Schema } from '../support/openapi/document.ts'
import { createManagedShop, exampleOf, knownValues, SECRET } from '../support/openapi/requests.ts'
import {
  type Parts,
  type ProblemBody,
  type Reply,
  startServer,
  type TestServerOptions,
} from '../support/server.ts'

/** A server with a shop. Sends the example of each operation, with the ids of the shop. */
async function start(t: TestContext, { options, ...rest }: TestServerOptions) {
  const server = await startServer(t, {
    ...rest,
    options: { metrics: true, manage: true, ...options },
  })
  const shop = await createManagedShop(server.till)
  const { account, project_id } = shop
  const { token } = await server.till.sessions.issue(account, { project_id, user_id: 'player-1' })
  const requestOf = (operation: Operation, unknownId?: string) => {
    const caller = operation.id === 'listOwnPurchases' ? { ...shop, token } : shop
    const names = [...operation.path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name)
    const unknown = unknownId
      ? Object.fromEntries([...names, 'item_id'].map((name) => [name, unknownId]))
      : {}
    return exampleOf(operation, caller, { ...knownValues(shop), ...unknown })
  }
  return {
    send(operation: Operation, more: Parts = {}, unknownId?: string) {
      const { line, parts } = requestOf(operation, unknownId)
      return server.send(line, { ...parts, ...more })
    },
    /** Sends the example with one more query parameter. */
    sendQuery(operation: Operation, name: string, value: unknown) {
      const { line, parts } = requestOf(operation)
      return server.send(`${line}${line.includes('?') ? '&' : '?'}${name}=${value}`, parts)
    },
    entryOf: server.entryOf,
    /** Sends headers that no HTTP client would. */
    sendRaw: (operation: Operation, headers: string) =>
      server.sendRaw(`${requestOf(operation).line} HTTP/1.1\r\n${headers}`),
    breakStorage(error: Error) {
      for (const methods of [server.storage, server.storage.stale])
        for (const [name, value] of Object.entries(methods)) {
          // `together` calls the others.
          if (typeof value !== 'function' || ['close', 'together'].includes(name)) continue
          Object.assign(methods, { [name]: () => Promise.reject(error) })
        }
    },
  }
}

type World = Awaited<ReturnType<typeof start>>

/** How to get a status from an operation. */
interface Provocation extends TestServerOptions {
  readonly ask: (world: World, operation: Operation) => Promise<Reply>
}

/** A storage error is in the log, and not in the answer. */
async function askBroken({ send, entryOf, breakStorage }: World, operation: Operation, e: Error) {
  breakStorage(e)
  const reply = await send(operation)
  assert.doesNotMatch(reply.text, /hunter2|db\.internal|Error:|\.ts:/)
  const { level, status, error } = await entryOf(reply.headers.get('x-request-id') ?? '')
  assert.deepEqual({ level, status }, { level: 'error', status: reply.status })
  assert.match(error ?? '', /hunter2/)
  return reply
}

const FAULT = new Error('password=hunter2 at db.internal')

const PROVOCATIONS: { readonly [status: string]: Provocation } = {
  200: {
    options: { corsOrigins: ['*'] },
    limits: { reportsInFlight: 64 }, // all operations at once
    async ask({ send }, operation) {
      if (!operation.path.startsWith('/manage/')) return send(operation)
      const headers = { origin: 'https://other.example' }
      let reply = await send(operation, { headers })
      // The other operations change the catalog between the plan and its changes.
      while (reply.text.includes('catalog_changed')) reply = await send(operation, { headers })
      assert.equal(reply.headers.get('cache-control'), 'no-store')
      assert.equal(reply.headers.get('access-control-allow-origin'), null)
      assert.ok(!reply.text.includes(SECRET), reply.text)
      return reply
    },
  },
  304: { ask: ({ send }, operation) => send(operation, { headers: { 'if-none-match': '*' } }) },
  400: { ask: ({ sendRaw }, operation) => sendRaw(operation, '\r\n') },
  401: {
    ask: ({ send }, operation) => send(operation, { account_key: undefined, token: undefined }),
  },
  404: {
    ask: ({ send }, operation) =>
      ['refundPurchases', 'deliverPurchases'].includes(operation.id)
        ? send(operation, { json: { transaction_id: 'unknown' } })
        : send(operation, {}, 'unknown'),
  },
  409: { ask: ({ send }, operation) => send(operation, { json: { version: 99 } }) },
  408: {
    limits: { headersTimeout: 50 },
    ask: ({ sendRaw }, operation) => sendRaw(operation, 'host: te'),
  },
  412: {
    ask: ({ send }, operation) => send(operation, { headers: { 'if-match': '"other"' } }),
  },
  413: {
    limits: { jsonBytes: 8, uploadBytes: 8 },
    ask: ({ send }, operation) =>
      send(operation, operation.body ? {} : { json: { field: 'more than 8 bytes' } }),
  },
  415: {
    ask: ({ send }, operation) =>
      send(operation, { json: undefined, body: 'x', headers: { 'content-type': 'text/plain' } }),
  },
  429: {
    options: { rateLimitAddress: 1 },
    ask: async ({ send }, operation) => {
      await send(operation)
      return send(operation)
    },
  },
  431: { ask: ({ sendRaw }, operation) => sendRaw(operation, `a: ${'x'.repeat(17_000)}\r\n\r\n`) },
  500: { ask: (world, operation) => askBroken(world, operation, FAULT) },
  503: {
    ask(world, operation) {
      const error = new TillError('storage_unavailable', 'The storage is gone')
      return askBroken(world, operation, Object.assign(error, { cause: FAULT }))
    },
  },
}

test('every documented status has a test', () => {
  const documented = new Set(operations.flatMap(({ responses }) => [...responses.keys()]))
  assert.deepEqual([...documented].sort(), Object.keys(PROVOCATIONS))
})

for (const [status, { ask, ...options }] of Object.entries(PROVOCATIONS)) {
  test(`every operation that documents ${status} answers it as documented`, async (t) => {
    const world = await start(t, options)
    const documenting = operations.filter(({ responses }) => responses.has(status))
    const answers = documenting.map(async (operation) => {
      const reply = await ask(world, operation)
      assert.equal(`${operation.id} ${reply.status}`, `${operation.id} ${status}`, reply.text)
      assertDocumented(operation, reply)
    })
    await Promise.all(answers)
  })
}

/** Values that a schema allows and refuses. */
function valuesOf({ type, enum: listed, minimum, maximum }: Schema): [unknown[], unknown[]] {
  if (listed) return [listed as unknown[], ['toaster', '']]
  if (type === 'boolean')
    return [
      [true, false],
      ['yes', ''],
    ]
  if (type !== 'integer') return [[], []]
  const [min, max] = [Number(minimum), Number(maximum)]
  return [
    [min, max],
    [min - 1, max + 1, `${min}.5`, ''],
  ]
}

test('a query parameter takes the values that the document allows, and no others', async (t) => {
  const { sendQuery } = await start(t, {})
  for (const operation of operations) {
    for (const { name, schema } of operation.parameters.filter((each) => each.in === 'query')) {
      const [allowed, refused] = valuesOf(schema)
      for (const value of [...allowed, ...refused]) {
        const reply = await sendQuery(operation, name, value)
        const { errors = [] } = reply.json<Partial<ProblemBody>>()
        const isRefused = errors.some(({ field }) => field === name)
        assert.equal(isRefused, refused.includes(value), `${operation.id} ${name}=${value}`)
      }
    }
  }
})
