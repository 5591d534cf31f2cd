import assert from 'node:assert/strict'
import { createDemoStores } from '../../cli/serve/demo.ts'
import { BUNDLE_ID, googlePlayReport, SKU_MAP } from '../../cli/serve/demo-shop.ts'
import type {
  Account,
  KeyScope,
  Purchase,
  ReconcileRequest,
  Reconciliation,
} from '../../lib/index.ts'
import { collect } from '../support/collect.ts'
import { testOnEach as test } from '../support/databases.ts'
import { newPlace } from '../support/place.ts'
import { createShop, failureOf, fileOf, type Shop } from '../support/till.ts'

const PLAY_HEADER =
  'Order Number,Order Charged Timestamp,Financial Status,Product ID,SKU ID,Currency of Sale,Charged Amount\n'
const HEADER = 'transaction_id,sku,purchased_at,user_id,price,currency,status\n'
const JULY = { from: '2026-07-01', to: '2026-08-01' }
const day = (number: number, month = '07') => `2026-${month}-${String(number).padStart(2, '0')}`

/** A row of Google Play's report. */
function play(order: string, date: string, status = 'Charged', amount = '4.99', app = 'game') {
  const at = Date.parse(`${date}T10:00:00Z`) / 1000
  return `${order},${at},${status},com.example.${app},gold,USD,${amount}`
}

/** A shop with a Google Play store. */
async function createPlayShop() {
  const shop = await createShop()
  const { till, account, project_id } = shop
  const store = { project_id, store_id: 'play', store_type: 'iap' } as const
  await till.stores.create(account, { ...store, store_config: { currency: 'USD' } })
  const gold = { name: 'gold', display_name: 'Gold', price: '499', type: 'consumable' } as const
  await till.items.create(account, { ...gold, store_id: 'play' })
  const record = (transaction_id: string, date: string, more: object = {}) =>
    till.purchases.record(account, {
      store_id: 'play',
      sku: 'gold',
      price: 499,
      user_id: `player of ${transaction_id}`,
      transaction_id,
      purchased_at: `${date}T10:00:30Z`,
      ...more,
    })
  const reconcile = (rows: readonly string[], more: Partial<ReconcileRequest> = {}) => {
    const file = fileOf(PLAY_HEADER, rows.join('\n'))
    return till.purchases.reconcile(account, { store_id: 'play', file, ...more })
  }
  return { ...shop, record, reconcile }
}

/** The differences as texts: the kind, the number, the ids, and the sums. */
function shown({ differences }: Reconciliation): string[] {
  return differences.map(({ kind, purchases, first, totals }) => {
    const ids = first.map(({ transaction_id }) => transaction_id).join(' ')
    const sums = totals.map((sum) => `${sum.currency} ${sum.stored_total} ${sum.file_total}`)
    return `${kind} ${purchases}: ${ids}: ${sums.join(', ')}`
  })
}

/** A month with whole sales at both ends, so that days 3 to 29 are judged. */
const ENDS = [play('GPA.0', day(1)), play('GPA.99', day(31))]
const recordEnds = async ({ record }: Awaited<ReturnType<typeof createPlayShop>>) => {
  await record('GPA.0/gold', day(1))
  await record('GPA.99/gold', day(31))
}

test('a month of Google Play is compared over its own period, and changes nothing', async () => {
  const shop = await createPlayShop()
  const { till, account, record, reconcile } = shop
  await recordEnds(shop)
  await record('GPA.1/gold', day(10))
  await record('GPA.2/gold', day(11), { price: 399 })
  await record('GPA.3/gold', day(12))
  await record('GPA.4/gold', day(12), { status: 'cancelled' })
  await record('GPA.5/gold', day(9, '05'))
  await record('FAKE-1', day(15))
  await record('FAKE-2', day(16), { price: undefined })
  const rows = [
    play('GPA.1', day(10)),
    play('GPA.2', day(11)),
    play('GPA.3', day(12)),
    play('GPA.3', day(20), 'Refund', '-4.99'),
    play('GPA.4', day(12)),
    play('GPA.5', day(21), 'Refund', '-4.99'), // of an order of May
    play('GPA.6', day(22)),
    play('GPA.7', day(23), 'Charged', '1.99', 'puzzle'),
    play('GPA.8', day(9, '02'), 'Refund', '-4.99'), // of an order before the store's first one
  ]
  const before = await collect(till.purchases.all(account, { store_id: 'play' }))
  const found = await reconcile([...ENDS, ...rows])
  assert.deepEqual(shown(found), [
    'missing_in_file 2: FAKE-1 FAKE-2: USD 499 0,  0 0',
    'missing_in_store 1: GPA.6/gold: USD 0 499',
    'cancelled 1: GPA.4/gold: USD 499 499',
    'status 2: GPA.3/gold GPA.5/gold: USD 998 998',
    'amount 1: GPA.2/gold: USD 399 499',
  ])
  const { from, to, judged, unjudged, near_ends, layout, passed_over } = found
  const { rows: read, compared, compared_amounts, compared_users } = found
  // Not compared: GPA.6, which the store lacks, and the refund of GPA.8. The refund of GPA.3 is
  // compared by status only.
  assert.deepEqual([read, compared, compared_amounts, compared_users], [10, 8, 7, 0])
  assert.deepEqual(
    { from, to, judged, unjudged, near_ends, layout, passed_over },
    {
      from: '2026-07-01T10:00:00.000Z',
      to: '2026-07-31T10:00:00.001Z',
      judged: 5, // GPA.1 to GPA.3, and both fakes
      unjudged: 0,
      near_ends: 0,
      layout: 'google_play_sales',
      passed_over: 1,
    },
  )
  assert.deepEqual(found.differences[4]?.first[0], {
    kind: 'amount',
    transaction_id: 'GPA.2/gold',
    line: 5,
    purchased_at: '2026-07-11T10:00:30.000Z',
    stored: {
      sku: 'gold',
      quantity: 1,
      user_id: 'player of GPA.2/gold',
      price: 399,
      currency: 'USD',
      status: 'purchased',
    },
    file: { sku: 'gold', quantity: 1, price: 499, currency: 'USD', status: 'purchased' },
  })
  assert.deepEqual(await collect(till.purchases.all(account, { store_id: 'play' })), before)
  assert.deepEqual((await till.imports.list(account, { store_id: 'play' })).imports, [])
})

test('gifts, free and pending purchases and those near the ends are not judged', async () => {
  const shop = await createPlayShop()
  const { till, account, record, reconcile } = shop
  await recordEnds(shop)
  const gift = await record('GIFT', day(15), { price: undefined, is_grant: true })
  assert.equal(gift.purchase?.is_grant, true)
  const priced = record('GIFT-2', day(15), { is_grant: true })
  assert.match((await failureOf(priced)).message, /price must be left out: a gift has none/)
  await record('FREE', day(15), { price: 0 })
  await record('WAITS', day(15), { status: 'pending' })
  await record('REFUNDED', day(15), { status: 'refunded' })
  await record('EARLY', day(3))
  await record('LATE', day(29), { purchased_at: '2026-07-29T10:00:01Z' })
  await record('JUNE', day(15, '06'))
  const rows = [...ENDS, play('GPA.T', day(9), 'Charged', '0.00')]
  const found = await reconcile(rows)
  assert.deepEqual(shown(found), ['missing_in_file 1: EARLY: USD 499 0'])
  // Gifts, FREE, WAITS, REFUNDED, and LATE. The file has GPA.0; GPA.99 is after its end.
  assert.deepEqual([found.judged, found.unjudged, found.near_ends], [1, 5, 1])
  const narrow = await reconcile(ENDS, { from: day(1), to: day(2) })
  assert.deepEqual([narrow.judged, narrow.to, shown(narrow)], [0, `${day(2)}T00:00:00.000Z`, []])
  const { purchases } = await till.purchases.list(account, { store_id: 'play' })
  const granted = purchases.filter(({ is_grant }) => is_grant)
  assert.deepEqual(
    granted.map(({ transaction_id }) => transaction_id),
    ['GIFT'],
  )
})

test('a narrowed period ends where the caller says: it ended at the last sale in it', async () => {
  const shop = await createPlayShop()
  const { record, reconcile } = shop
  await recordEnds(shop)
  await record('FORGED', day(20))
  const rows = [...ENDS, play('GPA.T', day(9))]
  const narrow = { from: day(5), to: day(25) }
  const found = await reconcile(rows, narrow)
  assert.deepEqual([found.from, found.to], [`${day(5)}T00:00:00.000Z`, `${day(25)}T00:00:00.000Z`])
  assert.deepEqual(shown(found)[0], 'missing_in_file 1: FORGED: USD 499 0')
  const none = failureOf(reconcile(ENDS, narrow))
  assert.match((await none).message, /file has no sale in the period/)
})

test('a stored purchase is not made a gift, and a gift gets no price: both said skipped or updated', async () => {
  const { record } = await createPlayShop()
  await record('PAID', day(15), { price: undefined })
  const marked = record('PAID', day(15), { price: undefined, is_grant: true })
  assert.match((await failureOf(marked)).message, /is_grant differs from the stored purchase/)
  await record('GIFT', day(15), { price: undefined, is_grant: true })
  const priced = record('GIFT', day(15), { price: 499 })
  assert.match((await failureOf(priced)).message, /price differs from the stored purchase/)
  const again = await record('GIFT', day(15), { price: undefined })
  assert.deepEqual([again.outcome, again.purchase?.is_grant], ['skipped', true])
})

test('a row in any state proves that its purchase exists', async () => {
  const shop = await createPlayShop()
  const { record, reconcile } = shop
  await recordEnds(shop)
  const ids = ['GPA.1/gold', 'GPA.2/gold', 'GPA.3/gold', 'GPA.4/old', 'GPA.5/gold', 'GPA.6/gold']
  for (const id of ids) await record(id, day(15))
  const rows = [
    play('GPA.1', day(15), 'Partial refund', '-1.00'),
    play('GPA.2', day(15), 'Charged', '4.99', 'puzzle'),
    play('GPA.3', day(15)).replace(',gold,', ',,'), // names no SKU
    play('GPA.4', day(15)).replace(',gold,', ',old,'),
    play('GPA.5', day(3, '02'), 'Refund', '-4.99'),
  ]
  const skus = 'vendor_sku,item\ngold,gold\nold,\n'
  assert.deepEqual(shown(await reconcile([...ENDS, ...rows], { skus })), [
    'missing_in_file 1: GPA.6/gold: USD 499 0',
    'status 1: GPA.5/gold: USD 499 499',
  ])
})

/** Rows of a canonical file. */
const plain = (id: string, date: string, more = ',499,USD,') =>
  `${id},gold,${date}T10:00:00Z,${more}`

/** An account on a till. */
type Caller = Pick<Shop, 'till'> & { readonly account: Account }

async function reconcilePlain(
  { till, account }: Caller,
  rows: readonly string[],
  more: Partial<ReconcileRequest> = {},
) {
  const file = fileOf(HEADER, rows.join('\n'))
  return till.purchases.reconcile(account, { store_id: 'main', file, ...JULY, ...more })
}

async function importPlain({ till, account }: Caller, ...rows: readonly string[]) {
  const file = fileOf(HEADER, rows.join('\n'))
  return till.purchases.import(account, { store_id: 'main', file })
}

test('other formats need a period, and have one row for each payment', async () => {
  const shop = await createShop()
  const stored = [
    plain('T-1', day(10), 'ann,499,USD,'),
    plain('T-2', day(10), 'ann,499,USD,'),
    plain('T-3', day(10), 'ann,499,USD,refunded'),
    plain('T-4', day(10), 'ann,499,EUR,'),
    plain('T-5', day(10), ',,,'),
    plain('T-6', day(10), ',499,USD,pending'),
  ]
  await importPlain(shop, ...stored)
  const refusal = await failureOf(reconcilePlain(shop, stored, { from: undefined }))
  assert.deepEqual([refusal.details[0]?.field, refusal.details[0]?.code], ['from', 'required'])
  assert.deepEqual(shown(await reconcilePlain(shop, stored)), [])
  const rows = [
    plain('T-1', day(10), 'bob,499,USD,'),
    plain('T-2', day(10), ',499,USD,cancelled'),
    plain('T-3', day(10), 'ann,499,USD,purchased'), // from an older export
    plain('T-4', day(10), ',499,USD,'),
    plain('T-5', day(10), 'ann,499,USD,'), // values that the store lacks
    plain('T-6', day(10), ',499,USD,purchased'),
    plain('T-7', day(10), ',100,JPY,refunded'),
    plain('T-8', day(10), ',100,JPY,pending'),
    plain('T-9', day(10), ',0,JPY,'),
    plain('T-10', day(9, '09'), ',100,JPY,'), // after the period
    plain('T-11', day(10), ',100,JPY,cancelled'),
  ]
  const expected = [
    'missing_in_store 1: T-7: JPY 0 100',
    'status 2: T-2 T-6: USD 998 998',
    'amount 1: T-4: EUR 499 0, USD 0 499',
    'user 1: T-1: USD 499 499',
  ]
  assert.deepEqual(shown(await reconcilePlain(shop, rows)), expected)
  assert.deepEqual(shown(await reconcilePlain(shop, [...rows, ...rows])), expected)
  const none = failureOf(reconcilePlain(shop, rows, { from: day(1, '10'), to: day(1, '11') }))
  assert.match((await none).message, /file has no sale in the period/)
})

test('a file that an import refuses is not compared', async () => {
  const shop = await createShop()
  const refused = async (...rows: string[]) => {
    const { code, details } = await failureOf(reconcilePlain(shop, rows))
    return [code, ...details.map(({ line, code }) => `${line} ${code}`)].join(' ')
  }
  assert.equal(await refused(plain('T-1', 'x')), 'invalid_purchases 2 invalid')
  assert.equal(
    await refused(plain('T-1', day(10)).replace('gold', 'sword')),
    'invalid_purchases 2 unknown_sku',
  )
  // Ids that a spreadsheet has rounded would make all purchases missing.
  assert.equal(
    await refused(plain('1234567890', day(10)), plain('1234567890', day(11))),
    'invalid_purchases 3 transaction_conflict',
  )
  assert.equal(await refused(), 'invalid_request undefined invalid')
})

test('the store compares what is committed, and what was not deleted with its user', async (t) => {
  const place = newPlace(t)
  const shop = await place.shop()
  const { till, account, project_id } = shop
  await importPlain(
    shop,
    plain('T-1', day(10), 'ann,499,USD,'),
    plain('T-2', day(10), 'eve,499,USD,'),
  )
  await importPlain(shop, plain('T-3', day(10)), plain('T-4', day(10)))
  await till.users.erase(account, { project_id, user_id: 'ann', delete: true })
  await till.users.erase(account, { project_id, user_id: 'eve' })
  const storage = await place.storage()
  const running = await storage.openImport({ ...account, store_id: 'main' }, 'imp_running')
  const row = { sku: 'gold', quantity: 1, metadata: {}, purchased_at: Date.parse(day(10)) }
  await running?.add([
    { ...row, line: 2, transaction_id: 'T-5', status: 'purchased' },
    { ...row, line: 3, transaction_id: 'T-3', status: 'refunded' },
  ])
  await running?.finish()
  const rows = [
    plain('T-1', day(10), 'ann,499,USD,'),
    plain('T-2', day(10), 'eve,499,USD,'),
    plain('T-3', day(10)),
    plain('T-6', day(10)),
  ]
  assert.deepEqual(shown(await reconcilePlain(shop, rows)), [
    'missing_in_file 1: T-4: USD 499 0',
    'missing_in_store 1: T-6: USD 0 499',
  ])
  await running?.abort()
})

test('cancelling what the file lacks is one import, which webhooks tell and an undo takes back', async () => {
  const shop = await createPlayShop()
  const { till, account, project_id, record, reconcile } = shop
  const config = { webhook_url: 'https://game.example/hook' }
  await till.projects.update(account, { id: project_id, config })
  await recordEnds(shop)
  await record('GPA.1/gold', day(10))
  for (const id of ['FAKE-1', 'FAKE-2']) await record(id, day(15))
  const rows = [...ENDS, play('GPA.1', day(10))]
  const statuses = async () => {
    const { purchases } = await till.purchases.list(account, { store_id: 'play' })
    const lost = purchases.filter(({ status }) => status === 'cancelled')
    return lost.map(({ transaction_id }) => transaction_id).join(' ')
  }
  const wrong = await failureOf(reconcile(rows, { cancel_missing: 3 }))
  assert.deepEqual([wrong.details[0]?.field, wrong.details[0]?.code], ['cancel_missing', 'changed'])
  assert.match(wrong.message, /is 3, but the file lacks 2 purchases now/)
  assert.equal(await statuses(), '')

  const name = { fileName: 'july.csv' }
  const done = await reconcile(rows, { cancel_missing: 2, ...name })
  assert.deepEqual([done.cancelled, await statuses()], [2, 'FAKE-1 FAKE-2'])
  const { imports } = await till.imports.list(account, { store_id: 'play' })
  const [listed] = imports
  assert.deepEqual(
    [listed?.import_id, listed?.file_name, listed?.rows, listed?.added, listed?.updated],
    [done.import_id, 'july.csv', 2, 0, 2],
  )
  assert.deepEqual(listed?.totals, [
    { status: 'cancelled', currency: 'USD', rows: 2, total: '998' },
  ])
  const { messages } = await till.outbox.claim()
  const told = messages.map(({ body }) => JSON.parse(body)).filter(({ data }) => data.purchases)
  assert.deepEqual(
    told.map(({ type, data }) => [
      type,
      data.purchases.map((each: Purchase) => each.transaction_id),
    ]),
    [['purchases.refunded', ['FAKE-1', 'FAKE-2']]],
  )
  assert.deepEqual(shown(await reconcile(rows)), [])
  const owned = await till.purchases.owned(account, {
    store_id: 'play',
    user_id: 'player of FAKE-1',
  })
  assert.deepEqual(owned.owned, [])

  await till.imports.undo(account, { import_id: done.import_id ?? '' })
  assert.equal(await statuses(), '')
  assert.deepEqual(shown(await reconcile(rows)), ['missing_in_file 2: FAKE-1 FAKE-2: USD 998 0'])
})

test('a cancellation needs a valid key at its commit, and an active store', async (t) => {
  const place = newPlace(t)
  const { till, account_key, account_id } = await place.shop()
  const account = await till.accounts.get(account_id)
  const shop = { till, account }
  await importPlain(shop, plain('FAKE', day(10)))
  const caller = await till.accounts.authenticate(account_key)
  const cancelWith = (file: AsyncIterable<Uint8Array>) =>
    till.purchases.reconcile(caller, { store_id: 'main', file, ...JULY, cancel_missing: 1 })
  async function* slowFile() {
    yield Buffer.from(HEADER + plain('T-2', day(12)))
    await till.accounts.addKey(account)
    await till.accounts.revokeKey(account, caller.key_id)
  }
  await assert.rejects(cancelWith(slowFile()), { code: 'account_key_required' })
  const { purchases } = await till.purchases.list(account, { store_id: 'main' })
  assert.equal(purchases[0]?.status, 'purchased')
  await assert.rejects(
    till.purchases.reconcile(caller, { store_id: 'main', file: slowFileOf(), ...JULY }),
    { code: 'account_key_required' },
  )
  await till.stores.update(account, { store_id: 'main', status: 'disabled' })
  const rows = [plain('T-2', day(12))]
  assert.equal(shown(await reconcilePlain(shop, rows)).length, 2)
  const closed = reconcilePlain(shop, rows, { cancel_missing: 1 })
  await assert.rejects(closed, { code: 'store_inactive' })
})

const slowFileOf = () => fileOf(HEADER, plain('T-2', day(12)))

test('a key needs only the scope purchases', async () => {
  const shop = await createShop()
  const { till, account } = shop
  await importPlain(shop, plain('FAKE', day(10)))
  const rows = [plain('T-2', day(12))]
  const withScope = async (scope: KeyScope) => {
    const { account_key } = await till.accounts.addKey(account, { scopes: [scope] })
    return { till, account: await till.accounts.authenticate(account_key) }
  }
  assert.equal(shown(await reconcilePlain(await withScope('purchases'), rows)).length, 2)
  await assert.rejects(reconcilePlain(await withScope('read'), rows), {
    code: 'insufficient_scope',
  })
})

test('an account compares only its own stores, and a session none', async () => {
  const shop = await createShop()
  const { till, token } = shop
  const other = await till.accounts.create({ name: 'Other' })
  const request = { store_id: 'main', file: slowFileOf(), ...JULY }
  const foreign = await failureOf(till.purchases.reconcile(other, request))
  const unknown = await failureOf(
    till.purchases.reconcile(other, { ...request, store_id: 'none', file: slowFileOf() }),
  )
  assert.deepEqual(foreign, unknown)
  const session = await till.sessions.authenticate(token)
  await assert.rejects(till.purchases.reconcile(session as never, request), TypeError)
})

test('a shop with sales in 13 currencies and renewals differs by its frauds only', async () => {
  const till = (await createShop()).till
  const account = await till.accounts.create({ name: 'Demo' })
  const game = { name: 'Game', bundle_id: BUNDLE_ID, platform: 'mobile' } as const
  const { id } = await till.projects.create(account, game)
  await createDemoStores(till, account, id)
  const now = Date.UTC(2026, 6, 15)
  const report = () => googlePlayReport({ now, purchases: 1_000 })
  const play = { store_id: 'google-play', skus: SKU_MAP }
  await till.purchases.import(account, { ...play, file: report() })
  const same = await till.purchases.reconcile(account, { ...play, file: report() })
  assert.deepEqual(same.differences, [])
  assert.ok(same.judged > 800 && same.passed_over > 50)
  const skus = ['gold_100', 'potion', 'gems_80']
  for (const [i, sku] of skus.entries()) {
    await till.purchases.record(account, {
      store_id: 'google-play',
      transaction_id: `GPA.0000-0000-0000-0000${i}/com.example.demo.gold.100`,
      sku,
      purchased_at: '2026-03-01T00:00:00Z',
      user_id: 'thief',
      price: 100 * (i + 1),
      currency: ['USD', 'JPY', 'KWD'][i],
    })
  }
  const [found, ...others] = (await till.purchases.reconcile(account, { ...play, file: report() }))
    .differences
  assert.deepEqual([found?.kind, found?.purchases, others], ['missing_in_file', 3, []])
  assert.deepEqual(
    found?.totals.map(({ currency, stored_total }) => `${currency} ${stored_total}`),
    ['USD 100', 'JPY 200', 'KWD 300'],
  )
})

test('a thousand differences of a kind are listed, and all are counted', async () => {
  const shop = await createShop()
  const rows = Array.from({ length: 20_000 }, (_, i) => plain(`T-${i}`, day(10)))
  const found = await reconcilePlain(shop, rows)
  const [group] = found.differences
  assert.deepEqual([group?.purchases, group?.first.length], [20_000, 1_000])
  assert.deepEqual([group?.first[0]?.line, group?.first[999]?.line], [2, 1_001])
  assert.equal(group?.totals[0]?.file_total, String(20_000 * 499))
})
