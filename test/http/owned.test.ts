import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { createClient } from '../../client/index.ts'
import { assertProblem, serveShop } from '../support/server.ts'

const OWNED = 'GET /api/v1/purchases/owned?store_id=main'

async function startOwner(t: TestContext) {
  const shop = await serveShop(t)
  const { till, account, project_id } = shop
  const { token } = await till.sessions.issue(account, { project_id, user_id: 'player' })
  const record = (transaction_id: string, more: object = {}) =>
    till.purchases.record(account, {
      ...{ store_id: 'main', transaction_id, sku: 'gold', user_id: 'player' },
      ...{ purchased_at: '2026-01-31T12:00:00Z', ...more },
    })
  return { ...shop, token, publicToken: shop.token, record }
}

test('only a user with a token of the account reads what it owns, and no cache keeps the answer', async (t) => {
  const { send, token, publicToken, record } = await startOwner(t)
  await record('t-1')
  await record('t-2', { user_id: 'other' })

  const reply = await send(OWNED, { token })

  const at = '2026-01-31T12:00:00.000Z'
  const gold = { sku: 'gold', type: 'consumable', display_name: 'Gold', quantity: 1 }
  const owned = [{ ...gold, first_purchased_at: at, last_purchased_at: at }]
  assert.deepEqual([reply.status, reply.json()], [200, { owned }])
  assert.equal(reply.headers.get('cache-control'), 'no-store')
  assert.equal(reply.headers.get('etag'), null)
  const refused = await send(OWNED, { token: publicToken })
  assertProblem(refused, 401, 'insufficient_scope')
  assert.match(refused.headers.get('www-authenticate') ?? '', /insufficient_scope/)
})

test('the client pages through what its user owns', async (t) => {
  const { url, token, account, till, record } = await startOwner(t)
  const gem = { name: 'gem', display_name: 'Gem', price: '1', type: 'consumable' } as const
  await till.items.create(account, { store_id: 'main', ...gem })
  await record('t-1')
  await record('t-2', { sku: 'gem' })
  const { purchases } = createClient({
    url,
    getToken: async () => ({ token, expires_in_seconds: 60 }),
  })

  const first = await purchases.owned({ store_id: 'main', limit: 1 })
  const second = await purchases.owned({ store_id: 'main', limit: 1, cursor: first.next })

  assert.deepEqual([first.owned[0]?.sku, first.next], ['gem', 'gem'])
  assert.deepEqual([second.owned[0]?.sku, second.next], ['gold', undefined])
})
