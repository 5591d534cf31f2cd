import assert from 'node:assert/strict'
import type { ImportRequest } from '../../lib/index.ts'
import { collect } from '../support/collect.ts'
import { testOnEach as test } from '../support/databases.ts'
import { createShop, failureOf, fileOf } from '../support/till.ts'

const MAIN = { store_id: 'main' }
const AT = '2026-01-31T12:00:00Z'
const END = '2030-01-01T00:00:00.000Z'
const SALE = { ...MAIN, transaction_id: 'T-1', sku: 'gold', purchased_at: AT }
const WHOLE = { user_id: 'ann', price: 499, currency: 'USD', expires_at: END }
const BARE = `T-1,gold,${AT},,,,,`
const FULL = `T-1,gold,${AT},ann,499,USD,,${END}`
const HEADER = 'transaction_id,sku,purchased_at,user_id,price,currency,status,expires_at'

type Session = Awaited<
  ReturnType<Awaited<ReturnType<typeof createShop>>['till']['sessions']['authenticate']>
>

async function setUp() {
  const shop = await createShop()
  const { till, account, account_id } = shop
  const importRows = (
    rows: readonly string[],
    options: Partial<ImportRequest> = {},
    by?: Session,
  ) =>
    till.purchases.import(by ?? account, {
      ...MAIN,
      file: fileOf([HEADER, ...rows].join('\n')),
      ...options,
    })
  return {
    ...shop,
    import: importRows,
    record: (values: object = {}) => till.purchases.record(account, { ...SALE, ...values }),
    undo: (import_id: string, force = false) => till.imports.undo(account, { import_id, force }),
    /** The purchase T-1 without what no row changes. */
    async purchase() {
      const [found] = await collect(till.purchases.all(account, MAIN))
      const { user_id, price, currency, expires_at, status } =
        found ?? assert.fail('none is stored')
      return { user_id, price, currency, expires_at, status }
    },
    async owned(user_id = 'ann') {
      const { owned } = await till.purchases.owned(account, { ...MAIN, user_id })
      return owned.map(({ quantity }) => quantity)
    },
    async undelivered() {
      const { purchases } = await till.purchases.list(account, { ...MAIN, undelivered: true })
      return purchases.map(({ transaction_id }) => transaction_id)
    },
    /** The id of the import of the latest recording. */
    async recorded() {
      const { entries } = await till.operator.listAudit({ account_id, limit: 10 })
      const latest = entries.find(({ action }) => action === 'purchases.record')
      return latest?.data?.import_id as string
    },
  }
}

const EMPTY = {
  user_id: undefined,
  price: undefined,
  currency: undefined,
  expires_at: undefined,
  status: 'purchased',
}

test('a recording fills the user, price and end that an imported purchase lacks', async () => {
  const shop = await setUp()
  const { import_id } = await shop.import([BARE])
  assert.deepEqual(await shop.owned(), [])

  const { outcome, purchase } = await shop.record(WHOLE)

  assert.equal(outcome, 'updated')
  const stored = { ...MAIN, import_id, transaction_id: 'T-1', sku: 'gold', quantity: 1 }
  const rest = { purchased_at: '2026-01-31T12:00:00.000Z', status: 'purchased', metadata: {} }
  assert.deepEqual(purchase, { ...stored, ...rest, ...WHOLE })
  assert.deepEqual(await shop.purchase(), { ...WHOLE, status: 'purchased' })
  assert.deepEqual(await shop.owned(), [1])
  const { till, account } = shop
  const [sums] = await till.purchases.summarize(account, { ...MAIN, by: ['currency'] })
  assert.deepEqual([sums?.revenue, sums?.currency, sums?.buyers], ['499', 'USD', 1])
  assert.equal((await shop.record(WHOLE)).outcome, 'skipped')
  const other = await failureOf(shop.record({ user_id: 'bob' }))
  assert.deepEqual([other.code, other.details[0]?.field], ['invalid_request', 'user_id'])
})

test('a row of a file fills what a recorded purchase lacks, and counts as updated', async () => {
  const shop = await setUp()
  await shop.record()

  const { added, updated, skipped, unequal } = await shop.import([FULL])

  assert.deepEqual(
    { added, updated, skipped, unequal },
    { added: 0, updated: 1, skipped: 0, unequal: [] },
  )
  assert.deepEqual(await shop.purchase(), { ...WHOLE, status: 'purchased' })
  assert.deepEqual((await shop.import([FULL])).skipped, 1)
})

test('a file fills values also of a purchase whose status it advances, or has advanced already', async () => {
  const shop = await setUp()
  await shop.import([BARE])
  const { updated } = await shop.import([`T-1,gold,${AT},,499,USD,refunded,`])
  assert.equal(updated, 1)
  const { updated: earlier } = await shop.import([`T-1,gold,${AT},ann,,,,`])
  assert.equal(earlier, 1)
  const amount = { price: 499, currency: 'USD', user_id: 'ann', status: 'refunded' }
  assert.deepEqual(await shop.purchase(), { ...EMPTY, ...amount })
})

test('unequal counts only ends and times that differ', async () => {
  const shop = await setUp()
  await shop.import([FULL, `T-2,gold,${AT},ann,499,USD,,`])
  const later = '2026-02-01T00:00:00Z'
  const { unequal, skipped, updated } = await shop.import([
    `T-1,gold,${later},,,,,2031-01-01T00:00:00Z`,
    `T-2,gold,${later},,,,refunded,`,
  ])
  assert.deepEqual([skipped, updated], [1, 1])
  const different = (field: string) => ({ field, stored: 'different', rows: 1 })
  assert.deepEqual(unequal, [different('expires_at'), different('purchased_at')])
  // The refund was at another time than the sale.
  assert.deepEqual((await shop.import([`T-2,gold,${later},,,,refunded,`])).unequal, [])
})

test('files of RevenueCat fill values, and count users and prices that differ', async () => {
  const shop = await setUp()
  const header =
    'store_transaction_id,renewal_number,product_identifier,start_time,rc_original_app_user_id,rc_last_seen_app_user_id_alias,purchase_price_in_purchased_currency,purchased_currency,refunded_at,effective_end_time,end_time,is_sandbox,price_in_purchased_currency'
  const row = (user: string, price: string) =>
    `T-1,,gold,2026-01-31 12:00:00,${user},${user},${price},USD,,,,false,${price}`
  const load = (line: string) =>
    shop.till.purchases.import(shop.account, {
      ...MAIN,
      file: fileOf(`${header}\n${line}\n`),
      preset: 'revenuecat_transactions',
    })
  await shop.import([BARE])
  const { updated, unequal } = await load(row('ann', '4.99'))
  assert.deepEqual([updated, unequal], [1, []])
  const other = await load(row('bob', '5.99'))
  const different = (field: string) => ({ field, stored: 'different', rows: 1 })
  assert.deepEqual([other.skipped, other.unequal], [1, [different('user_id'), different('price')]])
  const filled = { user_id: 'ann', price: 499, currency: 'USD' }
  assert.deepEqual(await shop.purchase(), { ...EMPTY, ...filled })
})

test('a dry run and a refused file fill nothing', async () => {
  const shop = await setUp()
  await shop.import([BARE])
  assert.equal((await shop.import([FULL], { dryRun: true })).updated, 1)
  const refused = await failureOf(shop.import([FULL, `T-1,gold,${AT},bob,,,,`]))
  assert.equal(refused.code, 'invalid_purchases')
  assert.deepEqual(await shop.purchase(), EMPTY)
  assert.deepEqual(await shop.till.operator.check(), [])
})

test('a row that fills what an earlier row of its file lacks is repeated, and its purchase counts once', async () => {
  const shop = await setUp()
  const first = await shop.import([BARE, FULL])
  assert.deepEqual([first.added, first.updated, first.repeated], [1, 0, 1])
  assert.deepEqual(await shop.purchase(), { ...WHOLE, status: 'purchased' })
  assert.deepEqual(await shop.owned(), [1])
  await shop.undo(first.import_id)
  await shop.import([BARE])
  const second = await shop.import([BARE, FULL])
  const counts = [second.updated, second.skipped, second.repeated, second.rows]
  assert.deepEqual(counts, [1, 0, 1, 1])
  assert.deepEqual(await shop.purchase(), { ...WHOLE, status: 'purchased' })
})

test('undoing an import empties the fields that it filled, and nothing else', async () => {
  const shop = await setUp()
  await shop.import([BARE])
  const { import_id } = await shop.import([`T-1,gold,${AT},ann,,,,`])
  await shop.record({ price: 499, currency: 'USD' })
  await shop.till.purchases.refund(shop.account, { ...MAIN, transaction_id: 'T-1' })

  await shop.undo(import_id, true) // by force, because the recording repeats the purchase

  const rest = { price: 499, currency: 'USD', status: 'refunded' }
  assert.deepEqual(await shop.purchase(), { ...EMPTY, ...rest })
  assert.deepEqual(await shop.owned(), [])
  assert.deepEqual(await shop.till.operator.check(), [])
  // The emptied user can be filled again, with another one.
  assert.equal((await shop.record({ user_id: 'bob' })).outcome, 'updated')
})

test('undoing a recording empties what it filled', async () => {
  const shop = await setUp()
  await shop.import([BARE])
  await shop.record(WHOLE)
  await shop.undo(await shop.recorded())
  assert.deepEqual(await shop.purchase(), EMPTY)
})

test('an import whose rows were filled later is undone only by force, and the count is shown', async () => {
  const shop = await setUp()
  const { import_id } = await shop.import([BARE, `T-2,gold,${AT},,,,,`])
  const later = await shop.import([FULL])

  const { code, message, details } = await failureOf(shop.undo(import_id))

  assert.deepEqual([code, details[0]?.field], ['undo_refused', 'force'])
  assert.match(message, /^1 row of a later import or recorded purchase repeats or fills a row/)
  await shop.undo(import_id, true)
  assert.deepEqual(await collect(shop.till.purchases.all(shop.account, MAIN)), [])
  await shop.undo(later.import_id)
  assert.deepEqual(await shop.till.operator.check(), [])
})

test('an import whose rows a recording filled is undone only by force', async () => {
  const shop = await setUp()
  const { import_id } = await shop.import([BARE])
  await shop.record(WHOLE)
  assert.equal((await failureOf(shop.undo(import_id))).details[0]?.field, 'force')
  await shop.undo(import_id, true)
  assert.deepEqual(await shop.owned(), [])
})

test('rows that repeated a purchase before an undo removed it do not count for its next import', async () => {
  const shop = await setUp()
  const { import_id } = await shop.import([BARE])
  await shop.import([BARE])
  await shop.undo(import_id, true)
  const next = await shop.import([FULL])
  await shop.undo(next.import_id)
  assert.deepEqual(await collect(shop.till.purchases.all(shop.account, MAIN)), [])
})

test('a later row that repeats a filled value is skipped for the import that filled it', async () => {
  const shop = await setUp()
  await shop.import([BARE])
  const { import_id } = await shop.import([FULL])
  const later = await shop.import([FULL])
  assert.equal(later.skipped, 1)
  assert.equal((await failureOf(shop.undo(import_id))).details[0]?.field, 'force')
  await shop.undo(later.import_id)
  await shop.undo(import_id)
  assert.deepEqual(await shop.purchase(), EMPTY)
})

test('a status change by a later import does not keep a fill from being undone', async () => {
  const shop = await setUp()
  const pending = await shop.import([`T-1,gold,${AT},,,,pending,`])
  const fill = await shop.import([`T-1,gold,${AT},ann,,,pending,`])
  await shop.import([`T-1,gold,${AT},,,,purchased,`])
  assert.equal((await failureOf(shop.undo(pending.import_id, true))).code, 'undo_refused')
  await shop.undo(fill.import_id)
  assert.deepEqual(await shop.purchase(), EMPTY)
})

test('a refund that repeats a filled value does not count, and fills it again after the undo', async () => {
  const shop = await setUp()
  await shop.import([BARE])
  const fill = await shop.import([`T-1,gold,${AT},,499,USD,,`])
  const refund = `T-1,gold,${AT},,499,USD,refunded,`
  await shop.import([refund])
  await shop.undo(fill.import_id)
  assert.deepEqual(await shop.purchase(), { ...EMPTY, status: 'refunded' })
  assert.equal((await shop.import([refund])).updated, 1)
  const amount = { price: 499, currency: 'USD' }
  assert.deepEqual(await shop.purchase(), { ...EMPTY, ...amount, status: 'refunded' })
})

test('an erased user is never filled, and an erasure reaches a filled user', async () => {
  const shop = await setUp()
  const { till, account, project_id } = shop
  await shop.import([BARE])
  const { import_id } = await shop.import([FULL])
  const erased = await till.users.erase(account, { project_id, user_id: 'ann' })
  assert.equal(erased.purchases, 1)
  const amount = { price: 499, currency: 'USD', expires_at: END }
  assert.deepEqual(await shop.purchase(), { ...EMPTY, ...amount })

  assert.equal((await shop.record(WHOLE)).outcome, 'skipped')
  assert.equal((await shop.import([FULL])).skipped, 1)
  await shop.undo(import_id, true)
  assert.equal((await shop.record(WHOLE)).outcome, 'updated')

  assert.deepEqual(await shop.purchase(), { ...EMPTY, ...amount })
  assert.deepEqual(await shop.owned(), [])
})

test('a session whose token the account did not issue fills nothing, and one that it issued does', async () => {
  const shop = await setUp()
  const { till, account, project_id, token } = shop
  const player = await till.sessions.authenticate(token)
  await shop.import([BARE])

  const { updated, skipped, unequal } = await shop.import([FULL], {}, player)

  assert.deepEqual([updated, skipped], [0, 1])
  const fields = ['user_id', 'price', 'currency', 'expires_at']
  assert.deepEqual(
    unequal,
    fields.map((field) => ({ field, stored: 'missing', rows: 1 })),
  )
  assert.deepEqual(await shop.purchase(), EMPTY)
  const input = { project_id, user_id: 'ann', scopes: ['purchases:import'] as const }
  const issued = await till.sessions.issue(account, input)
  const ann = await till.sessions.authenticate(issued.token)
  assert.equal((await shop.import([FULL], {}, ann)).updated, 1)
  assert.deepEqual(await shop.owned(), [1])
})

test('a user that a recording fills makes an imported purchase undelivered, unless it was delivered', async () => {
  const shop = await setUp()
  const { till, account } = shop
  const deliver = async () => {
    const key = { ...MAIN, transaction_id: 'T-1' }
    const { deliveries } = await till.purchases.deliver(account, key)
    return deliveries[0]?.outcome
  }
  await shop.import([BARE])
  await shop.record({ price: 499, currency: 'USD' })
  assert.deepEqual(await shop.undelivered(), []) // history counts as delivered
  await shop.record({ user_id: 'ann' })
  assert.deepEqual(await shop.undelivered(), ['T-1'])
  assert.deepEqual([await deliver(), await deliver()], ['delivered', 'already'])
  await shop.undo(await shop.recorded(), true)
  await shop.record({ user_id: 'ann' })
  assert.deepEqual(await shop.undelivered(), [])
})

test('a file that fills a user makes nothing undelivered', async () => {
  const shop = await setUp()
  await shop.import([BARE])
  await shop.import([FULL])
  assert.deepEqual(await shop.undelivered(), [])
})

test('a fill of a refunded purchase is no refund, and no change of its status', async () => {
  const shop = await setUp()
  const { till, account } = shop
  await shop.import([`T-1,gold,${AT},,,,refunded,`])
  const filled = await shop.import([`T-1,gold,${AT},ann,,,refunded,`])
  assert.equal(filled.updated, 1)
  const { changes } = await till.purchases.changes(account, { ...MAIN, transaction_id: 'T-1' })
  assert.deepEqual(changes, [])
})

test('an export of a user has the purchases whose user was filled', async () => {
  const shop = await setUp()
  const { till, account, project_id } = shop
  await shop.import([BARE])
  await shop.record(WHOLE)
  const chunks = await collect(till.users.export(account, { project_id, user_id: 'ann' }))
  const { purchases } = JSON.parse(chunks.join(''))
  assert.equal(purchases.length, 1)
  const [, line] = (await collect(till.purchases.export(account, MAIN))).join('').split('\n')
  assert.match(line ?? '', /T-1,gold,2026-01-31T12:00:00.000Z,ann,1,499,USD/)
})
