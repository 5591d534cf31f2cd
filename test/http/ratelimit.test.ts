import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { forwardedAddress, networkOf } from '../../http/head.ts'
import { createRateLimit, type RateLimit } from '../../http/rate-limit.ts'
import { assertProblem, type Parts, rawRequest, serveShop, startServer } from '../support/server.ts'

function createClock() {
  let time = 1_000_000
  return { now: () => time, pass: (seconds: number) => (time += seconds * 1000) }
}

const LIST = 'GET /api/v1/items?store_id=main'
const CREATE = 'POST /api/v1/items'
const ACCESS_TOKEN = 'GET /api/v1/identity/auth/access-token'

/** Consumes a request. Returns the headers' remaining requests and seconds, and whether it is allowed. */
function consume(limit: RateLimit, key: string) {
  const headers = new Map<string, string>()
  const answer = {
    getHeader: (name: string) => headers.get(name),
    setHeader: (name: string, value: string) => headers.set(name, value),
  }
  let isAllowed = true
  try {
    limit.consume(key, answer)
  } catch {
    isAllowed = false
  }
  const [remaining, seconds] = (headers.get('ratelimit') ?? '').match(/\d+/g)?.map(Number) ?? []
  return { isAllowed, remaining, seconds }
}

test('a bucket holds the requests of a minute, and fills evenly', async () => {
  const { now, pass } = createClock()
  const limit = createRateLimit('key', 6, { now })
  const take = () => consume(limit, 'a')

  const first = Array.from({ length: 7 }, take)
  assert.deepEqual(
    first.map(({ isAllowed, remaining, seconds }) => [isAllowed, remaining, seconds]),
    [
      [true, 5, 10],
      [true, 4, 20],
      [true, 3, 30],
      [true, 2, 40],
      [true, 1, 50],
      [true, 0, 60],
      [false, 0, 10],
    ],
  )
  assert.equal(consume(limit, 'b').remaining, 5)
  pass(9.5)
  assert.deepEqual(take(), { isAllowed: false, remaining: 0, seconds: 1 })
  pass(0.5)
  assert.equal(take().isAllowed, true)
  assert.equal(take().isAllowed, false)
  pass(600)
  assert.equal(take().remaining, 5)
})

test('a full limiter drops the keys that were unused for longest', () => {
  const { now } = createClock()
  const limit = createRateLimit('key', 2, { now, buckets: 100 })
  const take = (key: string) => consume(limit, key)

  take('seen')
  take('seen')
  take('once')
  take('once')
  for (let i = 0; i < 1000; i++) {
    take(`other ${i}`)
    assert.equal(take('seen').isAllowed, false)
  }

  assert.equal(take('once').isAllowed, true)
})

test('over the limit is 429 with Retry-After', async (t) => {
  const options = { rateLimit: 2 }
  const { send, token } = await serveShop(t, { options })

  const first = await send(LIST, { token })
  assert.equal(first.headers.get('ratelimit-policy'), '"key";q=2;w=60')
  assert.equal(first.headers.get('ratelimit'), '"key";r=1;t=30')
  const missing = await send('GET /api/v1/items/itm_1', { token })
  assert.deepEqual(
    [missing.status, missing.headers.get('ratelimit')?.slice(0, 9)],
    [404, '"key";r=0'],
  )

  const refused = await send(LIST, { token })
  assertProblem(refused, 429, 'rate_limited')
  const seconds = Number(refused.headers.get('retry-after'))
  assert.ok(Number.isInteger(seconds) && seconds >= 1 && seconds <= 30, `${seconds}`)
  assert.equal(refused.headers.get('ratelimit'), `"key";r=0;t=${seconds}`)
  assertProblem(await send(LIST, { token: 'x' }), 401, 'token_required')
})

test('an account shares a limit, and each user of issued tokens; a client with the public key uses up that of its address', async (t) => {
  const options = { rateLimit: 2, trustProxy: true }
  const shop = await serveShop(t, { options })
  const { till, send, account, account_key, project_id, public_key } = shop
  const second = (await till.accounts.addKey(account)).account_key
  const { access_token } = await till.sessions.accessToken(public_key)
  const issued = async (user_id: string) => {
    return { token: (await till.sessions.issue(account, { project_id, user_id })).token }
  }
  const named = async (user_id: string) => {
    return { token: (await till.sessions.token(public_key, { user_id })).token }
  }
  const steps: readonly (readonly [parts: Parts, address: number, status: number])[] = [
    [await issued('player'), 1, 200],
    [await issued('player'), 2, 200],
    [await issued('player'), 3, 429],
    [await issued('other'), 1, 200],
    [{ account_key, json: {} }, 1, 400],
    [{ account_key: second, json: {} }, 2, 400],
    [{ account_key, json: {} }, 3, 429],
    [await named('new'), 4, 200],
    [await named('player'), 4, 200],
    [await named(project_id), 4, 429],
    [{ token: access_token }, 4, 429],
    [await named('new'), 5, 200],
    [await issued('new'), 4, 200],
    [await issued('new'), 5, 200],
    [{ public_key }, 4, 200],
    [{ public_key }, 4, 200],
    [{ public_key }, 4, 429],
    [{ public_key }, 5, 200],
  ]
  for (const [index, [parts, address, status]] of steps.entries()) {
    const line = parts.token ? LIST : parts.account_key ? CREATE : ACCESS_TOKEN
    const headers = { 'x-forwarded-for': `192.0.2.${address}` }
    assert.equal((await send(line, { ...parts, headers })).status, status, `step ${index}`)
  }
})

test('a bucket may fill in another time than a minute', () => {
  const { now, pass } = createClock()
  const limit = createRateLimit('project', 20, { window: 10_000, now })
  const takeAll = () => Array.from({ length: 30 }, () => consume(limit, 'a').isAllowed)

  assert.equal(takeAll().filter(Boolean).length, 20)
  pass(1)
  assert.equal(takeAll().filter(Boolean).length, 2)
})

test('tokens from a public key share a limit of changes of their project, and nobody else does', async (t) => {
  const limits = { changesOfProject: 3, changesWindow: 3_600_000 }
  const shop = await serveShop(t, { options: { manage: true, limits } })
  const { till, send, account, account_key, project_id, public_key } = shop
  const tokenOf = async (key: string, user_id: string) =>
    (await till.sessions.token(key, { user_id })).token
  const issued = await till.sessions.issue(account, { project_id, scopes: ['projects:write'] })
  const input = { account_id: account.account_id, name: 'B', bundle_id: 'a.b', platform: 'web' }
  const second = await till.projects.create(account, input)
  const change = async (token: string, id = project_id) =>
    send('PUT /api/v1/projects', { token, json: { id, name: 'Game' } })
  const [token, ofOther] = [await tokenOf(public_key, 'a'), await tokenOf(public_key, 'b')]

  for (const each of [token, ofOther, token]) {
    assert.equal((await change(each, 'another')).status, 400) // changes nothing, and does not count
    assert.equal((await change(each)).status, 200)
  }
  const refused = await change(ofOther)

  assertProblem(refused, 429, 'rate_limited')
  assert.equal(refused.headers.get('ratelimit-policy'), '"project";q=3;w=3600')
  assert.equal((await send(LIST, { token })).status, 200)
  assert.equal((await change(await tokenOf(second.public_key, 'a'), second.id)).status, 200)
  for (let n = 0; n < 5; n++) {
    assert.equal((await change(issued.token)).status, 200)
    const json = { name: `Game ${n}` }
    const reply = await send(`PATCH /manage/v1/projects/${project_id}`, { account_key, json })
    assert.equal(reply.status, 200, reply.text)
  }
})

test('without settings, the limit of changes is 20 in 10 s', async (t) => {
  const { send, project_id, token } = await serveShop(t)
  const { headers } = await send('PUT /api/v1/projects', { token, json: { id: project_id } })
  assert.equal(headers.get('ratelimit-policy'), '"project";q=20;w=10')
})

test('the address limit applies before the credential is verified, against key guessing', async (t) => {
  const options = { rateLimitAddress: 3, rateLimit: 100 }
  const { send, token } = await serveShop(t, { options })

  const good = await send(LIST, { token })
  assert.equal(good.headers.get('ratelimit-policy'), '"address";q=3;w=60, "key";q=100;w=60')
  assert.equal(good.headers.get('ratelimit'), '"address";r=2;t=20, "key";r=99;t=1')
  for (const account_key of ['ak_1', 'ak_2']) {
    const guess = await send('POST /api/v1/items', { account_key, json: {} })
    assertProblem(guess, 401, 'account_key_required')
  }
  for (const parts of [{ account_key: 'ak_3', json: {} }, { token }]) {
    const refused = await send(parts.token ? LIST : 'POST /api/v1/items', parts)
    assertProblem(refused, 429, 'rate_limited')
    assert.equal(refused.headers.get('ratelimit-policy'), '"address";q=3;w=60')
  }
  for (const path of ['/healthz', '/readyz']) {
    const reply = await send(`GET ${path}`)
    assert.deepEqual([reply.status, reply.headers.get('ratelimit')], [200, null])
  }
})

/** Rows with 0 proxies do not trust the header. */
const FORWARDED: readonly (readonly [proxies: number, headers: string[], address: string])[] = [
  [0, ['192.0.2.1'], '127.0.0.1'],
  [1, [], '127.0.0.1'],
  [1, ['unknown'], '127.0.0.1'],
  [1, ['192.0.2.1, '], '127.0.0.1'],
  [1, ['198.51.100.7,192.0.2.1:4711'], '192.0.2.1'],
  [1, ['198.51.100.7', 'evil, ::ffff:192.0.2.1'], '192.0.2.1'],
  [1, ['[2001:DB8::1:a:b:c:d]:4711'], '2001:DB8::1:a:b:c:d'],
  [2, ['198.51.100.1, 198.51.100.2, 198.51.100.3'], '198.51.100.2'],
  [2, ['198.51.100.1', '198.51.100.2:80'], '198.51.100.1'],
  [2, ['198.51.100.2'], '198.51.100.2'],
  [2, [',198.51.100.2'], '127.0.0.1'],
  [2, ['nobody,198.51.100.2'], '127.0.0.1'],
  [3, ['198.51.100.1, 198.51.100.2, 198.51.100.3'], '198.51.100.1'],
]

test('the client address is that of the connection, or the entry of the outermost trusted proxy', async (t) => {
  for (const trustProxy of [false, 1, 2, 3] as const) {
    const options = { trustProxy }
    const { connect, entryOf } = await startServer(t, { options })
    for (const [, headers, address] of FORWARDED.filter(([n]) => n === Number(trustProxy))) {
      const client = await connect()
      const lines = headers.map((each) => `X-Forwarded-For: ${each}`)
      client.write(rawRequest('GET /healthz', lines))
      const id = (await client.reply()).headers.get('x-request-id') ?? ''
      assert.equal((await entryOf(id)).client, address, `${trustProxy} ${headers}`)
    }
  }
})

test('the addresses of one /64 network of IPv6 share a limit', async (t) => {
  const options = { rateLimitAddress: 2, rateLimit: 2, trustProxy: true }
  const { till, send, public_key } = await serveShop(t, { options })
  const ask = async (address: string) => {
    const { token } = await till.sessions.token(public_key, { user_id: address })
    const reply = await send(LIST, { token, headers: { 'x-forwarded-for': address } })
    return reply.headers.get('ratelimit')
  }
  assert.match((await ask('2001:db8::1')) ?? '', /^"address";r=1;t=30, "key";r=1/)
  assert.match((await ask('2001:0DB8:0:0::ffff:1')) ?? '', /^"address";r=0;t=60, "key";r=0/)
  assert.match((await ask('2001:db8:0:1::1')) ?? '', /^"address";r=1;t=30, "key";r=1/)
})

test('a remembered address keeps no header in memory', () => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const padding = '198.51.100.100, '.repeat(1000)
  const remembered = new Set<string>()
  collect()
  const before = process.memoryUsage().heapUsed

  for (let i = 0; i < 2_000; i++) {
    for (const last of [`198.51.${100 + (i >> 8)}.${100 + (i & 127)}`, `2001:db8:0:${i}::abcd`]) {
      const forwarded_for = Buffer.from(padding + last).toString('latin1')
      const address = forwardedAddress({ 'x-forwarded-for': forwarded_for }, 1) ?? ''
      remembered.add(networkOf(address))
    }
  }

  collect()
  const grown = process.memoryUsage().heapUsed - before
  assert.ok(remembered.size > 2_000)
  assert.ok(grown < 8 * 1024 ** 2, `${grown} bytes for ${remembered.size} addresses`)
})
