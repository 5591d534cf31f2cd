import assert from 'node:assert/strict'
import { test } from 'node:test'
import { start } from '../support/client/shop.ts'
import { pluck } from '../support/collect.ts'
import { eventuallyHolds } from '../support/eventually.ts'

const ITEM = { store_id: 'main', display_name: 'Sword', price: '499', type: 'consumable' } as const
const CSV = 'transaction_id,sku,purchased_at\nT-1,gold,2026-01-31T12:00:00Z\n'

test('reads and new sessions survive dropped connections and failing proxies', async (t) => {
  const { client, proxy, shop } = await start(t)
  proxy.fail('POST /identity/auth/token', 'refused', 'lost')
  const till = client()
  const statuses = [502, 503, 504].map((status) => ({ status }))
  for (const fault of ['refused', 'lost', ...statuses] as const) {
    proxy.fail('GET /items', fault)
    assert.equal((await till.items.get(shop.item.id)).name, 'gold')
  }
})

test('a create whose answer was lost creates one record', async (t) => {
  const { creator, proxy, shop } = await start(t)
  const studio = creator()
  proxy.fail('POST /items', 'lost', 'refused')

  const item = await studio.items.create({ ...ITEM, name: 'sword' })
  const other = await studio.items.create({ ...ITEM, name: 'shield' }, { idempotencyKey: 'mine' })

  const { items } = await shop.till.items.list(shop.account, { store_id: 'main' })
  assert.deepEqual(pluck(items, 'id'), [shop.item.id, item.id, other.id])
  const keys = proxy.requests.map(({ headers }) => headers['idempotency-key'])
  assert.deepEqual(keys, [keys[0], keys[0], keys[0], 'mine'])
  assert.match(String(keys[0]), /^[\da-f]{32}$/)
})

test('a change and an import are repeated only if the server refused them', async (t) => {
  const { client, proxy, shop } = await start(t)
  const till = client()
  const change = () => till.projects.update({ id: shop.project.id, name: 'Other' })
  const importFile = () => till.purchases.import({ store_id: 'main', file: CSV })
  const refusals = [{ status: 503, headers: { 'retry-after': '0' } }, { status: 429 }]
  proxy.fail('PUT', ...refusals)
  proxy.fail('POST /purchases', ...refusals)

  assert.equal((await change()).name, 'Other')
  assert.equal((await importFile()).rows, 1)

  for (const fault of ['lost', { status: 502 }] as const) {
    const before = proxy.requests.length
    const code = fault === 'lost' ? 'network_error' : 'unexpected_answer'
    proxy.fail('PUT', fault)
    proxy.fail('POST /purchases', fault)
    await assert.rejects(change(), { code })
    await assert.rejects(importFile(), { code })
    assert.equal(proxy.requests.length, before + 2)
  }
})

test('a client waits as long as Retry-After says, but not for an hour', async (t) => {
  const { client, proxy, shop } = await start(t, { options: { rateLimit: 60 } })
  const till = client()
  const { id } = shop.item
  await till.items.get(id)
  let status = 200
  while (status !== 429) status = (await shop.send(`GET /api/v1/items/${id}`, shop)).status

  // All attempts of a client that waits less than a second fail.
  assert.equal((await till.items.get(id)).name, 'gold')

  const body = '{"code":"overloaded","detail":"There is too much to do"}'
  const date = new Date(Date.now() + 3_600_000).toUTCString()
  for (const value of ['3600', date]) {
    proxy.fail('GET /items', { status: 503, headers: { 'retry-after': value }, body })
    await assert.rejects(till.items.get(id), ({ retryAfter = 0 }) => retryAfter > 3500)
  }
})

test('the number of attempts has a limit', async (t) => {
  const { client, proxy, shop } = await start(t)
  const till = client({ attempts: 2 })
  await till.sessions.token()
  proxy.fail('GET /items', 'refused', 'refused', 'refused')

  await assert.rejects(till.items.get(shop.item.id), (error: { code: string; cause?: unknown }) => {
    assert.equal(error.code, 'network_error')
    assert.ok(error.cause instanceof Error)
    return true
  })
  assert.equal(proxy.requests.length, 1 + 2)
})

test('an attempt without an answer in time is repeated', async (t) => {
  const { client, proxy, shop } = await start(t)
  const till = client()
  await till.sessions.token()
  proxy.fail('GET /items', 'hung')
  assert.equal((await till.items.get(shop.item.id, { timeout: 500 })).name, 'gold')

  proxy.fail('GET /items', 'hung')
  const impatient = client({ timeout: 50, attempts: 1, getToken: () => till.sessions.token() })
  await assert.rejects(impatient.items.get(shop.item.id), { code: 'timeout', status: 0 })
  const hurried = client({ timeout: 1, attempts: 1, getToken: () => till.sessions.token() })
  await hurried.purchases.import({ store_id: 'main', file: CSV }) // an upload has an hour
})

test('a signal ends a call before, during and between its attempts', async (t) => {
  const { client, proxy, shop } = await start(t)
  const till = client()
  const reason = new Error('the page was closed')
  const signal = AbortSignal.abort(reason)
  await assert.rejects(till.items.get(shop.item.id, { signal }), reason)
  assert.deepEqual(proxy.requests, [])

  await till.sessions.token()
  const unavailable = { status: 503, headers: { 'retry-after': '60' } }
  for (const fault of ['hung', unavailable] as const) {
    const controller = new AbortController()
    const count = proxy.requests.length
    proxy.fail('GET /items', fault)
    const ended = assert.rejects(
      till.items.get(shop.item.id, { signal: controller.signal }),
      reason,
    )
    await eventuallyHolds(() => assert.equal(proxy.requests.length, count + 1))
    controller.abort(reason)
    await ended
  }
})

test('an answer that has not changed comes from the cache', async (t) => {
  const { client, shop } = await start(t)
  const till = client()
  for (const name of ['b', 'c']) {
    await shop.till.items.create(shop.account, { ...ITEM, name })
  }
  const read = async () => [
    await till.items.get(shop.item.id),
    await till.items.list({ store_id: 'main', limit: 2 }),
    await till.items.list({ store_id: 'main' }),
  ]
  const statuses = () => {
    const reads = shop.log.splice(0).filter(({ method }) => method === 'GET')
    return pluck(reads, 'status')
  }

  const first = await read()
  assert.deepEqual(statuses(), [200, 200, 200])
  const second = await read()
  assert.deepEqual(statuses(), [304, 304, 304])
  assert.deepEqual(second, first)
  assert.notEqual(second[0], first[0]) // a program may change what it got

  await shop.till.items.update(shop.account, { id: shop.item.id, price: '599' })
  const [item] = await read()
  assert.deepEqual(statuses(), [200, 200, 200])
  assert.equal(item && 'price' in item && item.price, 599)
})

test('an answer of more than a million characters is cached by default', async (t) => {
  const { client, proxy, shop } = await start(t)
  const meta = { text: 'x'.repeat(60_000) }
  for (let i = 0; i < 20; i++) {
    await shop.till.items.create(shop.account, { ...ITEM, name: `item_${i}`, meta })
  }
  const till = client()
  proxy.requests.length = 0

  const { items } = await till.items.list({ store_id: 'main' })
  await till.items.list({ store_id: 'main' })

  assert.ok(JSON.stringify(items).length > 1_000_000)
  assert.ok('if-none-match' in (proxy.requests.at(-1)?.headers ?? {}))
})

test('the cache has a limit', async (t) => {
  const { client, proxy, shop } = await start(t)
  const ids = [shop.item.id]
  for (const name of ['b', 'c', 'd']) {
    ids.push((await shop.till.items.create(shop.account, { ...ITEM, name })).id)
  }
  const conditional = async (cacheSize: number, ...reads: string[]) => {
    const till = client({ cacheSize })
    proxy.requests.length = 0
    for (const id of reads) await till.items.get(id)
    return proxy.requests.slice(1).map(({ headers }) => 'if-none-match' in headers)
  }
  const [a = '', b = '', c = '', d = ''] = ids

  assert.deepEqual(await conditional(0, a, a), [false, false])
  // Two entries fit. The one that was not used for the longest time makes room.
  const expected = [false, false, true, false, false, false]
  assert.deepEqual(await conditional(1_000, a, b, a, c, d, a), expected)
})
