import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type TestContext, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { eventuallyHolds } from '../support/eventually.ts'
import { createGatedStorage } from '../support/gated.ts'
import {
  assertProblem,
  createSignal,
  eventually,
  type RawClient,
  rawRequest,
  serveShop,
  startServer,
  type TestServerOptions,
} from '../support/server.ts'
import { soakOnly } from '../support/soak.ts'

const LIST = 'GET /api/v1/items?store_id=main'

test('reads over the limit are 503 at once, and accepted ones are answered', async (t) => {
  const { storage, waiting, open } = createGatedStorage()
  const limits = { readsInFlight: 3, accountShare: 100 }
  const options = { metrics: true }
  const shop = await serveShop(t, { storage, limits, options })
  const { connect, send, account, token, withToken } = shop
  const accepted: RawClient[] = []
  for (let i = 0; i < 3; i++) {
    const client = await connect(rawRequest(LIST, [withToken]))
    accepted.push(client)
  }
  await eventually(() => waiting() === 3 || undefined, 'three requests in flight')

  // Before a credential is verified.
  for (const bearer of [token, 'x', undefined]) {
    const refused = await send(LIST, { token: bearer })
    assertProblem(refused, 503, 'overloaded')
    assert.equal(refused.headers.get('retry-after'), '1')
  }
  // Does not affect writes, the operator's routes, and unknown routes.
  const { account_key } = account
  assert.equal((await send('POST /api/v1/items', { account_key, json: {} })).status, 400)
  const { text } = await send('GET /metrics')
  assert.match(text, /^tillkit_http_requests_in_flight\{kind="reads"\} 3$/m)
  for (const path of ['/healthz', '/readyz']) assert.equal((await send(`GET ${path}`)).status, 200)
  assert.equal((await send('GET /nowhere')).status, 404)
  open()
  for (const client of accepted) assert.equal((await client.reply()).status, 200)
  assert.equal((await send(LIST, { token })).status, 200)
})

/** A server of a store whose list is longer than one page and than the buffers of a connection. */
async function serveLongList(t: TestContext, limits: TestServerOptions['limits'] = {}) {
  const shop = await serveShop(t, { limits })
  const metadata = { text: 'x'.repeat(12_000) }
  const ids = Array.from({ length: 1_100 }, (_, i) => `itm_gold_${i}`)
  for (const id of ids) await shop.storage.insertItem({ ...shop.item, id, name: id, metadata })
  return shop
}

test('a slow reader of a long list does not block others', { skip: soakOnly }, async (t) => {
  const limits = { readsInFlight: 1, answerTimeout: 3_600_000 }
  const { connect, send, token, withToken, item } = await serveLongList(t, limits)
  const slow: RawClient[] = []

  for (let i = 0; i < 3; i++) {
    const client = await connect(rawRequest(LIST, [withToken]))
    await once(client.socket, 'data')
    client.socket.pause()
    slow.push(client)
    // Until its buffer is full, the slow list reads further pages.
    await eventuallyHolds(async () => {
      assert.equal((await send(`GET /api/v1/items/${item.id}`, { token })).status, 200)
    })
  }

  for (const { socket } of slow) socket.resume()
  await eventuallyHolds(async () => {
    const { items } = (await send(LIST, { token })).json<{ items?: object[] }>()
    assert.equal(items?.length, 1_101)
  })
})

test('a client that reads nothing of a long list, or resets it, is disconnected without a fault', {
  timeout: 20_000,
}, async (t) => {
  for (const [id, limits] of [
    ['stuck', { answerTimeout: 50 }],
    ['reset', {}],
  ] as const) {
    const { connect, entryOf, withToken } = await serveLongList(t, limits)
    const client = await connect(rawRequest(LIST, [withToken, `x-request-id: ${id}`]))
    await once(client.socket, 'data')
    client.socket.pause()
    await setTimeout(20)
    if (id === 'reset') client.socket.resetAndDestroy()

    const { status, level } = await entryOf(id)
    assert.deepEqual([status, level], [499, 'info'])
  }
})

test('a disconnect before 100 Continue releases the limit at once', async (t) => {
  const limits = { writesInFlight: 1, jsonTimeout: 3_600_000 }
  const shop = await serveShop(t, { limits })
  const { storage, connect, send, entryOf, account_key, withKey } = shop
  const { findAccountByKeyHash } = storage.stale
  const judging = createSignal()
  const verified = createSignal()
  Object.assign(storage.stale, {
    findAccountByKeyHash: async (hash: string) => {
      judging.give()
      await verified.given
      return findAccountByKeyHash(hash)
    },
  })
  const client = await connect()
  const head = [withKey, 'content-length: 100', 'x-request-id: gone']
  client.write(rawRequest('POST /api/v1/items', head))
  await judging.given

  client.socket.resetAndDestroy()
  await setTimeout(20) // until the server has noticed
  verified.give()

  const { status, level } = await entryOf('gone')
  assert.deepEqual([status, level], [499, 'info'])
  assert.equal((await send('POST /api/v1/items', { account_key, json: {} })).status, 400)
})

test('connections over the limit are closed until another one closes', async (t) => {
  const options = { metrics: true }
  const { connect } = await startServer(t, { options, limits: { connections: 3 } })
  const [first, , last] = [await connect(), await connect(), await connect()]
  const ask = (client: RawClient, path: string) => {
    client.write(rawRequest(`GET ${path}`, []))
    return client.reply()
  }
  assert.equal((await ask(first, '/healthz')).status, 200)

  const extra = await connect()
  assert.equal(await extra.ended, '')

  const { text } = await ask(first, '/metrics')
  assert.match(text, /^tillkit_http_connections 3$/m)
  assert.match(text, /^tillkit_http_connections_dropped_total [1-9]/m)
  last.socket.destroy()
  await eventuallyHolds(async () => {
    assert.equal((await ask(await connect(), '/healthz')).status, 200)
  })
})
