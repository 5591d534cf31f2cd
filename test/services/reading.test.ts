import assert from 'node:assert/strict'
import { test } from 'node:test'
import { collect, pluck } from '../support/collect.ts'
import { fc } from '../support/seeds.ts'
import { createShop, failureOf, fileOf, type Shop } from '../support/till.ts'

const HEADER = 'transaction_id,sku,purchased_at,user_id,price,currency,status\n'

async function importText(shop: Shop, text: string) {
  return shop.till.purchases.import(shop.account, { store_id: 'main', file: fileOf(text) })
}

const exported = async (shop: Shop, query: object = {}) => {
  const chunks = shop.till.purchases.export(shop.account, { store_id: 'main', ...query })
  return (await collect(chunks)).join('')
}

async function all(shop: Shop): Promise<object[]> {
  const found = await collect(shop.till.purchases.all(shop.account, { store_id: 'main' }))
  return found.map(({ import_id: _, ...purchase }) => purchase)
}

test('a full export imports into an empty store as the same purchases', async () => {
  const text = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 20 })
  const cell = fc
    .oneof(text, fc.stringMatching(/^[=+\-@'\t\r]{1,3}[a-z"7]{0,3}$/))
    .filter((each) => {
      return !each.includes('\0') && each.isWellFormed()
    })
  const row = fc.record({
    transaction_id: cell,
    user_id: cell,
    price: fc.nat(),
    status: fc.constantFrom('purchased', 'pending', 'refunded', 'cancelled'),
    metadata: fc.constantFrom('', '{"a":["=1",{"b":null}]}'),
  })
  const quote = (each: unknown) => `"${String(each).replaceAll('"', '""')}"`
  const rows = fc.uniqueArray(row, { selector: (each) => each.transaction_id, maxLength: 20 })
  await fc.assert(
    fc.asyncProperty(rows, async (made) => {
      const shop = await createShop()
      const other = await createShop()
      const lines = made.map(({ transaction_id, user_id, price, status, metadata }) =>
        [
          transaction_id,
          'gold',
          '2024-03-01T12:34:56.789Z',
          user_id,
          price,
          'EUR',
          status,
          metadata,
        ]
          .map(quote)
          .join(','),
      )
      await importText(shop, `${HEADER.trimEnd()},metadata\n${lines.join('\n')}\n`)

      const file = await exported(shop)
      const { added } = await importText(other, file)

      assert.equal(added, made.length)
      assert.deepEqual(await all(other), await all(shop))
      assert.equal(await exported(other), file)
    }),
    { numRuns: 25 },
  )
})

test('rows added to an export by hand are read unchanged', async () => {
  const shop = await createShop()
  const other = await createShop()
  await importText(shop, `${HEADER}=1,gold,2024-01-31T00:00:00Z,,,,\n`)
  const file = await exported(shop)
  assert.match(file, /\r\n'=1,.*,1\r\n$/)

  await importText(other, `${file}'=2,gold,2024-01-31T00:00:00Z,,1,,,,,,\r\n`)

  const { purchases } = await other.till.purchases.list(other.account, { store_id: 'main' })
  assert.deepEqual(pluck(purchases, 'transaction_id'), ['=1', "'=2"])
})

test('an export contains the purchases that its query selects', async () => {
  const shop = await createShop()
  await importText(
    shop,
    `${HEADER}T-1,gold,2024-01-31T23:59:59Z,ann,499,USD,\nT-2,gold,2024-02-01T00:00:00Z,ann,499,USD,refunded\nT-3,gold,2024-02-01T00:00:00Z,bob,499,USD,\n`,
  )
  const ids = (text: string) =>
    text
      .split('\r\n')
      .slice(1, -1)
      .map((line) => line.split(',')[0])
  assert.deepEqual(ids(await exported(shop, { from: '2024-02-01' })), ['T-2', 'T-3'])
  assert.deepEqual(ids(await exported(shop, { to: '2024-02-01T00:00:00Z' })), ['T-1'])
  assert.deepEqual(ids(await exported(shop, { user_id: 'ann', status: 'refunded' })), ['T-2'])
})

test('a list is refused with a bad period, status or page', async () => {
  const { till, account } = await createShop()
  const time = 'must be a day (2026-01-31) or a time with its zone (2026-01-31T12:00:00Z)'
  const limit = 'must be a whole number from 1 to 1000'
  const wrong: readonly [query: object, message: string][] = [
    [{ from: 'yesterday' }, time],
    [{ to: '2024-02-30' }, time],
    [{ status: 'paid' }, 'must be one of purchased, pending, refunded, cancelled'],
    ...[0, 1001, 1.5, Number.NaN].map((each): [object, string] => [{ limit: each }, limit]),
    [{ cursor: 'x' }, 'must be the next of the previous page'],
  ]
  for (const [query, message] of wrong) {
    const [field] = Object.keys(query)
    await assert.rejects(till.purchases.list(account, { store_id: 'main', ...query }), {
      code: 'invalid_request',
      details: [{ field, code: 'invalid', message }],
    })
  }
})

test('a misspelt field of a query or an import is refused', async () => {
  const { till, account } = await createShop()
  const file = fileOf(`${HEADER}T-1,gold,2024-01-01T00:00:00Z,,,,\n`)
  const asked = (field: string, value: unknown) => ({ store_id: 'main', [field]: value })
  const rows: [field: string, operation: Promise<unknown>][] = [
    ['user', till.purchases.list(account, asked('user', 'ann'))],
    ['account', till.operations.listAudit({ account: account.account_id } as object)],
    ['dry_run', till.purchases.import(account, { ...asked('dry_run', true), file })],
  ]
  for (const [field, operation] of rows) {
    const { details } = await failureOf(operation)
    assert.deepEqual(
      details.map((each) => [each.field, each.code]),
      [[field, 'unknown']],
    )
  }
  assert.deepEqual((await till.purchases.list(account, { store_id: 'main' })).purchases, [])
})

test('a summary counts by month, item and currency, and revenue is exact', async () => {
  const shop = await createShop()
  const large = '9007199254740991'
  await importText(
    shop,
    `${HEADER}T-1,gold,2024-01-31T23:59:59Z,,${large},USD,\nT-2,gold,2024-01-01T00:00:00Z,,${large},USD,\nT-3,gold,2024-01-01T00:00:00Z,,499,USD,refunded\nT-4,gold,2024-02-01T01:00:00+02:00,,1,EUR,\nT-5,gold,2024-02-01T00:00:00Z,,,,pending\n`,
  )
  const counts = { purchased: 0, pending: 0, refunded: 0, cancelled: 0 }
  const none = { ...counts, refunded_total: '0', buyers: 0 }
  const gold = { month: '2024-01', sku: 'gold', ...none }
  const large2 = '18014398509481982'
  assert.deepEqual(await shop.till.purchases.summarize(shop.account, { store_id: 'main' }), [
    { ...gold, currency: 'EUR', purchased: 1, revenue: '1' },
    { ...gold, currency: 'USD', purchased: 2, refunded: 1, revenue: large2, refunded_total: '499' },
    { ...gold, month: '2024-02', currency: '', pending: 1, revenue: '0' },
  ])
})

test('a refused summary names every invalid field of its query', async () => {
  const { till, account } = await createShop()
  const wrong: readonly (readonly [query: object, field: string, code: string])[] = [
    [{ store_id: 'other' }, 'store_id', 'unknown'],
    [{ by: ['year'] }, 'by', 'invalid'],
    [{ by: 'month' }, 'by', 'invalid'],
    [{ by: ['sku', 'sku'] }, 'by', 'invalid'],
    [{ by: ['day', 'month'] }, 'by', 'invalid'],
    [{ from: 'yesterday' }, 'from', 'invalid'],
    [{ limit: 10 }, 'limit', 'unknown'],
  ]
  for (const [query, field, code] of wrong) {
    const { details } = await failureOf(till.purchases.summarize(account, query))
    assert.deepEqual(
      details.map((each) => [each.field, each.code]),
      [[field, code]],
    )
  }
})

test('the totals of an import are exact beyond 2^53', async () => {
  const shop = await createShop()
  const rows = [1, 2, 3].map((i) => `T-${i},gold,2024-01-31T00:00:00Z,,9007199254740991,USD,\n`)
  const { totals } = await importText(shop, HEADER + rows.join(''))
  assert.deepEqual(totals, [
    { status: 'purchased', currency: 'USD', rows: 3, total: '27021597764222973' },
  ])
})
