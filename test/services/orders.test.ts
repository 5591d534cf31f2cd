import assert from 'node:assert/strict'
import type { Till } from '../../lib/index.ts'
import { testOnEach as test } from '../support/databases.ts'
import { outboxOf } from '../support/storage/holding.ts'
import { createClock, createShop, failureOf, fileOf } from '../support/till.ts'

const SALE = {
  store_id: 'main',
  sku: 'gold',
  purchased_at: '2026-05-01T10:00:00Z',
  price: 499,
  currency: 'USD',
}
const MAIN = { store_id: 'main' }

/** A shop with purchases of these ids. */
async function createOrders(ids: readonly string[], more: object = {}) {
  const shop = await createShop()
  const { till, account } = shop
  for (const transaction_id of ids) {
    await till.purchases.record(account, { ...SALE, transaction_id, ...more })
  }
  const statuses = async () => {
    const { purchases } = await till.purchases.list(account, MAIN)
    return purchases.map(({ transaction_id, status }) => `${transaction_id} ${status}`)
  }
  return { ...shop, statuses }
}

/** The bodies of the webhooks of the account's only endpoint, in order. */
async function deliveredTo(till: Till) {
  const { messages } = await outboxOf(till).claim()
  return messages.map(({ body }) => JSON.parse(body))
}

test('a refund by id needs no SKU and no time, and takes back all purchases of an order', async () => {
  const { till, account, statuses } = await createOrders(['A/gold', 'A/gem', 'A0/gold', 'B'])
  await till.purchases.record(account, { ...SALE, transaction_id: 'A/gem', status: 'cancelled' })

  const first = await till.purchases.refund(account, { ...MAIN, transaction_id: 'A' })
  assert.deepEqual(first.refunds, [
    { transaction_id: 'A/gem', sku: 'gold', quantity: 1, outcome: 'already' },
    { transaction_id: 'A/gold', sku: 'gold', quantity: 1, outcome: 'refunded' },
  ])
  const kept = ['A/gem cancelled', 'A0/gold purchased', 'B purchased']
  assert.deepEqual(await statuses(), ['A/gold refunded', ...kept])

  const again = await till.purchases.refund(account, { ...MAIN, transaction_id: 'A' })
  assert.deepEqual(
    again.refunds.map(({ outcome }) => outcome),
    ['already', 'already'],
  )
  const actions = (await till.accounts.listAudit(account)).entries.map(({ action }) => action)
  assert.equal(actions.filter((each) => each === 'purchases.refund').length, 1)

  const unknown = till.purchases.refund(account, { ...MAIN, transaction_id: 'C' })
  assert.equal((await failureOf(unknown)).code, 'purchase_not_found')
})

test('a refund by id changes nothing if the id may stand for several orders', async () => {
  const { till, account, statuses } = await createOrders(['2024/1'])
  const later = { ...SALE, transaction_id: '2024/2', purchased_at: '2026-05-03T10:00:01Z' }
  await till.purchases.record(account, later)
  const many = Array.from({ length: 101 }, (_, i) => `many/${i},gold,2026-05-01T10:00:00Z\n`)
  await till.purchases.import(account, {
    ...MAIN,
    file: fileOf('transaction_id,sku,purchased_at\n', ...many),
  })

  for (const [transaction_id, count] of [
    ['2024', /2 purchases, which were not all made within 48 hours/],
    ['many', /more than 100 purchases/],
  ] as const) {
    const failure = await failureOf(till.purchases.refund(account, { ...MAIN, transaction_id }))
    assert.equal(failure.code, 'invalid_request')
    assert.deepEqual(failure.details[0]?.code, 'ambiguous')
    assert.match(failure.message, count)
  }
  assert.ok((await statuses()).every((each) => each.endsWith(' purchased')))
})

test('an undo of a refund by id gives all its purchases back, and one of the sale waits for it', async () => {
  const { till, account, statuses } = await createOrders(['A/gold', 'A/gem'], { user_id: 'ann' })
  const owned = async () =>
    (await till.purchases.owned(account, { ...MAIN, user_id: 'ann' })).owned[0]?.quantity ?? 0
  assert.equal(await owned(), 2)
  await till.purchases.refund(account, { ...MAIN, transaction_id: 'A' })
  assert.equal(await owned(), 0)
  const { changes } = await till.purchases.changes(account, { ...MAIN, transaction_id: 'A/gold' })
  const { import_id = '' } = changes[0] ?? {}
  const record = await till.imports.get(account, import_id)
  assert.deepEqual([record.rows, record.updated, record.added], [2, 2, 0])
  assert.deepEqual(record.totals, [{ status: 'refunded', currency: 'USD', rows: 2, total: '998' }])

  const [sale] = (await till.purchases.list(account, MAIN)).purchases
  const refused = till.imports.undo(account, { import_id: sale?.import_id ?? '' })
  assert.equal((await failureOf(refused)).code, 'undo_refused')
  await till.imports.undo(account, { import_id })
  assert.deepEqual(await statuses(), ['A/gold purchased', 'A/gem purchased'])
  assert.equal(await owned(), 2)
})

test('a refund by id that repeats the refund of a file keeps that file from an undo without force', async () => {
  const { till, account } = await createOrders(['A'])
  const file = fileOf(
    'transaction_id,sku,purchased_at,status\nA,gold,2026-05-01T10:00:00Z,refunded\n',
  )
  const { import_id } = await till.purchases.import(account, { ...MAIN, file })
  const { refunds } = await till.purchases.refund(account, { ...MAIN, transaction_id: 'A' })
  assert.equal(refunds[0]?.outcome, 'already')
  const failure = await failureOf(till.imports.undo(account, { import_id }))
  assert.equal(failure.details[0]?.field, 'force')
})

test('a refund by id waits for an import that has one of the purchases', async () => {
  const { till, account, statuses } = await createOrders(['A/gold'])
  let refund: Promise<unknown> | undefined
  async function* file() {
    yield Buffer.from('transaction_id,sku,purchased_at\n')
    const rows = Array.from({ length: 3_000 }, (_, i) => `N-${i},gold,2026-05-01T10:00:00Z\n`)
    yield Buffer.from(`A/gem,gold,2026-05-01T10:00:00Z\n${rows.join('')}`)
    refund = till.purchases.refund(account, { ...MAIN, transaction_id: 'A' })
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  await till.purchases.import(account, { ...MAIN, file: file() })
  await refund
  const refunded = (await statuses()).filter((each) => each.endsWith(' refunded'))
  assert.ok(refunded.includes('A/gold refunded'))
  // The refund saw the rows of the import or came before them, but never saw a part.
  assert.ok([1, 2].includes(refunded.length))
})

test('what a user owns has the type, the name and the latest end, if every purchase has one', async () => {
  const clock = createClock(Date.parse('2026-05-10T00:00:00Z'))
  const { till, account } = await createShop({ now: clock.now })
  const pass = { name: 'pass', display_name: 'Season pass', price: '999' }
  await till.items.create(account, { ...MAIN, ...pass, type: 'subscription' })
  const record = (transaction_id: string, expires_at?: string) =>
    till.purchases.record(account, {
      ...{ ...SALE, sku: 'pass', user_id: 'ann', transaction_id },
      ...(expires_at && { expires_at }),
    })
  const read = async () => {
    const { owned } = await till.purchases.owned(account, { ...MAIN, user_id: 'ann' })
    return owned.map(({ type, display_name, quantity, expires_at }) => {
      return { type, display_name, quantity, expires_at }
    })
  }
  const shown = { type: 'subscription', display_name: 'Season pass' }

  await record('P-1', '2026-06-01T00:00:00Z')
  await record('P-2', '2026-07-01T00:00:00Z')
  await record('P-0', '2026-05-09T00:00:00Z') // has ended
  const end = '2026-07-01T00:00:00.000Z'
  assert.deepEqual(await read(), [{ ...shown, quantity: 2, expires_at: end }])
  clock.pass(31 * 86_400_000)
  assert.deepEqual(await read(), [{ ...shown, quantity: 1, expires_at: end }])
  await record('P-3')
  assert.deepEqual(await read(), [{ ...shown, quantity: 2, expires_at: undefined }])
})

test('every refund sends purchases.refunded: of a file, of a recording and by id', async () => {
  const { till, account, project_id } = await createShop()
  await till.projects.update(account, {
    id: project_id,
    config: { webhook_url: 'https://hooks.example.com', webhook_secret: 'whsec_c2VjcmV0' },
  })
  for (const transaction_id of ['A/gold', 'A/gem', 'B', 'C']) {
    await till.purchases.record(account, { ...SALE, transaction_id, user_id: 'ann' })
  }
  await till.purchases.record(account, { ...SALE, transaction_id: 'D', status: 'refunded' })
  for (let left = 1; left > 0; ) {
    const { messages } = await outboxOf(till).claim()
    left = messages.length
    await outboxOf(till).settle(messages.map((each) => ({ ...each, status: 204 })))
  }

  await till.purchases.record(account, { ...SALE, transaction_id: 'B', status: 'cancelled' })
  await till.purchases.refund(account, { ...MAIN, transaction_id: 'A' })
  const row = 'C,gold,2026-05-01T10:00:00Z,refunded\n'
  const file = fileOf(`transaction_id,sku,purchased_at,status\n${row}`)
  await till.purchases.import(account, { ...MAIN, file })

  const bodies = await deliveredTo(till)
  assert.deepEqual(bodies.map(({ type }) => type).sort(), [
    'purchase.recorded',
    ...['purchases.imported', 'purchases.refunded', 'purchases.refunded', 'purchases.refunded'],
  ])
  const refunds = bodies.filter(({ type }) => type === 'purchases.refunded')
  const shown = refunds.map(({ part, data }) => [
    part,
    data.purchases.map((each: { transaction_id: string; user_id: string; status: string }) => {
      const { transaction_id, user_id, status } = each
      return `${transaction_id} ${user_id} ${status}`
    }),
  ])
  assert.deepEqual(shown.sort(), [
    [1, ['A/gold ann refunded', 'A/gem ann refunded']],
    [1, ['B ann cancelled']],
    [1, ['C ann refunded']],
  ])
})
