import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { type TestContext, test } from 'node:test'
import { createHandler } from '../../http/index.ts'
import { eventuallyHolds } from '../support/eventually.ts'
import { createGatedStorage } from '../support/gated.ts'
import {
  assertProblem,
  createSignal,
  eventually,
  importForm,
  type RawClient,
  rawRequest,
  serveShop,
  startServer,
  type TestServer,
  type TestServerOptions,
} from '../support/server.ts'
import { createShop, memoryTill } from '../support/till.ts'

const LIST = 'GET /api/v1/items?store_id=main'
const CREATE = 'POST /api/v1/items'
const IMPORT = 'POST /api/v1/purchases/import'
const TOKEN = 'POST /api/v1/identity/auth/token'
const ACCESS_TOKEN = '/api/v1/identity/auth/access-token'
const CSV = 'transaction_id,sku,purchased_at\nT-1,gold,1700000000\n'
const FORM = 'content-type: multipart/form-data; boundary=x'

/** Starts a server with two shops. */
async function startTwo(t: TestContext, options: TestServerOptions = {}) {
  const server = await startServer(t, options)
  const [one, other] = [
    await createShop(server.till, 'One'),
    await createShop(server.till, 'Other'),
  ]
  return { ...server, one, other }
}

/** Sends requests whose bodies never arrive, and waits until this many are refused. */
async function sendSlowly({ log, connect }: TestServer, heads: readonly string[], refused: number) {
  const before = log.length
  const clients = []
  for (const head of heads) clients.push(await connect(head))
  const refusals = () => log.slice(before).filter(({ status }) => status === 503).length
  await eventually(() => refusals() === refused || undefined, `${refused} refusals`)
  return clients
}

/** Disconnects slow clients, and waits until this many requests have ended. */
async function endSlow({ log }: TestServer, slow: readonly RawClient[], requests: number) {
  for (const { socket } of slow) socket.destroy()
  const ended = () => log.filter(({ status }) => status === 499).length
  await eventually(() => ended() === requests || undefined, 'ends of those that were slow')
}

function slowCreate(account_key: string, id = 'slow'): string {
  const headers = [`x-account-key: ${account_key}`, 'content-length: 100', `x-request-id: ${id}`]
  return rawRequest(CREATE, headers)
}

function slowImport(token: string): string {
  return rawRequest(IMPORT, [`authorization: Bearer ${token}`, FORM, 'content-length: 1000'])
}

test('an account with slow bodies gets half of the write limit, and does not block others', async (t) => {
  const server = await startTwo(t, { limits: { writesInFlight: 6 } })
  const { send, one, other } = server
  const slow = await sendSlowly(server, Array(5).fill(slowCreate(one.account.account_key)), 2)

  const json = { user_id: 'player' }
  const { account_key } = one.account
  const refused = assertProblem(await send(CREATE, { account_key, json: {} }), 503, 'overloaded')
  assert.equal(refused.detail, 'This account has its share of the writes in flight')
  // With any credential of the account.
  const reply = await send(TOKEN, { public_key: one.project.public_key, json })
  assertProblem(reply, 503, 'overloaded')
  assert.equal(reply.headers.get('retry-after'), '1')
  const update = { json: { id: one.project.id }, token: one.token }
  assertProblem(await send('PUT /api/v1/projects', update), 503, 'overloaded')

  assert.equal((await send(LIST, { token: one.token })).status, 200)
  for (let i = 0; i < 5; i++) {
    assert.equal((await send(TOKEN, { public_key: other.project.public_key, json })).status, 200)
    const mine = { account_key: other.account.account_key, json: {} }
    assert.equal((await send(CREATE, mine)).status, 400)
  }

  await endSlow(server, slow, 3)
  assert.equal((await send(CREATE, { account_key, json: {} })).status, 400)
})

test('one project gets four imports, and one account half of the limit, however many projects it has', async (t) => {
  const server = await startTwo(t)
  const { till, send, one, other } = server
  const tokens = [one.token]
  for (let i = 0; i < 5; i++) {
    const { account_id } = one.account
    const fields = { account_id, name: 'Free', bundle_id: 'com.example.free', platform: 'web' }
    const { public_key } = await till.projects.create(one.account, fields)
    tokens.push((await till.sessions.token(public_key, { user_id: 'player' })).token)
  }
  const load = (token: string) => send(IMPORT, { token, body: importForm(CSV) })

  // Four imports of one project, which would wait for one store; sixteen of the account.
  const [first = '', ...others] = tokens
  const slow = await sendSlowly(server, Array(8).fill(slowImport(first)), 4)
  assertProblem(await load(first), 503, 'overloaded')
  assert.equal((await load(others[0] ?? '')).status, 400) // has no store
  const heads = others.flatMap((token) => Array(4).fill(slowImport(token)))
  slow.push(...(await sendSlowly(server, heads, 20 - 12)))

  for (const token of tokens) {
    const reply = await load(token)
    assertProblem(reply, 503, 'overloaded')
    assert.equal(reply.headers.get('retry-after'), '5')
  }
  assert.equal((await load(other.token)).status, 200)
  assert.equal((await send(LIST, { token: one.token })).status, 200)

  await endSlow(server, slow, 16)
  assert.equal((await load(one.token)).status, 200)
})

test('an account with slow reads gets half of the read limit, and does not block others', async (t) => {
  const { storage, waiting, open } = createGatedStorage()
  const { send, one, other } = await startTwo(t, { storage, limits: { readsInFlight: 5 } })
  const lists = [send(LIST, { token: one.token }), send(LIST, { token: one.token })]
  await eventually(() => waiting() === 2 || undefined, 'two reads in flight')

  for (let i = 0; i < 3; i++) {
    const { detail } = assertProblem(await send(LIST, { token: one.token }), 503, 'overloaded')
    assert.equal(detail, 'This account has its share of the reads in flight')
  }
  const { token, item } = other
  assert.equal((await send(`GET /api/v1/items/${item.id}`, { token })).status, 200)

  open()
  for (const list of lists) assert.equal((await list).status, 200)
  assert.equal((await send(LIST, { token: one.token })).status, 200)
})

test('the later pages of a long list count as reads of its account', async (t) => {
  const { till, send, storage, one, other } = await startTwo(t, {
    limits: { readsInFlight: 5 },
    options: { metrics: true },
  })
  const { listItems } = storage
  const opened = createSignal()
  storage.listItems = async (store, page) => {
    if (page.after !== undefined) await opened.given
    return listItems(store, { ...page, limit: Math.min(page.limit, 5) })
  }
  const fields = { store_id: 'main', display_name: 'Gold', price: '1', type: 'consumable' as const }
  for (let i = 0; i < 11; i++) {
    await till.items.create(one.account, { ...fields, name: `gold_${i}` })
  }
  const lists = []
  for (let i = 1; i <= 2; i++) {
    lists.push(send(LIST, { token: one.token }))
    // The second list waits for the turn of its account, and counts meanwhile.
    await eventuallyHolds(async () => {
      const { text } = await send('GET /metrics')
      assert.match(text, new RegExp(`requests_in_flight\\{kind="reads"\\} ${i}\n`))
    })
  }

  assertProblem(await send(LIST, { token: one.token }), 503, 'overloaded')
  assert.equal((await send(LIST, { token: other.token })).status, 200)
  opened.give()
  for (const list of lists) {
    assert.equal((await list).json<{ items: object[] }>().items.length, 12)
  }
})

test('a request that fails in any way releases its share', async (t) => {
  const limits = { readsInFlight: 2, writesInFlight: 2, uploadsInFlight: 2, jsonBytes: 1000 }
  const options = { rateLimit: 1_000_000, metrics: true }
  const shop = await serveShop(t, { limits, options })
  const { storage, send, connect, entryOf, token, public_key, account_key } = shop
  const { listItems } = storage
  storage.listItems = async () => {
    throw new Error('of the storage')
  }
  const refusals: [status: number, request: string, parts: Parameters<typeof send>[1]][] = [
    [500, LIST, { token }],
    [401, LIST, { token: 'x' }],
    [401, CREATE, { account_key: 'ak_x', json: {} }],
    [400, TOKEN, { public_key: 'pk_x', json: {} }],
    [400, TOKEN, { public_key, json: {} }],
    [400, CREATE, { account_key, body: '{' }],
    [413, CREATE, { account_key, body: ' '.repeat(1001) }],
    [415, CREATE, { account_key, body: '{}', headers: { 'content-type': 'text/csv' } }],
    [415, IMPORT, { token, body: 'x', headers: { 'content-type': 'text/csv' } }],
    [400, IMPORT, { token, body: importForm(CSV, { store_id: 'nowhere' }) }],
  ]
  for (const [status, request, parts] of [...refusals, ...refusals]) {
    assert.equal((await send(request, parts)).status, status, request)
  }
  for (const id of ['gone-1', 'gone-2']) {
    const client = await connect(slowCreate(account_key, id))
    assert.equal((await send('GET /healthz')).status, 200) // the server has read both
    client.socket.resetAndDestroy()
    assert.equal((await entryOf(id)).status, 499)
  }
  storage.listItems = listItems

  assert.equal((await send(LIST, { token })).status, 200)
  assert.equal((await send(CREATE, { account_key, json: {} })).status, 400)
  assert.equal((await send(IMPORT, { token, body: importForm(CSV) })).status, 200)
  const { text } = await send('GET /metrics')
  const inFlight = text.split('\n').filter((line) => /^tillkit_http_requests_in_flight/.test(line))
  assert.deepEqual(
    inFlight.map((line) => line.slice(line.indexOf('{'))),
    ['reads', 'writes', 'uploads', 'reports', 'verifications'].map((kind) => `{kind="${kind}"} 0`),
  )
})

test('requests being verified use no account share, and one address gets half of the verifications', async (t) => {
  const limits = { verificationsInFlight: 4, readsInFlight: 2 }
  const { send, url, public_key, storage } = await serveShop(t, { limits })
  const { findProjectByPublicKey } = storage
  const opened = createSignal()
  let waiting = 0
  storage.findProjectByPublicKey = async (key) => {
    if (key !== 'pk_guess') return findProjectByPublicKey(key)
    waiting++
    await opened.given
    return undefined
  }
  const guess = (localAddress: string) => statusOf(url, localAddress, 'pk_guess')
  const guesses = [guess('127.0.0.2'), guess('127.0.0.2')]
  await eventually(() => waiting === 2 || undefined, 'two guesses')

  assert.equal(await guess('127.0.0.2'), 503)
  for (let i = 0; i < 3; i++) {
    assert.equal((await send(`GET ${ACCESS_TOKEN}`, { public_key })).status, 200)
  }

  opened.give()
  assert.deepEqual(await Promise.all(guesses), [400, 400])
  assert.equal(await guess('127.0.0.2'), 400)
})

test('a server with one account may give it the whole limit', async (t) => {
  const shop = await serveShop(t, { limits: { writesInFlight: 4, accountShare: 100 } })

  await sendSlowly(shop, Array(5).fill(slowCreate(shop.account_key)), 1)

  assert.equal((await shop.send(LIST, shop)).status, 200)
  for (const accountShare of [0, 101, 1.5, Number.NaN]) {
    assert.throws(() => createHandler(memoryTill(), { limits: { accountShare } }), TypeError)
  }
})

/** The status of a request for an access token from this loopback address. */
async function statusOf(url: string, localAddress: string, public_key: string): Promise<number> {
  const headers = { 'x-public-project-key': public_key }
  const asked = request(url + ACCESS_TOKEN, { localAddress, headers, agent: false })
  const [response] = (await once(asked.end(), 'response')) as [IncomingMessage]
  response.resume()
  return response.statusCode ?? 0
}
