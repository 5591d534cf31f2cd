import assert from 'node:assert/strict'
import { pluck } from '../support/collect.ts'
import { testOnEach as test } from '../support/databases.ts'
import { createShop, failureOf, fileOf } from '../support/till.ts'

const GEM = { store_id: 'main', name: 'gem', display_name: 'Gem', price: '99' }
const TYPED = { ...GEM, type: 'consumable' } as const

test('an update of all fields is in the history of the item, newest first', async () => {
  const { till, account, item } = await createShop()
  const { id } = item
  const other = await till.items.create(account, TYPED)
  const texts = { display_name: 'Bar', description: 'of gold' }

  const changed = await till.items.update(account, { id, price: '599', ...texts, meta: { a: 1 } })
  const unchanged = await till.items.update(account, { id, price: '599', ...texts })
  await till.items.update(account, { id: other.id, price: '1' })
  await till.items.archive(account, id)

  assert.deepEqual(changed, { ...item, price: 599, ...texts, metadata: { a: 1 }, version: 2 })
  assert.deepEqual(unchanged, changed)
  const { entries } = await till.items.history(account, { id })
  assert.deepEqual(
    entries.map(({ action, data }) => [action, data?.price]),
    [
      ['item.archive', undefined],
      ['item.update', { old: 499, new: 599 }],
    ],
  )
})

test('an update of a version that is stale is refused', async () => {
  const { till, account, item } = await createShop()
  const stale = till.items.update(account, { id: item.id, price: '1', version: 2 })
  const { code, message } = await failureOf(stale)
  assert.equal(code, 'version_conflict')
  assert.equal(message, 'The item has version 1, not 2: read it again')
})

test('a search finds a text in names and display names', async () => {
  const { till, account, token } = await createShop()
  await till.items.create(account, { ...TYPED, name: 'big_gem', display_name: 'Großer Stein' })
  const gem = await till.items.create(account, TYPED)
  await till.items.archive(account, gem.id)
  const search = async (search: string, more: object = {}) => {
    const query = { store_id: 'main', search, ...more }
    return pluck((await till.items.list(account, query)).items, 'name')
  }

  assert.deepEqual(await search('G'), ['gold', 'big_gem'])
  assert.deepEqual(await search('GROß'), ['big_gem'])
  assert.deepEqual(await search('gem', { archived: true }), ['gem'])
  assert.deepEqual(await search('nothing'), [])
  const first = await till.items.list(account, { store_id: 'main', search: 'g', limit: 1 })
  assert.deepEqual(await search('g', { limit: 1, cursor: first.next }), ['big_gem'])
  assert.equal((await till.items.getByName(account, 'main', 'gem')).id, gem.id)
  const part = till.items.getByName(account, 'main', 'ge')
  await assert.rejects(part, { code: 'item_not_found' })
  const session = await till.sessions.authenticate(token, 'items:read')
  for (const own of [{ search: 'g' }, { archived: true }]) {
    const { details } = await failureOf(till.items.list(session, { store_id: 'main', ...own }))
    assert.deepEqual(details[0]?.field, Object.keys(own)[0])
  }
})

test('an archived item keeps its name, and imports accept its purchases', async () => {
  const { till, account, item } = await createShop()
  const create = () => failureOf(till.items.create(account, { ...TYPED, name: 'gold' }))
  assert.equal((await create()).message, 'name is taken in this store')
  await till.items.archive(account, item.id)

  const { message, details } = await create()

  const archived = 'name is taken by an archived item in this store: restore that item'
  assert.deepEqual([message, details[0]?.code], [archived, 'taken'])
  const file = fileOf('transaction_id,sku,purchased_at\nT-1,gold,2024-03-01T12:34:56Z\n')
  assert.equal((await till.purchases.import(account, { store_id: 'main', file })).added, 1)
})
