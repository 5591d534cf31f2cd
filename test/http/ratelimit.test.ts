import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { clientAddress, networkOf } from '../../http/address.ts'
import type { RequestHeaders } from '../../http/headers.ts'
import { createHandler } from '../../http/index.ts'
import { type Consumption, createRateLimiter } from '../../http/rate-limit.ts'
import { createMemoryStorage } from '../../lib/index.ts'
import { fc } from '../support/seeds.ts'
import { assertProblem, connectTo, rawRequest, serveShop, startServer } from '../support/server.ts'
import { memoryTill } from '../support/till.ts'

function createClock() {
  let time = 1_000_000
  return { now: () => time, pass: (seconds: number) => (time += seconds * 1000) }
}

const LIST = 'GET /api/v1/items?store_id=main'

test('a bucket holds the requests of a minute, and fills evenly', async () => {
  const { now, pass } = createClock()
  const limiter = createRateLimiter(6, now)
  const take = () => limiter.consume('a') as Consumption

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
  assert.equal((limiter.consume('b') as Consumption).remaining, 5)
  pass(9.5)
  assert.deepEqual(take(), { isAllowed: false, remaining: 0, seconds: 1 })
  pass(0.5)
  assert.equal(take().isAllowed, true)
  assert.equal(take().isAllowed, false)
  pass(600)
  assert.equal(take().remaining, 5)
})

test('after the seconds of Retry-After a request is allowed, whatever the quota', () => {
  const quota = fc.integer({ min: 1, max: 10_000 })
  const waits = fc.array(fc.double({ min: 0, max: 30, noNaN: true }), { maxLength: 50 })
  fc.assert(
    fc.property(quota, waits, (quota, waits) => {
      const { now, pass } = createClock()
      const limiter = createRateLimiter(quota, now)
      const take = () => limiter.consume('a') as Consumption
      for (let i = 0; i < quota; i++) {
        const { isAllowed, remaining } = take()
        assert.deepEqual([isAllowed, remaining], [true, quota - 1 - i])
      }
      for (const wait of waits) {
        pass(wait)
        const { isAllowed, seconds } = take()
        if (isAllowed) continue
        assert.ok(Number.isInteger(seconds) && seconds >= 1 && seconds <= 60)
        pass(seconds)
        assert.equal(take().isAllowed, true)
      }
    }),
    { numRuns: 30 },
  )
})

test('a full limiter drops the keys that were unused for longest', () => {
  const { now } = createClock()
  const limiter = createRateLimiter(2, now, 100)
  const take = (key: string) => limiter.consume(key) as Consumption

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

test('a quota that is not a positive integer is a TypeError', () => {
  for (const quota of [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY]) {
    assert.throws(() => createHandler(memoryTill(), { rateLimit: quota }), TypeError)
    assert.throws(() => createHandler(memoryTill(), { rateLimitAddress: quota }), TypeError)
  }
})

test('without the options nothing is limited, and no rate limit headers are sent', async (t) => {
  const { send, token } = await serveShop(t, { storage: createMemoryStorage() })
  const reply = await send(LIST, { token })
  assert.equal(reply.headers.get('ratelimit'), null)
  assert.equal(reply.headers.get('ratelimit-policy'), null)
})

test('all tokens that an account issues to a user share one limit; over it is 429 with Retry-After', async (t) => {
  const options = { rateLimit: 3 }
  const { till, send, account, project_id } = await serveShop(t, {
    storage: createMemoryStorage(),
    options,
  })
  const issue = (user_id: string) => till.sessions.issue(account, { project_id, user_id })
  const { token } = await issue('player')
  const { token: second } = await issue('player')
  const { token: other } = await issue('other')

  const first = await send(LIST, { token })
  assert.equal(first.headers.get('ratelimit-policy'), '"key";q=3;w=60')
  assert.equal(first.headers.get('ratelimit'), '"key";r=2;t=20')
  await send(LIST, { token: second })
  const missing = await send('GET /api/v1/items/itm_1', { token })
  assert.deepEqual(
    [missing.status, missing.headers.get('ratelimit')?.slice(0, 9)],
    [404, '"key";r=0'],
  )

  const refused = await send(LIST, { token: second })
  assertProblem(refused, 429, 'rate_limited')
  const seconds = Number(refused.headers.get('retry-after'))
  assert.ok(Number.isInteger(seconds) && seconds >= 1 && seconds <= 20, `${seconds}`)
  assert.equal(refused.headers.get('ratelimit'), `"key";r=0;t=${seconds}`)
  assert.equal((await send(LIST, { token: other })).status, 200)
  assertProblem(await send(LIST, { token: 'x' }), 401, 'token_required')
})

test('all keys of an account share one limit, and each address with a public key has its own', async (t) => {
  const options = { rateLimit: 2, trustProxy: true }
  const { send, account_key, public_key } = await serveShop(t, {
    storage: createMemoryStorage(),
    options,
  })
  const from = (address: string) => ({ 'x-forwarded-for': address })
  const TOKEN = 'GET /api/v1/identity/auth/access-token'

  for (const status of [400, 400, 429]) {
    const reply = await send('POST /api/v1/items', {
      account_key,
      json: {},
      headers: from(`10.0.0.${status}`),
    })
    assert.equal(reply.status, status)
  }
  for (const address of ['192.0.2.1', '192.0.2.2']) {
    const headers = from(address)
    const tokens = [
      await send(TOKEN, { public_key, headers }),
      await send(TOKEN, { public_key, headers }),
    ]
    assertProblem(await send(TOKEN, { public_key, headers }), 429, 'rate_limited')
    // Many clients share the tokens of a public key too.
    const { access_token: token } = tokens[0]?.json<{ access_token: string }>() ?? {}
    for (const status of [200, 200, 429]) {
      assert.equal((await send(LIST, { token, headers })).status, status)
    }
  }
})

test('a client with the public key cannot use up the limit of a user by naming that user', async (t) => {
  const options = { rateLimit: 3 }
  const { till, send, url, account, project, token, public_key } = await serveShop(t, {
    storage: createMemoryStorage(),
    options,
  })
  const project_id = project.id
  const issued = await till.sessions.issue(account, { project_id, user_id: 'player' })
  const { access_token } = await till.sessions.accessToken(public_key)
  const attack = (from: string, token: string) => statusFrom(url, from, token)

  // With tokens of this user, of others and of the project, from another address.
  const statuses: number[] = []
  for (const user_id of ['player', 'player', 'player', 'player', 'other', project_id]) {
    const session = await till.sessions.token(public_key, { user_id })
    statuses.push(await attack('127.0.0.2', session.token))
  }
  assert.deepEqual(statuses, [200, 200, 200, 429, 429, 429])

  for (let i = 0; i < 3; i++) assert.equal((await send(LIST, { token })).status, 200)
  assertProblem(await send(LIST, { token: access_token }), 429, 'rate_limited')
  // Issued tokens count by user. Public tokens from the same address do not affect them.
  for (const from of ['127.0.0.1', '127.0.0.2', '127.0.0.3']) {
    assert.equal(await attack(from, issued.token), 200)
  }
  assert.equal(await attack('127.0.0.4', issued.token), 429)
})

test('tokens obtained with a public key count by the /64 network of an IPv6 address', async (t) => {
  const options = { rateLimit: 2, trustProxy: true }
  const { till, send, public_key } = await serveShop(t, { storage: createMemoryStorage(), options })
  const ask = async (address: string, user_id: string) => {
    const { token } = await till.sessions.token(public_key, { user_id })
    return (await send(LIST, { token, headers: { 'x-forwarded-for': address } })).status
  }

  assert.equal(await ask('2001:db8::1', 'a'), 200)
  assert.equal(await ask('2001:db8::ffff:1', 'b'), 200)
  assert.equal(await ask('2001:db8::2', 'c'), 429)
  assert.equal(await ask('2001:db8:0:1::1', 'a'), 200)
})

/** The status of `GET /items` from this loopback address. */
async function statusFrom(url: string, localAddress: string, token: string): Promise<number> {
  const headers = { authorization: `Bearer ${token}` }
  const asked = request(`${url}/api/v1/items?store_id=main`, { localAddress, headers })
  const [response] = (await once(asked.end(), 'response')) as [IncomingMessage]
  response.resume()
  return response.statusCode ?? 0
}

test('the address limit applies before the credential is verified, against key guessing', async (t) => {
  const options = { rateLimitAddress: 3, rateLimit: 100 }
  const { send, token } = await serveShop(t, { storage: createMemoryStorage(), options })

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

test('the client address is that of the connection, or the last entry of a trusted proxy', async (t) => {
  const rows: [trustProxy: boolean, headers: string[], bucket: string][] = [
    [false, [], 'connection'],
    [false, ['x-forwarded-for: 192.0.2.1'], 'connection'],
    [true, [], 'connection'],
    [true, ['x-forwarded-for: unknown'], 'connection'],
    [true, ['x-forwarded-for: 192.0.2.1, '], 'connection'],
    [true, ['x-forwarded-for: 192.0.2.1'], '1'],
    [true, ['x-forwarded-for: 198.51.100.7,192.0.2.1:4711'], '1'],
    [true, ['x-forwarded-for: 198.51.100.7', 'X-Forwarded-For: evil, ::ffff:192.0.2.1'], '1'],
    [true, ['x-forwarded-for: 2001:db8:0:1::1'], '6'],
    [true, ['x-forwarded-for: [2001:DB8::1:a:b:c:d]:4711'], '6'],
    [true, ['x-forwarded-for: 2001:0db8:0000:0001:ffff:ffff:ffff:ffff'], '6'],
    [true, ['x-forwarded-for: 2001:db8::1'], 'other network'],
    [true, ['x-forwarded-for: ::1'], 'loopback'],
  ]
  for (const trustProxy of [false, true]) {
    const options = { rateLimitAddress: 100, trustProxy }
    const { url } = await startServer(t, { storage: createMemoryStorage(), options })
    const client = await connectTo(url)
    t.after(() => client.socket.destroy())
    const taken = new Map<string, number>()
    for (const [trusts, headers, bucket] of rows) {
      if (trusts !== trustProxy) continue
      client.write(rawRequest(LIST, headers))
      const reply = await client.reply()
      const left = /r=(\d+)/.exec(reply.headers.get('ratelimit') ?? '')?.[1]
      taken.set(bucket, (taken.get(bucket) ?? 0) + 1)
      assert.equal(100 - Number(left), taken.get(bucket), headers.join())
    }
  }
})

test('behind several proxies the client address is the entry of the outermost', async (t) => {
  const rows: [hops: number, headers: string[], address: string][] = [
    [1, ['x-forwarded-for: 198.51.100.1, 198.51.100.2, 198.51.100.3'], '198.51.100.3'],
    [2, ['x-forwarded-for: 198.51.100.1, 198.51.100.2, 198.51.100.3'], '198.51.100.2'],
    [3, ['x-forwarded-for: 198.51.100.1, 198.51.100.2, 198.51.100.3'], '198.51.100.1'],
    [2, ['x-forwarded-for: 198.51.100.1', 'x-forwarded-for: 198.51.100.2:80'], '198.51.100.1'],
    [2, ['x-forwarded-for: 198.51.100.2'], '198.51.100.2'],
    [2, ['x-forwarded-for: ,198.51.100.2'], '127.0.0.1'],
    [2, ['x-forwarded-for: nobody,198.51.100.2'], '127.0.0.1'],
    [2, [], '127.0.0.1'],
  ]
  for (const trustProxy of [1, 2, 3]) {
    const options = { trustProxy }
    const { connect, entryOf } = await startServer(t, { storage: createMemoryStorage(), options })
    for (const [hops, headers, address] of rows) {
      if (hops !== trustProxy) continue
      const client = await connect()
      client.write(rawRequest('GET /healthz', headers))
      const id = (await client.reply()).headers.get('x-request-id') ?? ''
      assert.equal((await entryOf(id)).client, address, `${hops} ${headers}`)
    }
  }
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
      const request = { socket: {} } as IncomingMessage
      remembered.add(networkOf(clientAddress(request, { forwarded_for } as RequestHeaders, 1)))
    }
  }

  collect()
  const grown = process.memoryUsage().heapUsed - before
  assert.ok(remembered.size > 2_000)
  assert.ok(grown < 8 * 1024 ** 2, `${grown} bytes for ${remembered.size} addresses`)
})
