import assert from 'node:assert/strict'
import { createTill, type Till } from '../../lib/index.ts'
import { testOnEach as test } from '../support/databases.ts'
import { createShop, failureOf, fileOf, openStorage } from '../support/till.ts'

const HEADER = 'transaction_id,sku,purchased_at,price,currency\n'
const SALE = { sku: 'gold', purchased_at: '2026-01-31T12:00:00Z', price: 499, currency: 'USD' }

/** A shop with a second live store `side` and a sandbox store `sandbox`, each with an item `gold`. */
async function createStores(till: Till) {
  const shop = await createShop(till)
  const { account, project_id } = shop
  for (const store_id of ['side', 'sandbox']) {
    const is_sandbox = store_id === 'sandbox'
    await till.stores.create(account, { project_id, store_id, store_type: 'web', is_sandbox })
    const gold = { name: 'gold', display_name: 'Gold', price: '499', type: 'consumable' } as const
    await till.items.create(account, { store_id, ...gold })
  }
  return shop
}

test('one is found by its id in the stores of its account while it is stored', async () => {
  const till = createTill({ storage: await openStorage() })
  const { account } = await createStores(till)
  const { account: other } = await createShop(till, 'Other')
  for (const store_id of ['main', 'side']) {
    await till.purchases.record(account, { store_id, transaction_id: 'T-1', ...SALE })
  }
  await till.purchases.record(account, { store_id: 'main', transaction_id: 'T-2', ...SALE })
  await till.purchases.record(other, { store_id: 'main', transaction_id: 'T-1', ...SALE })
  const find = async (query: object) => {
    const { purchases } = await till.purchases.list(account, query)
    return purchases.map(({ store_id, transaction_id }) => `${store_id} ${transaction_id}`)
  }

  assert.deepEqual(await find({ transaction_id: 'T-1' }), ['main T-1', 'side T-1'])
  assert.deepEqual(await find({ transaction_id: 'T-1', store_id: 'side' }), ['side T-1'])
  assert.deepEqual(await find({ transaction_id: 'T-1', status: 'refunded' }), [])
  assert.deepEqual(await find({ transaction_id: 'T-9' }), [])
  const foreign = { transaction_id: 'T-1', store_id: 'nowhere' }
  assert.equal((await failureOf(till.purchases.list(account, foreign))).code, 'invalid_request')
  const neither = await failureOf(till.purchases.list(account, {}))
  assert.deepEqual(neither.details[0]?.field, 'store_id')

  // Not while its import runs, nor after the import is undone.
  const counts: number[] = []
  const count = async () => counts.push((await find({ transaction_id: 'T-3' })).length)
  async function* file() {
    yield Buffer.from(`${HEADER}T-3,gold,2026-01-31T12:00:00Z,499,USD\n`)
    yield Buffer.from(`T-4,gold,2026-01-31T12:00:00Z,499,USD\n`.repeat(2_000))
    await count()
  }
  const { import_id } = await till.purchases.import(account, { store_id: 'main', file: file() })
  await count()
  await till.imports.undo(account, { import_id })
  await count()
  assert.deepEqual(counts, [0, 1, 0])
})

test('an order id finds the purchases of the order in each store that has no purchase with that id', async () => {
  const till = createTill({ storage: await openStorage() })
  const { account } = await createStores(till)
  const record = (store_id: string, transaction_id: string, more = {}) =>
    till.purchases.record(account, { store_id, transaction_id, ...SALE, ...more })
  for (const id of ['GPA.1/gold', 'GPA.1/b', 'GPA.1..0/gold', 'GPA.10/gold', 'GPA.1-/gold']) {
    await record('main', id)
  }
  for (const id of ['GPA.1', 'GPA.1/gold']) await record('side', id)
  const find = async (query: object) => {
    const { purchases } = await till.purchases.list(account, query)
    return purchases.map(({ store_id, transaction_id }) => `${store_id} ${transaction_id}`)
  }
  const id = { transaction_id: 'GPA.1' }

  assert.deepEqual(await find(id), ['main GPA.1/b', 'main GPA.1/gold', 'side GPA.1'])
  const { next: cursor } = await till.purchases.list(account, { ...id, limit: 1 })
  assert.deepEqual(await find({ ...id, cursor, limit: 1 }), ['main GPA.1/gold'])
  assert.deepEqual(await find({ ...id, cursor }), ['main GPA.1/gold', 'side GPA.1'])
  assert.deepEqual(await find({ ...id, store_id: 'sandbox' }), [])
  assert.deepEqual(await find({ transaction_id: 'GPA' }), [])
  assert.deepEqual(await find({ transaction_id: 'GPA.1/' }), [])

  // The other filters still hold, and do not turn a purchase into an order.
  await record('main', 'GPA.1/b', { status: 'refunded' })
  assert.deepEqual(await find({ ...id, status: 'refunded' }), ['main GPA.1/b'])
  assert.deepEqual(await find({ ...id, status: 'refunded', store_id: 'side' }), [])
})

test('sums leave sandbox stores out, unless they are asked for', async () => {
  const till = createTill({ storage: await openStorage() })
  const { account } = await createStores(till)
  for (const store_id of ['main', 'side', 'sandbox']) {
    const file = fileOf(HEADER, 'T-1,gold,2026-01-31T12:00:00Z,499,USD\n')
    await till.purchases.import(account, { store_id, file })
  }
  const sums = async (query: object) => {
    const groups = await till.purchases.summarize(account, { by: ['store'], ...query })
    return groups.map(({ store_id, revenue }) => `${store_id} ${revenue}`)
  }

  assert.deepEqual(await sums({}), ['main 499', 'side 499'])
  assert.deepEqual(await sums({ sandbox: true }), ['sandbox 499'])
  assert.deepEqual(await sums({ store_id: 'sandbox' }), ['sandbox 499'])
  const both = till.purchases.summarize(account, { store_id: 'main', sandbox: true })
  assert.equal((await failureOf(both)).details[0]?.field, 'sandbox')
})

test('an account and its first project are created together', async () => {
  const till = createTill({ storage: await openStorage() })
  const first = { name: 'Game', bundle_id: 'com.example.game', platform: 'mobile' }
  const bad = till.accounts.create({ name: 'Studio', project: { ...first, bundle_id: 'game' } })
  assert.equal((await failureOf(bad)).details[0]?.field, 'project.bundle_id')
  assert.deepEqual((await till.accounts.list()).accounts, [])

  const input = { name: 'Studio', project: first }
  const { project, account_key, ...account } = await till.accounts.create(input)

  assert.equal((await till.projects.authenticate(project?.public_key)).id, project?.id)
  assert.equal((await till.accounts.authenticate(account_key)).account_id, account.account_id)
  const { entries } = await till.accounts.listAudit(account)
  const actions = entries.map(({ action }) => action).sort()
  assert.deepEqual(actions, ['account.create', 'project.create'])
})
