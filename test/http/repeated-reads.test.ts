import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { createTill, type Storage, type Till } from '../../lib/index.ts'
import { temporaryFolder } from '../support/folder.ts'
import {
  assertProblem,
  createSignal,
  eventually,
  type Reply,
  rawRequest,
  serveShop,
  type TestServerOptions,
} from '../support/server.ts'
import { openSqlite } from '../support/sqlite.ts'
import { createShop } from '../support/till.ts'

const READS = ['findProject', 'findWatermark', 'findItem', 'listItems'] as const

/** Starts a server, with another till on the same database, and a shop. */
async function start(t: TestContext, options: Omit<TestServerOptions, 'storage'> = {}) {
  const path = join(temporaryFolder(t), 'till.db')
  const open = () => openSqlite(path)
  const calls: string[] = []
  const storage = observe(await open(), calls)
  const shop = await serveShop(t, { ...options, storage })
  const other = createTill({ storage: await open(), now: options.now ?? Date.now })
  t.after(() => other.close())
  const item = `GET /api/v1/items/${shop.item.id}`
  const list = 'GET /api/v1/items?store_id=main'
  const read = (request: string, token = shop.token, headers = {}) =>
    shop.send(request, { token, headers })

  /** Sends a request twice. The second one must find its answer in memory. */
  const repeat = async (request: string, token = shop.token): Promise<Reply> => {
    await read(request, token)
    await read(request, token)
    calls.length = 0
    const reply = await read(request, token)
    assert.deepEqual(calls, [], `${request} read the storage`)
    assert.equal(reply.status, 200)
    return reply
  }
  return { ...shop, item, list, record: shop.item, other, read, repeat }
}

/** Adds the names of the called read methods to `calls`. */
function observe(storage: Storage, calls: string[]): Storage {
  const observed = READS.map((name) => [
    name,
    (...args: never[]) => {
      calls.push(name)
      return (storage[name] as (...args: never[]) => unknown)(...args)
    },
  ])
  return { ...storage, ...Object.fromEntries(observed) }
}

test('a repeated read reads no records', async (t) => {
  const { item, list, read, repeat } = await start(t)
  for (const request of [item, list, item.replace('GET', 'HEAD')]) {
    const first = await read(request)
    const repeated = await repeat(request)

    assert.equal(repeated.text, first.text)
    const omit = ['x-request-id', 'date']
    const headersOf = ({ headers }: Reply) => [...headers].filter(([name]) => !omit.includes(name))
    assert.deepEqual(headersOf(repeated), headersOf(first))
    assert.notEqual(repeated.headers.get('x-request-id'), first.headers.get('x-request-id'))
  }
})

test('a repeated read answers the headers of its own request', async (t) => {
  const options = { corsOrigins: ['https://shop.example'] }
  const { item, read, repeat, token } = await start(t, { options })
  const { headers } = await repeat(item)
  const etag = headers.get('etag') as string

  const fresh = await read(item, token, { 'if-none-match': etag, 'x-request-id': 'req_1' })
  const script = await read(item, token, { origin: 'https://shop.example' })
  const stranger = await read(item, token, { origin: 'https://other.example' })

  assert.equal(fresh.headers.get('x-request-id'), 'req_1')
  assert.deepEqual([fresh.status, fresh.text, fresh.headers.get('etag')], [304, '', etag])
  assert.equal(script.headers.get('access-control-allow-origin'), 'https://shop.example')
  assert.equal(stranger.headers.get('access-control-allow-origin'), null)
})

type Change = (till: Till, shop: Awaited<ReturnType<typeof createShop>>) => Promise<unknown>

const SILVER = { store_id: 'main', name: 'silver', display_name: 'Silver', price: '99' }

/** Changes by this server's till or by another process, and the status that must follow. */
const changes: readonly (readonly [what: string, status: number, change: Change])[] = [
  [
    'an item was changed',
    200,
    (till, { account, item }) => till.items.update(account, { id: item.id, price: '1' }),
  ],
  [
    'an item was created',
    200,
    (till, { account }) => till.items.create(account, { ...SILVER, type: 'consumable' }),
  ],
  [
    'the tokens of the user were revoked',
    401,
    (till, { account, project_id }) =>
      till.sessions.revoke(account, { project_id, user_id: 'player' }),
  ],
  [
    'the project was disabled',
    401,
    (till, { account, project_id: id }) =>
      till.projects.update(account, { id, status: 'disabled' }),
  ],
]

for (const by of ['this process', 'another process']) {
  test(`a repeated read is not answered from memory after a change by ${by}`, async (t) => {
    const { till, other, list, read, repeat } = await start(t)
    for (const [title, status, change] of changes) {
      await t.test(title, async () => {
        const shop = await createShop(till, title)
        const isNew = title.includes('created')
        const line = isNew ? list : `GET /api/v1/items/${shop.item.id}`
        const before = await repeat(line, shop.token)

        await change(by === 'this process' ? till : other, shop)
        const after = await read(line, shop.token)

        assert.equal(after.status, status, after.text)
        assert.notEqual(after.text, before.text)
      })
    }
  })
}

test('a repeated read gets 401 once its token has expired, or another process dropped its key', async (t) => {
  let now = Date.now()
  const { item, repeat, read, other, till, public_key } = await start(t, { now: () => now })
  const { token } = await till.sessions.token(public_key, { user_id: 'player' })
  await repeat(item)
  now += 3_600_000 + 6_000
  assertProblem(await read(item), 401, 'token_required')

  now -= 3_600_000
  await repeat(item, token)
  await other.operator.rotateSigningKeys({ drop: 'others' })
  now += 5_001 // by then, every process has reloaded its keys
  assertProblem(await read(item, token), 401, 'token_required')
})

test('a repeated read of another tenant, or without the scope, gets its own answer', async (t) => {
  const { item, list, repeat, till, read, account, account_id, project_id } = await start(t)
  const foreign = await createShop(till, 'Other')
  const second = { account_id, name: 'Second', bundle_id: 'com.example.second', platform: 'web' }
  const project = await till.projects.create(account, second)
  const { token } = await till.sessions.token(project.public_key, { user_id: 'player' })
  const writer = await till.sessions.issue(account, {
    ...{ project_id, user_id: 'player', scopes: ['projects:write'] },
  })
  await repeat(item)
  const own = await repeat(list)

  for (let times = 0; times < 3; times++) {
    assertProblem(await read(item, foreign.token), 404, 'item_not_found')
    assertProblem(await read(item, token), 404, 'item_not_found')
    assertProblem(await read(list, token), 400, 'invalid_request')
    assertProblem(await read(item, writer.token), 401, 'insufficient_scope')
    const reply = await read(list, foreign.token)
    assert.match(reply.text, new RegExp(foreign.item.id))
    assert.notEqual(reply.text, own.text)
  }
})

test('repeated reads consume from the rate limits', async (t) => {
  const { item, read } = await start(t, { options: { rateLimit: 3, rateLimitAddress: 1000 } })
  const replies = []
  for (let times = 0; times < 4; times++) replies.push(await read(item))

  const remaining = replies.map(({ headers }) => headers.get('ratelimit'))
  assert.deepEqual(
    remaining.map((limit) => /"key";r=(\d+)/.exec(limit ?? '')?.[1]),
    ['2', '1', '0', '0'],
  )
  assert.deepEqual(
    replies.map(({ status }) => status),
    [200, 200, 200, 429],
  )
})

test('repeated reads are logged and counted like others', async (t) => {
  const { item, repeat, read, token, entryOf, send } = await start(t, {
    options: { metrics: true },
  })
  await read(item, token, { 'x-request-id': 'first' })
  await repeat(item)
  await read(item, token, { 'x-request-id': 'again' })

  const { time: _, ms: __, request_id: ___, ...first } = await entryOf('first')
  const { time, ms, request_id, ...again } = await entryOf('again')

  assert.deepEqual(again, first)
  assert.ok(ms >= 0 && request_id === 'again' && time !== '')
  const { text } = await send('GET /metrics')
  assert.match(text, /tillkit_http_requests_total\{[^}]*items\/:item_id[^}]*\} 5\n/)
})

test('a repeated read checks the transport of its own request', async (t) => {
  const { item, repeat, token, connect } = await start(t)
  await repeat(item)
  const bearer = `authorization: Bearer ${token}`
  const odd: { readonly [title: string]: readonly [number, ...string[]] } = {
    'a repeated Authorization': [401, bearer, bearer],
    'a repeated Idempotency-Key': [400, bearer, 'idempotency-key: a', 'idempotency-key: b'],
    'a repeated Host': [400, bearer, 'host: a'],
  }
  for (const [title, [status, ...headers]] of Object.entries(odd)) {
    const client = await connect(rawRequest(item, headers))
    assert.equal((await client.reply()).status, status, title)
  }
})

test('repeated reads that wait for their check count in the limit of reads', async (t) => {
  const sqlite = await openSqlite(join(temporaryFolder(t), 'till.db'))
  const { dataVersion } = sqlite
  assert.ok(dataVersion)
  let delay: Promise<void> | undefined
  const check = () => (delay ?? Promise.resolve()).then(() => dataVersion.check())
  const storage = { ...sqlite, dataVersion: { current: () => dataVersion.current(), check } }
  const { send, log, item, token } = await serveShop(t, { storage, limits: { readsInFlight: 4 } })
  const read = () => send(`GET /api/v1/items/${item.id}`, { token })
  await read()
  await read()

  const { given, give } = createSignal()
  delay = given
  const refused = () => log.filter(({ status }) => status === 503).length
  const readings = Array.from({ length: 5 }, read)
  await eventually(() => refused() === 3 || undefined, 'three refusals')
  give()

  const statuses = (await Promise.all(readings)).map(({ status }) => status)
  assert.deepEqual(statuses.sort(), [200, 200, 503, 503, 503])
})
