// run: early, soak
import assert from 'node:assert/strict'
import { bodies, OK, testHooks as test, typesOf, URL } from '../support/storage/hooks.ts'
import { fileOf } from '../support/till.ts'

const OTHER_URL = 'https://evil.example.com/'

test('each kind of change creates its event, without secrets and erased users', async (hooks) => {
  const { till, account, project_id, endpoint_id } = hooks
  const store_id = 'main'
  await till.projects.update(account, { id: project_id, name: 'New name' })
  await till.stores.update(account, { store_id, is_sandbox: true })
  const gem = await hooks.newItem('gem')
  await till.items.update(account, { id: gem.id, price: '599' })
  await till.items.archive(account, gem.id)
  await till.items.restore(account, gem.id)
  const load = (status: string) => {
    const header = 'transaction_id,sku,purchased_at,user_id,status\n'
    const file = fileOf(`${header}t1,gem,2026-01-01T00:00:00Z,ann,${status}\n`)
    return till.purchases.import(account, { store_id, file })
  }
  await load('purchased')
  const { import_id } = await load('refunded')
  await till.purchases.record(account, {
    ...{ store_id, transaction_id: 't2', sku: 'gem', user_id: 'bob' },
    purchased_at: '2026-01-02T00:00:00Z',
  })
  await till.webhooks.test(account, endpoint_id)
  const coin = { name: 'coin', display_name: 'Coin', price: '1', type: 'consumable' as const }
  const stores = [
    { store_id: 'main', is_sandbox: false, items: [coin] },
    { store_id: 'new', store_type: 'web' as const, items: [] },
  ]
  await till.catalog.apply(account, { project_id, catalog: { stores }, create_stores: true })

  const found = bodies(await hooks.claimSome(14))

  const byType = (type: string) => found.find((each) => each.type === type)
  assert.deepEqual(found.map(({ type }) => type).sort(), [
    ...['item.archived', 'item.created', 'item.created', 'item.restored', 'item.updated'],
    ...['project.updated', 'purchase.recorded', 'purchases.imported', 'purchases.imported'],
    ...['purchases.refunded', 'store.created', 'store.updated', 'store.updated', 'webhook.test'],
  ])
  assert.deepEqual(byType('item.updated').data.change.price, { old: 499, new: 599 })
  const { user_id, sku } = byType('purchase.recorded').data
  assert.deepEqual([user_id, sku], ['bob', 'gem'])
  const refunded = byType('purchases.refunded')
  assert.deepEqual(refunded.data, {
    ...{ store_id, import_id },
    purchases: [{ transaction_id: 't1', user_id: 'ann', sku: 'gem', status: 'refunded' }],
  })
  assert.equal(refunded.part, 1)
  assert.doesNotMatch(JSON.stringify(found), /whsec_/)

  await till.imports.undo(account, { import_id })
  await till.users.erase(account, { project_id, user_id: 'ann' })
  const later = await hooks.claimSome(2)
  assert.deepEqual(typesOf(later), ['purchases.undone', 'user.erased'])
  for (const { data } of bodies(later)) assert.doesNotMatch(JSON.stringify(data), /"ann"/)
})

test('a URL that a session sets receives nothing until the account confirms it', async (hooks) => {
  const { till, account, endpoint_id } = hooks
  await hooks.configureBySession({})
  await hooks.configure({ theme: 'dark' }) // neither of the two stops the endpoint
  await hooks.configureBySession({ webhook_url: OTHER_URL })
  // Changes of the secret do not confirm the URL.
  await hooks.configure({ webhook_url: OTHER_URL, webhook_secret: 'a new secret' })
  await hooks.configure({ webhook_url: OTHER_URL, webhook_secret: null })
  await hooks.newItem('gem')

  const found = await hooks.claimSome(6)

  assert.ok(found.every(({ url }) => url === URL))
  await hooks.settle(found, OK)
  assert.equal((await hooks.get()).unconfirmed_url, OTHER_URL)
  const wrong = till.webhooks.confirm(account, { endpoint_id, url: URL })
  await assert.rejects(wrong, { code: 'invalid_request' })
  await till.webhooks.confirm(account, { endpoint_id, url: OTHER_URL })
  await hooks.newItem('coin')
  const [message] = await hooks.claimSome(1)
  assert.equal(message?.url, OTHER_URL)
  assert.equal(message?.headers['webhook-signature'], undefined, 'the secret is not inherited')
})
