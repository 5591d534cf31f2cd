import assert from 'node:assert/strict'
import { test as testOnce } from 'node:test'
import { collect, pluck } from '../support/collect.ts'
import { testOnEach as test } from '../support/databases.ts'
import { createShop, failureOf, fileOf, type Shop } from '../support/till.ts'

const HEADER = 'transaction_id,sku,purchased_at,user_id,price,currency,status\n'
const MAIN = { store_id: 'main' }

async function importText({ till, account }: Shop, ...lines: string[]) {
  return till.purchases.import(account, { ...MAIN, file: fileOf(HEADER, ...lines) })
}

const exported = async ({ till, account }: Shop, query: object = {}) =>
  (await collect(till.purchases.export(account, { ...MAIN, ...query }))).join('')

test('a full export imports into an empty store as the same purchases', async () => {
  const shop = await createShop()
  const other = await createShop()
  const cells = ['=1', '+a', '-b', '@c', "'=d", 'a,b', 'é😀', 'x', '"q"', 'a\nb']
  const statuses = ['purchased', 'pending', 'refunded', 'cancelled']
  const rows = cells.map((cell, i) => {
    const quoted = `"${cell.replaceAll('"', '""')}"`
    const metadata = i % 2 ? '"{""a"":[""=1"",{""b"":null}]}"' : ''
    const at = '2024-03-01T12:34:56.789Z'
    return `${quoted},gold,${at},${quoted},${i},EUR,${statuses[i % 4]},${metadata}\n`
  })
  const file = fileOf(HEADER.replace('\n', ',metadata\n'), ...rows)
  await shop.till.purchases.import(shop.account, { ...MAIN, file })

  const csv = await exported(shop)
  const again = { ...MAIN, file: fileOf(csv) }
  assert.equal((await other.till.purchases.import(other.account, again)).added, cells.length)

  const all = async ({ till, account }: Shop) => {
    const found = await collect(till.purchases.all(account, MAIN))
    return found.map(({ import_id: _, ...purchase }) => purchase)
  }
  assert.deepEqual(await all(other), await all(shop))
  assert.deepEqual(pluck(await all(other), 'transaction_id'), cells)
  assert.equal(await exported(other), csv)
})

test('an export has what its query selects, and rows added to it by hand are read unchanged', async () => {
  const shop = await createShop()
  const other = await createShop()
  const { till, account, project_id } = shop
  await till.items.create(account, {
    ...{ ...MAIN, name: 'gem', display_name: 'Gem', price: '1', type: 'consumable' },
  })
  await till.stores.create(account, { project_id, store_id: 'side', store_type: 'web' })
  const { import_id } = await importText(
    shop,
    '=1,gold,2024-01-31T23:59:59Z,ann,499,USD,\n',
    'T-2,gold,2024-02-01T00:00:00Z,ann,499,USD,refunded\n',
  )
  await importText(shop, 'T-3,gem,2024-02-01T00:00:00Z,bob,499,USD,\n')
  const ids = async (query: object) => {
    const lines = (await exported(shop, query)).split('\r\n').slice(1, -1)
    return lines.map((line) => line.split(',')[0])
  }
  assert.deepEqual(await ids({ from: '2024-02-01' }), ['T-2', 'T-3'])
  assert.deepEqual(await ids({ to: '2024-02-01T00:00:00Z' }), ["'=1"])
  assert.deepEqual(await ids({ user_id: 'ann', status: 'refunded' }), ['T-2'])
  assert.deepEqual(await ids({ sku: 'gem' }), ['T-3'])
  assert.deepEqual(await ids({ import_id }), ["'=1", 'T-2'])
  for (const query of [{ import_id: 'imp_none' }, { import_id, store_id: 'side' }]) {
    assert.deepEqual((await failureOf(exported(shop, query))).details[0]?.field, 'import_id')
  }
  const newest = await till.purchases.list(account, { ...MAIN, newest_first: true, limit: 2 })
  assert.deepEqual(pluck(newest.purchases, 'transaction_id'), ['T-3', 'T-2'])

  await other.till.items.create(other.account, {
    ...{ ...MAIN, name: 'gem', display_name: 'Gem', price: '1', type: 'consumable' },
  })
  const csv = `${await exported(shop)}'=2,gold,2024-01-31T00:00:00Z,,1,,,,,,\r\n`
  await other.till.purchases.import(other.account, { ...MAIN, file: fileOf(csv) })

  const { purchases } = await other.till.purchases.list(other.account, MAIN)
  assert.deepEqual(pluck(purchases, 'transaction_id'), ['=1', 'T-2', 'T-3', "'=2"])
})

testOnce('a wrong or misspelt field of a query is refused by its name', async () => {
  const { till, account } = await createShop()
  const list = (query: object) => till.purchases.list(account, { ...MAIN, ...query })
  const sum = (query: object) => till.purchases.summarize(account, query)
  const load = (query: object) =>
    till.purchases.import(account, { ...MAIN, file: fileOf(HEADER), ...query })
  const time = 'must be a day (2026-01-31) or a time with its zone (2026-01-31T12:00:00Z)'
  const limit = 'must be a whole number from 1 to 1000'
  type Row = [
    call: (query: object) => Promise<unknown>,
    query: object,
    mistake: string,
    text?: string,
  ]
  const rows: readonly Row[] = [
    [list, { from: 'yesterday' }, 'from invalid', time],
    [list, { to: '2024-02-30' }, 'to invalid', time],
    [list, { status: 'paid' }, 'status invalid'],
    ...[0, 1001, 1.5, Number.NaN].map((n): Row => [list, { limit: n }, 'limit invalid', limit]),
    [list, { cursor: 'x' }, 'cursor invalid'],
    [list, { user: 'ann' }, 'user unknown'],
    [till.operator.listAudit, { account: 'acc_1' }, 'account unknown'],
    [load, { dry_run: true }, 'dry_run unknown'],
    [sum, { store_id: 'other' }, 'store_id unknown'],
    [sum, { by: ['year'] }, 'by invalid'],
    [sum, { by: 'month' }, 'by invalid'],
    [sum, { by: ['sku', 'sku'] }, 'by invalid'],
    [sum, { by: ['day', 'month'] }, 'by invalid'],
    [sum, { from: 'yesterday' }, 'from invalid'],
    [sum, { limit: 10 }, 'limit unknown'],
  ]
  for (const [call, query, mistake, text] of rows) {
    const { details } = await failureOf(call(query))
    assert.deepEqual(
      details.map(({ field, code }) => `${field} ${code}`),
      [mistake],
    )
    if (text) assert.equal(details[0]?.message, text)
  }
  assert.deepEqual((await list({})).purchases, [])
})

test('totals and sums are exact beyond 2^53, by month, item and currency, of each status', async () => {
  const shop = await createShop()
  const large = '9007199254740991'
  const row = (id: string, user: string, price: string, status: string) =>
    `${id},gold,2024-01-31T23:59:59Z,${user},${price},USD,${status}\n`
  const { totals } = await importText(
    shop,
    ...[row('T-1', 'ann', large, ''), row('T-2', 'ann', large, ''), row('T-3', '', large, '')],
    'T-4,gold,2024-02-01T01:00:00+02:00,,1,EUR,refunded\n',
    ...[row('T-5', 'cat', '2', 'pending'), row('T-6', 'dan', '3', 'cancelled')],
  )
  assert.deepEqual(totals.slice(0, 2), [
    { status: 'purchased', currency: 'USD', rows: 3, total: '27021597764222973' },
    { status: 'refunded', currency: 'EUR', rows: 1, total: '1' },
  ])
  const gold = { month: '2024-01', sku: 'gold' }
  const usd = { purchased: 3, pending: 1, refunded: 0, cancelled: 1, buyers: 1 }
  const eur = { purchased: 0, pending: 0, refunded: 1, cancelled: 0, buyers: 0 }
  const sums = [
    { ...gold, currency: 'EUR', ...eur, revenue: '0', refunded_total: '1' },
    { ...gold, currency: 'USD', ...usd, revenue: totals[0]?.total, refunded_total: '0' },
  ]
  const summarize = (query: object) =>
    shop.till.purchases.summarize(shop.account, { ...MAIN, ...query })
  assert.deepEqual(await summarize({}), sums)
  assert.deepEqual(await summarize({ top: 1 }), [sums[1]])
  assert.deepEqual(await summarize({ status: 'refunded' }), [sums[0]])
  const { purchased, pending, refunded, cancelled } = await shop.till.purchases.overview(
    shop.account,
    MAIN,
  )
  assert.deepEqual([purchased, pending, refunded, cancelled], [3, 1, 1, 1])
})

test('an overview names fifty currencies, the most used first, and counts all', async () => {
  const shop = await createShop()
  const { till, account } = shop
  const codes = Array.from(
    { length: 60 },
    (_, i) => `X${String.fromCharCode(65 + (i % 26), 65 + i / 26)}`,
  )
  const rows = [...codes, 'XHC'].map((code, i) => `T-${i},gold,2026-01-31T12:00:00Z,,1,${code},\n`)
  await importText(shop, ...rows)

  const { currencies, currency_count, purchased } = await till.purchases.overview(account, MAIN)

  assert.deepEqual([currencies.length, currency_count, purchased], [50, 60, 61])
  assert.deepEqual([currencies[0]?.currency, currencies[0]?.revenue], ['XHC', '2'])
})

test('best sellers are counted in all currencies, and each store of the account has its totals', async () => {
  const shop = await createShop()
  const { till, account } = shop
  const store = await till.stores.get(account, 'main')
  const { project_id } = store
  for (const [store_id, is_sandbox] of [
    ['side', false],
    ['tests', true],
  ] as const) {
    await till.stores.create(account, { project_id, store_id, store_type: 'web', is_sandbox })
    const item = {
      store_id,
      name: 'gold',
      display_name: 'Gold',
      price: '1',
      type: 'consumable',
    } as const
    await till.items.create(account, item)
    const file = fileOf(HEADER_OF_SALES + saleOf(`${store_id}-1`, 'gold', 'USD'))
    await till.purchases.import(account, { store_id, file })
  }
  await till.items.create(account, {
    store_id: 'main',
    name: 'everywhere',
    display_name: 'Sold in each currency',
    price: '1',
    type: 'consumable',
  })
  const codes = Array.from({ length: 20 }, (_, i) => `X${String.fromCharCode(65 + i)}A`)
  // Sold 100 times in 20 currencies, and 24 times in one.
  const sales = [
    ...codes.flatMap((code) => Array(5).fill(['everywhere', code])),
    ...Array(24).fill(['gold', 'USD']),
  ].map(([sku, code], i) => saleOf(`M-${i}`, sku, code))
  const file = fileOf(HEADER_OF_SALES + sales.join(''))
  await till.purchases.import(account, { store_id: 'main', file })

  const own = await till.purchases.overview(account, MAIN)
  assert.deepEqual(
    own.items.map(({ sku, purchased, currencies }) => [sku, purchased, currencies.length]),
    [
      ['everywhere', 100, 20],
      ['gold', 24, 1],
    ],
  )
  const all = await till.purchases.overview(account, { currency: 'USD' })
  assert.deepEqual(
    all.stores.map(({ store_id, purchased, currencies }) => [
      store_id,
      purchased,
      currencies.at(-1)?.revenue,
    ]),
    [
      ['main', 124, '5'],
      ['side', 1, '1'],
    ],
  )
  assert.deepEqual([all.items[1]?.sku, all.items[1]?.purchased], ['gold', 25])
  assert.deepEqual(new Set(all.periods.map(({ currency }) => currency)), new Set(['USD']))
})

const HEADER_OF_SALES = 'transaction_id,sku,purchased_at,price,currency\n'

function saleOf(id: string, sku: string, currency: string): string {
  return `${id},${sku},2026-01-31T12:00:00Z,1,${currency}\n`
}
