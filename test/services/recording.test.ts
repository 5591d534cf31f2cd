import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createMemoryStorage, createTill, type PurchaseInput } from '../../lib/index.ts'
import { collect } from '../support/collect.ts'
import { createShop, failureOf, fileOf } from '../support/till.ts'

const AT = '2024-03-01T12:34:56Z'
const STORED_AT = '2024-03-01T12:34:56.000Z'
const BASIC: PurchaseInput = {
  store_id: 'main',
  transaction_id: 'tx',
  sku: 'gold',
  purchased_at: AT,
}

test('recording a purchase follows the rules of a file, and a repeated call changes nothing', async () => {
  const { till, account } = await createShop()
  const input = { ...BASIC, user_id: 'ann', price: 499, quantity: '2', metadata: { level: 3 } }

  const added = await till.purchases.record(account, input)
  const again = await till.purchases.record(account, { ...input, price: '499' })
  const refunded = await till.purchases.record(account, { ...input, status: 'refunded' })

  assert.ok(added.purchase)
  const { import_id, ...purchase } = added.purchase
  assert.match(import_id, /^rec_/)
  assert.deepEqual(purchase, {
    store_id: 'main',
    transaction_id: 'tx',
    sku: 'gold',
    purchased_at: STORED_AT,
    user_id: 'ann',
    quantity: 2,
    price: 499,
    currency: 'USD',
    status: 'purchased',
    metadata: { level: 3 },
  })
  assert.deepEqual(again, { outcome: 'skipped', purchase: added.purchase })
  const changed = { ...added.purchase, status: 'refunded' }
  assert.deepEqual(refunded, { outcome: 'updated', purchase: changed })
  const { purchases } = await till.purchases.list(account, { store_id: 'main' })
  assert.deepEqual(purchases, [changed])
  const { entries } = await till.operations.listAudit({})
  const recorded = entries.filter(({ action }) => action === 'purchases.record')
  const purchased_at = '2024-03-01T12:34:56.000Z'
  const data = { sku: 'gold', quantity: 2, price: 499, currency: 'USD', purchased_at }
  assert.deepEqual(
    recorded.map(({ subject, data: { import_id: _, ...rest } = {} }) => [subject, rest]),
    [
      ['main/tx', { ...data, status: 'purchased' }],
      ['main/tx', { ...data, status: 'refunded' }],
    ],
  )
})

test('an export contains recorded purchases, and importing it adds nothing', async () => {
  const { till, account } = await createShop()
  await till.purchases.record(account, { ...BASIC, purchased_at: 1_709_296_496 })

  const csv = await collect(till.purchases.export(account, { store_id: 'main' }))
  const again = { store_id: 'main', file: fileOf(...csv) }

  assert.equal((await till.purchases.import(account, again)).skipped, 1)
})

const mistakes: readonly (readonly [input: object, mistakes: string])[] = [
  [{ transaction_id: undefined, sku: undefined }, 'transaction_id required, sku required'],
  [{ price: 4.99, quantity: 0 }, 'quantity invalid, price invalid'],
  [{ price: -1, status: 'paid' }, 'price invalid, status invalid'],
  [{ purchased_at: '2024-03-01' }, 'purchased_at invalid'],
  [{ transaction_id: '', user_id: 7 }, 'user_id invalid'],
  [{ transaction_id: '' }, 'transaction_id required'],
  [{ price: 1, currency: 'usd' }, 'currency invalid'],
  [{ metadata: { at: new Date(0) } }, 'metadata invalid'],
  [{ userid: 'ann' }, 'userid unknown'],
  [{ sku: 'silver' }, 'sku unknown_sku'],
  [{ transaction_id: 'taken', quantity: 2 }, 'quantity transaction_conflict'],
  [{ store_id: 'none' }, 'store_id unknown'],
]
for (const [change, expected] of mistakes) {
  test(`a purchase is refused: ${expected}`, async () => {
    const { till, account } = await createShop()
    await till.purchases.record(account, { ...BASIC, transaction_id: 'taken' })

    const recorded = till.purchases.record(account, { ...BASIC, ...change })
    const { code, details } = await failureOf(recorded)

    assert.equal(code, 'invalid_request')
    assert.equal(details.map(({ field, code }) => `${field} ${code}`).join(', '), expected)
    const { purchases } = await till.purchases.list(account, { store_id: 'main' })
    assert.equal(purchases.length, 1)
  })
}

test('allowed_currencies limits new purchases and currencies of stores, but no repeats and no imports', async () => {
  const { till, account, project } = await createShop()
  const inEuro = { ...BASIC, price: 499, currency: 'EUR' }
  await till.purchases.record(account, { ...inEuro, status: 'pending' })
  const allowed_currencies = ['USD', ...'ABCDEFGHIJKLM'].map((code) => code.padEnd(3, code))
  await till.projects.update(account, { id: project.id, config: { allowed_currencies } })

  const repeated = await till.purchases.record(account, inEuro)
  const other = await failureOf(
    till.purchases.record(account, { ...inEuro, transaction_id: 'new' }),
  )
  const store_config = { currency: 'EUR' }
  const store = { project_id: project.id, store_type: 'web' as const, store_config }
  const opened = await failureOf(till.stores.create(account, store))
  await till.stores.update(account, { store_id: 'main', store_config: { currency: 'AAA' } })
  const changed = await failureOf(till.stores.update(account, { store_id: 'main', store_config }))
  const catalog = {
    project: { id: project.id },
    stores: [
      { store_id: 'main', store_config, items: [] },
      { store_id: 'side', store_type: 'web' as const, store_config, items: [] },
    ],
  }
  const planned = await failureOf(till.catalog.plan(account, { catalog, createStores: true }))
  const config = { allowed_currencies: [...allowed_currencies, 'EUR'] }
  const wider = { ...catalog, project: { id: project.id, config } }
  const applied = await till.catalog.apply(account, { catalog: wider, createStores: true })
  await till.projects.update(account, { id: project.id, config: { allowed_currencies } })
  const kept = { currency: 'EUR', test_mode: true }
  await till.stores.update(account, { store_id: 'main', store_config: kept })
  const csv =
    'transaction_id,sku,purchased_at,price,currency\nT-1,gold,2024-03-01T12:00:00Z,1,EUR\n'
  const { added } = await till.purchases.import(account, { store_id: 'main', file: fileOf(csv) })

  assert.deepEqual([repeated.outcome, added], ['updated', 1])
  const [mistake] = other.details
  assert.deepEqual([mistake?.field, mistake?.code], ['currency', 'not_allowed'])
  assert.match(mistake?.message ?? '', /currencies: USD, AAA, .*, KKK and 2 more$/)
  assert.deepEqual(
    [opened, changed, planned].flatMap(({ details }) => details.map(({ field }) => field)),
    [
      ...['store_config.currency', 'store_config.currency'],
      ...['$.stores[0].store_config.currency', '$.stores[1].store_config.currency'],
    ],
  )
  assert.deepEqual([applied.created, applied.updated], [1, 2])
  assert.equal((await till.purchases.list(account, { store_id: 'main' })).purchases.length, 2)
})

test('an archived store records nothing', async () => {
  const { till, account } = await createShop()
  await till.stores.update(account, { store_id: 'main', status: 'archived' })

  await assert.rejects(till.purchases.record(account, BASIC), { code: 'store_inactive' })
})

test('recording waits for a running import of the same transaction, and then skips', async () => {
  const storage = createMemoryStorage()
  const till = createTill({ storage })
  const { account } = await createShop(till)
  const store = { account_id: account.account_id, store_id: 'main' }
  const running = await storage.openImport(store, 'imp_1')
  const purchased_at = Date.parse(AT)
  const row = { transaction_id: 'tx', sku: 'gold', quantity: 1, status: 'purchased' } as const
  await running?.stage([{ ...row, line: 2, purchased_at, metadata: {} }])
  const { recordPurchase } = storage
  const outcomes: string[] = []
  storage.recordPurchase = async (...call) => {
    const result = await recordPurchase(...call)
    outcomes.push(result.outcome)
    if (result.outcome === 'busy') {
      await running?.finish()
      await running?.commit()
    }
    return result
  }

  const { outcome, purchase } = await till.purchases.record(account, BASIC)

  assert.deepEqual(outcomes, ['busy', 'skipped'])
  assert.equal(outcome, 'skipped')
  assert.equal(purchase?.import_id, 'imp_1')
})

test('an account sees the items of any user; a user sees its own, with a token issued by the account', async () => {
  const { till, account, project_id, token } = await createShop()
  for (const user_id of ['player', 'ann']) {
    await till.purchases.record(account, {
      ...BASIC,
      transaction_id: user_id,
      user_id,
      quantity: 2,
    })
  }
  const query = { store_id: 'main', user_id: 'player' }
  const gold = {
    sku: 'gold',
    quantity: 2,
    first_purchased_at: STORED_AT,
    last_purchased_at: STORED_AT,
  }
  const issued = await till.sessions.issue(account, { project_id, user_id: 'player' })
  const own = await till.sessions.authenticate(issued.token)

  assert.deepEqual(await till.purchases.owned(account, query), { owned: [gold] })
  assert.deepEqual(await till.purchases.owned(own, query), { owned: [gold] })
  const refusal = { code: 'insufficient_scope' }
  await assert.rejects(till.purchases.owned(own, { ...query, user_id: 'ann' }), refusal)
  const chosen = await till.sessions.authenticate(token)
  await assert.rejects(till.purchases.owned(chosen, query), refusal)
  const scopes = ['purchases:import'] as const
  const input = { project_id, user_id: 'player', scopes }
  const narrow = await till.sessions.issue(account, input)
  const importer = await till.sessions.authenticate(narrow.token)
  await assert.rejects(till.purchases.owned(importer, query), refusal)
})
