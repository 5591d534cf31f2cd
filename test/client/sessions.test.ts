import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createClient } from '../../client/index.ts'
import { type Faulty, start } from '../support/client/shop.ts'
import { createSignal } from '../support/server.ts'

const HOUR = 3_600_000
const TOKEN = 'POST /identity/auth/token'

/** The time, also while a test replaces `Date.now`. */
const now = () => performance.timeOrigin + performance.now()

function countOf(proxy: Faulty, line: string): number {
  return proxy.lines().filter((each) => each.startsWith(line)).length
}

test('calls at the same time open one session, and share one renewal after 401', async (t) => {
  let skew = 0
  const { client, proxy, shop } = await start(t, { now: () => now() + skew })
  const till = client()
  const twenty = () => Promise.all(Array.from({ length: 20 }, () => till.items.get(shop.item.id)))
  assert.deepEqual(proxy.lines(), [])

  await twenty()
  assert.equal(countOf(proxy, TOKEN), 1)
  skew = 2 * HOUR
  const items = await twenty()
  await till.items.get(shop.item.id)

  assert.ok(items.every(({ name }) => name === 'gold'))
  assert.equal(countOf(proxy, TOKEN), 2)
})

test('a 401 that arrives after the renewal of another call renews nothing', async (t) => {
  const { client, proxy, shop } = await start(t)
  const till = client()
  const { id } = shop.item
  await till.items.get(id)
  const refusal = await fetch(`${proxy.url}/api/v1/items/${id}`)
  const problem = { status: 401, body: await refusal.text() }
  const late = createSignal()
  proxy.fail('GET /items?', { ...problem, after: late.given })
  proxy.fail(`GET /items/${id}`, problem)

  const slow = till.items.list({ store_id: 'main' })
  await till.items.get(id)
  late.give()
  await slow

  assert.equal(countOf(proxy, TOKEN), 2)
})

test('a token is renewed before it expires', async (t) => {
  const { client, proxy, shop } = await start(t, { now })
  const till = client()
  let passed = 0
  t.mock.method(Date, 'now', () => now() + passed)
  await till.items.get(shop.item.id)
  passed = HOUR - 90_000
  await till.items.get(shop.item.id)
  assert.equal(countOf(proxy, TOKEN), 1)

  passed = HOUR - 59_000
  await till.items.get(shop.item.id)

  assert.equal(countOf(proxy, TOKEN), 2)
  assert.equal(shop.log.filter(({ status }) => status === 401).length, 0)
})

test('the clocks of client and server may differ by a day', async (t) => {
  for (const skew of [-24 * HOUR, 24 * HOUR]) {
    const { client, proxy, shop } = await start(t, { now: () => now() + skew })
    const till = client()
    for (let i = 0; i < 3; i++) await till.items.get(shop.item.id)
    assert.equal(countOf(proxy, TOKEN), 1)
  }
})

test('a second 401 is thrown', async (t) => {
  const { client, proxy, shop } = await start(t)
  const till = client()
  await till.items.get(shop.item.id)
  const problem = { status: 401, body: '{"code":"token_required","detail":"A token is required"}' }
  proxy.fail('GET /items', problem, problem)

  await assert.rejects(till.items.get(shop.item.id), { code: 'token_required', status: 401 })
  assert.equal(countOf(proxy, TOKEN), 2)

  await shop.till.projects.update(shop.account, { id: shop.project.id, status: 'disabled' })
  await assert.rejects(till.items.get(shop.item.id), { code: 'project_inactive', status: 400 })
})

test('tokens can come from the account, and are asked for again after a 401', async (t) => {
  const { proxy, client, shop } = await start(t)
  const { account, project_id, item } = shop
  const issue = t.mock.fn((scopes?: ['items:read']) =>
    shop.till.sessions.issue(account, { project_id, user_id: 'p', scopes }),
  )
  const till = createClient({ url: proxy.url, getToken: () => issue() })
  await till.items.get(item.id)
  await shop.till.sessions.revoke(account, { project_id })

  await till.items.get(item.id)
  await till.items.get(item.id)

  assert.equal(issue.mock.callCount(), 2)
  assert.equal(countOf(proxy, 'POST'), 0)
  // A token without the scope is not renewed.
  proxy.requests.length = 0
  const reader = client({ getToken: () => issue(['items:read']) })
  const change = reader.projects.update({ id: project_id, name: 'Other' })
  await assert.rejects(change, { code: 'insufficient_scope' })
  assert.deepEqual(proxy.lines(), ['PUT /projects'])
  for (const grant of [undefined, 'eyJ', { token: 'eyJ' }, { expires_in_seconds: 60 }]) {
    const wrong = client({ getToken: async () => grant as never })
    await assert.rejects(wrong.items.get('itm_1'), /TypeError: getToken must return/)
  }
})

test('a call uses the token of a session that the program opened', async (t) => {
  const { client, proxy, shop } = await start(t)
  const till = client()

  await till.sessions.init()
  await till.items.get(shop.item.id)

  assert.deepEqual(proxy.lines(), ['POST /identity/auth/init', `GET /items/${shop.item.id}`])
})

test('the call that is aborted does not abort the renewal of the others', async (t) => {
  const { client, proxy, shop } = await start(t)
  const till = client()
  const opening = createSignal()
  proxy.fail(TOKEN, { after: opening.given })
  const controller = new AbortController()

  const first = till.items.get(shop.item.id, { signal: controller.signal })
  const second = till.items.get(shop.item.id)
  controller.abort()

  await assert.rejects(first, { name: 'AbortError' })
  opening.give()
  assert.equal((await second).name, 'gold')
  assert.equal(countOf(proxy, TOKEN), 1)
})

test('a session that could not be opened is opened by the next call', async (t) => {
  const { client, proxy, shop } = await start(t)
  const till = client({ attempts: 1 })
  proxy.fail(TOKEN, 'refused')
  const get = () => till.items.get(shop.item.id)

  const codes = await Promise.allSettled([get(), get()])

  for (const each of codes)
    assert.equal(each.status === 'rejected' && each.reason.code, 'network_error')
  assert.equal((await get()).name, 'gold')
})
