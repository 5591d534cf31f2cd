import assert from 'node:assert/strict'
import { test as testOnce } from 'node:test'
import type { PurchaseInput } from '../../lib/index.ts'
import { collect } from '../support/collect.ts'
import { testOnEach as test } from '../support/databases.ts'
import { createShop, failureOf, fileOf, openStorage } from '../support/till.ts'

const AT = '2024-03-01T12:34:56Z'
const STORED_AT = '2024-03-01T12:34:56.000Z'
const MAIN = { store_id: 'main' }
const BASIC: PurchaseInput = { ...MAIN, transaction_id: 'tx', sku: 'gold', purchased_at: AT }

test('recording a purchase follows the rules of a file, and a repeated call changes nothing', async () => {
  const { till, account } = await createShop()
  const input = { ...BASIC, user_id: 'ann', price: 499, quantity: '2', metadata: { level: 3 } }

  const added = await till.purchases.record(account, { ...input, purchased_at: 1_709_296_496 })
  const again = await till.purchases.record(account, { ...input, price: '499' })
  const refunded = await till.purchases.record(account, { ...input, status: 'refunded' })

  assert.ok(added.purchase)
  const { import_id, ...purchase } = added.purchase
  assert.match(import_id, /^rec_/)
  const data = { sku: 'gold', quantity: 2, price: 499, currency: 'USD', purchased_at: STORED_AT }
  assert.deepEqual(purchase, {
    ...{ ...MAIN, transaction_id: 'tx', user_id: 'ann', status: 'purchased' },
    ...{ ...data, metadata: { level: 3 } },
  })
  assert.deepEqual(again, { outcome: 'skipped', purchase: added.purchase })
  const changed = { ...added.purchase, status: 'refunded' }
  assert.deepEqual(refunded, { outcome: 'updated', purchase: changed })
  const { purchases } = await till.purchases.list(account, MAIN)
  assert.deepEqual(purchases, [changed])
  const { entries } = await till.operator.listAudit({})
  const recorded = entries.filter(({ action }) => action === 'purchases.record')
  assert.deepEqual(
    recorded.map(({ subject, data: { import_id: _, ...rest } = {} }) => [subject, rest]),
    [
      ['main/tx', { ...data, status: 'purchased' }],
      ['main/tx', { ...data, status: 'refunded' }],
    ],
  )
  const csv = await collect(till.purchases.export(account, MAIN))
  const { skipped } = await till.purchases.import(account, { ...MAIN, file: fileOf(...csv) })
  assert.equal(skipped, 1)
})

test('a recording ignores another time, end or metadata of the stored purchase', async () => {
  const { till, account } = await createShop()
  const expires_at = '2024-04-01T00:00:00Z'
  const { purchase } = await till.purchases.record(account, { ...BASIC, expires_at })

  for (const change of [
    { purchased_at: '2034-01-01T00:00:00Z' },
    { expires_at: '2034-01-01T00:00:00Z' },
    { metadata: { level: 4 } },
  ]) {
    const again = await till.purchases.record(account, { ...BASIC, expires_at, ...change })
    assert.deepEqual(again, { outcome: 'skipped', purchase })
  }
})

test('a purchase is refused with the names of its fields, and an archived store records nothing', async () => {
  const { till, account } = await createShop()
  await till.purchases.record(account, { ...BASIC, transaction_id: 'taken' })
  const rows: readonly (readonly [input: object, mistakes: string])[] = [
    [{ transaction_id: undefined, sku: undefined }, 'transaction_id required, sku required'],
    [{ transaction_id: '', user_id: 7 }, 'user_id invalid'],
    [{ metadata: { at: new Date(0) } }, 'metadata invalid'],
    [{ userid: 'ann' }, 'userid unknown'],
    [{ sku: 'silver' }, 'sku unknown_sku'],
    [{ transaction_id: 'taken', quantity: 2 }, 'quantity transaction_conflict'],
    [{ store_id: 'none' }, 'store_id unknown'],
  ]
  for (const [change, expected] of rows) {
    const recorded = till.purchases.record(account, { ...BASIC, ...change })
    const { code, details } = await failureOf(recorded)
    assert.equal(code, 'invalid_request')
    assert.equal(details.map(({ field, code }) => `${field} ${code}`).join(', '), expected)
  }
  await till.stores.update(account, { ...MAIN, status: 'archived' })
  await assert.rejects(till.purchases.record(account, BASIC), { code: 'store_inactive' })
  assert.equal((await till.purchases.list(account, MAIN)).purchases.length, 1)
})

test('allowed_currencies limits new purchases and currencies of stores, but no repeats and no imports', async () => {
  const { till, account, project_id } = await createShop()
  const allowed_currencies = ['USD', ...'ABCDEFGHIJKLM'].map((code) => code.padEnd(3, code))
  const allow = () =>
    till.projects.update(account, { id: project_id, config: { allowed_currencies } })
  const inEuro = { ...BASIC, price: 499, currency: 'EUR' }
  await till.purchases.record(account, { ...inEuro, status: 'pending' })
  await allow()
  const store_config = { currency: 'EUR' }
  const web = { store_type: 'web' as const, store_config }
  const catalog = {
    project: { id: project_id },
    stores: [
      { ...MAIN, store_config, items: [] },
      { store_id: 'side', ...web, items: [] },
    ],
  }

  const repeated = await till.purchases.record(account, inEuro)
  const other = till.purchases.record(account, { ...inEuro, transaction_id: 'new' })
  const [mistake] = (await failureOf(other)).details
  await till.stores.update(account, { ...MAIN, store_config: { currency: 'AAA' } })
  const refused = [
    () => till.stores.create(account, { project_id, ...web }),
    () => till.stores.update(account, { ...MAIN, store_config }),
    () => till.catalog.plan(account, { catalog, create_stores: true }),
  ]
  const fields: unknown[] = []
  for (const call of refused) {
    fields.push(...(await failureOf(call())).details.map(({ field }) => field))
  }
  const config = { allowed_currencies: [...allowed_currencies, 'EUR'] }
  const wider = { ...catalog, project: { id: project_id, config } }
  const applied = await till.catalog.apply(account, { catalog: wider, create_stores: true })
  await allow()
  const kept = { currency: 'EUR', test_mode: true }
  await till.stores.update(account, { ...MAIN, store_config: kept })
  const csv = `transaction_id,sku,purchased_at,price,currency\nT-1,gold,${AT},1,EUR\n`
  const { added } = await till.purchases.import(account, { ...MAIN, file: fileOf(csv) })

  assert.deepEqual([repeated.outcome, added], ['updated', 1])
  assert.deepEqual([mistake?.field, mistake?.code], ['currency', 'not_allowed'])
  assert.match(mistake?.message ?? '', /currencies: USD, AAA, .*, KKK and 2 more$/)
  assert.deepEqual(fields, [
    ...['store_config.currency', 'store_config.currency'],
    ...['$.stores[0].store_config.currency', '$.stores[1].store_config.currency'],
  ])
  assert.deepEqual([applied.created, applied.updated], [1, 2])
  assert.equal((await till.purchases.list(account, MAIN)).purchases.length, 2)
})

testOnce('recording waits for a running import of its transaction, and then skips', async () => {
  const storage = await openStorage()
  const { till, account, store } = await createShop({ storage })
  const running = await storage.openImport(store, 'imp_1')
  const row = { transaction_id: 'tx', sku: 'gold', quantity: 1, status: 'purchased' } as const
  await running?.add([{ ...row, line: 2, purchased_at: Date.parse(AT), metadata: {} }])
  const { recordPurchase } = storage
  const outcomes: (string | undefined)[] = []
  storage.recordPurchase = async (...call) => {
    const result = await recordPurchase(...call)
    outcomes.push(result?.outcome)
    if (!result) {
      await running?.finish()
      await running?.commit()
    }
    return result
  }

  const { outcome, purchase } = await till.purchases.record(account, BASIC)

  assert.deepEqual(outcomes, [undefined, 'skipped'])
  assert.deepEqual([outcome, purchase?.import_id], ['skipped', 'imp_1'])
})

test('an account sees the items of any user; a user sees its own, with a token issued by the account', async () => {
  const { till, account, project_id, token } = await createShop()
  for (const user_id of ['player', 'ann']) {
    const purchase = { ...BASIC, transaction_id: user_id, user_id, quantity: 2 }
    await till.purchases.record(account, purchase)
  }
  const query = { ...MAIN, user_id: 'player' }
  const times = { first_purchased_at: STORED_AT, last_purchased_at: STORED_AT }
  const gold = { sku: 'gold', type: 'consumable', display_name: 'Gold', quantity: 2 }
  const owned = { owned: [{ ...gold, ...times }] }
  const sessionOf = async (token: string) => till.sessions.authenticate(token)
  const issue = async (more: object) =>
    (await till.sessions.issue(account, { project_id, user_id: 'player', ...more })).token
  const own = await sessionOf(await issue({}))

  assert.deepEqual(await till.purchases.owned(account, query), owned)
  assert.deepEqual(await till.purchases.owned(own, query), owned)
  const refusal = { code: 'insufficient_scope' }
  await assert.rejects(till.purchases.owned(own, { ...query, user_id: 'ann' }), refusal)
  for (const other of [token, await issue({ scopes: ['purchases:import'] })]) {
    await assert.rejects(till.purchases.owned(await sessionOf(other), query), refusal)
  }
})

test('an id with a blank at an end is not recorded, because a file could not name it', async () => {
  const { till, account } = await createShop()
  for (const blank of [' ', '\t', '\u00a0', '\u2007', '\u202f', '\ufeff']) {
    for (const field of ['transaction_id', 'user_id'] as const) {
      for (const id of [`${blank}a`, `a${blank}`]) {
        const { details } = await failureOf(
          till.purchases.record(account, { ...BASIC, [field]: id }),
        )
        assert.deepEqual(
          details.map(({ field, code }) => [field, code]),
          [[field, 'invalid']],
        )
      }
    }
  }
})
