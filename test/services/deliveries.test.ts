import assert from 'node:assert/strict'
import { testOnEach as test } from '../support/databases.ts'
import { createShop, failureOf, fileOf } from '../support/till.ts'

const MAIN = { store_id: 'main' }
const SALE = { ...MAIN, sku: 'gold', purchased_at: '2026-05-01T10:00:00Z', user_id: 'ann' }
const HEADER = 'transaction_id,sku,purchased_at,status\n'
const rowOf = (id: string, status = 'purchased') => `${id},gold,2026-05-01T10:00:00Z,${status}\n`

async function createGame() {
  const shop = await createShop()
  const { till, account } = shop
  return {
    ...shop,
    record: (transaction_id: string, more = {}) =>
      till.purchases.record(account, { ...SALE, transaction_id, ...more }),
    importRows: (rows: string, more = {}) =>
      till.purchases.import(account, { ...MAIN, file: fileOf(HEADER + rows), ...more }),
    deliver: async (transaction_id: string) => {
      const found = await till.purchases.deliver(account, { ...MAIN, transaction_id })
      return found.deliveries.map(({ transaction_id, outcome }) => `${transaction_id} ${outcome}`)
    },
    waiting: async (more = {}) => {
      const query = { ...MAIN, undelivered: true, ...more }
      const { purchases } = await till.purchases.list(account, query)
      return purchases.map(({ transaction_id }) => transaction_id)
    },
  }
}

test('a purchase is delivered once, also when many servers deliver it at once', async () => {
  const { record, deliver, waiting, till, account } = await createGame()
  for (const id of ['A/gold', 'A/gem', 'B']) await record(id)
  assert.deepEqual(await waiting(), ['A/gold', 'A/gem', 'B'])
  assert.deepEqual(await waiting({ newest_first: true, limit: 2 }), ['B', 'A/gem'])
  assert.deepEqual(await waiting({ user_id: 'ann', sku: 'gold' }), ['A/gold', 'A/gem', 'B'])
  assert.deepEqual(await waiting({ user_id: 'bob' }), [])
  assert.deepEqual(await waiting({ transaction_id: 'A' }), ['A/gem', 'A/gold'])

  const outcomes = await Promise.all(Array.from({ length: 8 }, () => deliver('A')))
  const first = ['A/gem delivered', 'A/gold delivered']
  const others = Array(7).fill(['A/gem already', 'A/gold already'])
  assert.deepEqual(outcomes.sort().reverse(), [first, ...others])
  assert.deepEqual(await waiting(), ['B'])
  assert.deepEqual(await waiting({ transaction_id: 'A' }), [])
  const { entries } = await till.accounts.listAudit(account)
  assert.equal(entries.filter(({ action }) => action === 'purchases.deliver').length, 1)
  assert.equal((await failureOf(deliver('C'))).code, 'purchase_not_found')
})

test('what is pending or refunded is not delivered, and a payment that arrives later is', async () => {
  const { record, importRows, deliver, waiting } = await createGame()
  await record('A', { status: 'pending' })
  await record('B')
  await record('B', { status: 'refunded' })
  await record('C', { status: 'cancelled' })
  await importRows(rowOf('D', 'pending'))
  assert.deepEqual(await waiting(), [])
  assert.deepEqual(await waiting({ status: 'pending' }), ['A'])
  assert.deepEqual(await deliver('A'), ['A pending'])
  assert.deepEqual(await deliver('B'), ['B refunded'])
  assert.deepEqual(await deliver('C'), ['C refunded'])

  await record('A')
  await record('D', { user_id: undefined })
  assert.deepEqual(await waiting(), ['A', 'D'])
  assert.deepEqual(await deliver('A'), ['A delivered'])
  assert.deepEqual(await deliver('D'), ['D delivered'])
  assert.deepEqual(await waiting(), [])
})

test('imported history counts as delivered, unless the import says otherwise', async () => {
  const { importRows, deliver, waiting } = await createGame()
  await importRows(rowOf('A') + rowOf('B'))
  const many = Array.from({ length: 2_500 }, (_, i) => rowOf(`M-${i}`)).join('')
  await importRows(rowOf('B') + rowOf('C') + rowOf('D', 'refunded') + many, { undelivered: true })
  assert.deepEqual(await deliver('A'), ['A already'])
  assert.deepEqual(await waiting({ limit: 2 }), ['C', 'M-0'])
  assert.deepEqual(await deliver('C'), ['C delivered'])
  assert.deepEqual(await deliver('D'), ['D refunded'])
  assert.equal((await waiting({ limit: 1000 })).length, 1000)
  assert.deepEqual(await deliver('M-2499'), ['M-2499 delivered'])
})

test('a delivery outlives an undo, and what was not delivered waits no longer', async () => {
  const { till, account, importRows, record, deliver, waiting } = await createGame()
  const rows = rowOf('A') + rowOf('B')
  const { import_id } = await importRows(rows, { undelivered: true })
  assert.deepEqual(await deliver('A'), ['A delivered'])
  await till.imports.undo(account, { import_id })
  assert.deepEqual(await waiting(), [])
  assert.equal((await failureOf(deliver('B'))).code, 'purchase_not_found')

  const again = await importRows(rows)
  assert.deepEqual(await waiting(), [])
  assert.deepEqual(await deliver('B'), ['B already'])
  await till.imports.undo(account, { import_id: again.import_id })
  await importRows(rows, { undelivered: true })
  assert.deepEqual(await waiting(), ['B'])
  assert.deepEqual(await deliver('A'), ['A already'])

  // A failed import leaves nothing to deliver.
  await failureOf(importRows(`${rowOf('C')}bad,row,x,y\n`, { undelivered: true }))
  assert.deepEqual(await waiting(), ['B'])
  await record('C')
  assert.deepEqual(await waiting(), ['B', 'C'])
})

test('a deleted purchase leaves nothing that waits, which the next purchase would take over', async () => {
  const { till, account, project_id, record, importRows, waiting } = await createGame()
  const { import_id } = await importRows(rowOf('B') + rowOf('A', 'pending'))
  await record('A')
  await till.users.erase(account, { project_id, user_id: 'ann', delete: true })
  await till.imports.undo(account, { import_id })

  await importRows(rowOf('A') + rowOf('B'))

  assert.deepEqual(await waiting(), [])
})
