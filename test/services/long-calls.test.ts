import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { createMemoryStorage } from '../../lib/index.ts'
import { createShop, failureOf, memoryTill } from '../support/till.ts'

const WAIT_MS = 10_000
const REFUSAL = 'Too many long calls are running; try again'

/** Waits for the iterations of the event loop that follow a call before the next one starts. */
async function turnOver() {
  for (let i = 0; i < 6; i++) await setImmediate()
}

/** Two shops on a storage whose pool has connections for two long calls. Its summaries wait. */
async function createShops(t: TestContext) {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const storage = createMemoryStorage()
  const { summarizePurchases } = storage
  const started: { readonly account_id: string; readonly end: () => void }[] = []
  storage.poolState = () => ({ size: 7, open: 7, inUse: 0, waiting: 0 })
  storage.summarizePurchases = async (stores, ...query) => {
    const { account_id } = stores
    await new Promise<void>((end) => started.push({ account_id, end }))
    return summarizePurchases(stores, ...query)
  }
  const till = memoryTill({ storage })
  const [own, other] = [await createShop(till, 'Own'), await createShop(till, 'Other')]
  const summarize = async ({ account }: typeof own, signal?: AbortSignal) => {
    const summary = till.purchases.summarize(account, {}, { signal })
    summary.catch(() => {}) // the test may look at the error later
    await setImmediate()
    return { summary }
  }
  const endNext = async () => {
    started.shift()?.end()
    await turnOver()
  }
  const running = () => started.map(({ account_id }) => account_id)
  return { till, storage, own, other, summarize, endNext, running }
}

test('a third of the connections runs long calls, and the accounts take turns', async (t) => {
  const { own, other, summarize, endNext, running } = await createShops(t)
  const [a, b] = [own.account_id, other.account_id]
  const owns = []
  for (let i = 0; i < 4; i++) owns.push(await summarize(own))
  const others = [await summarize(other), await summarize(other)]

  assert.deepEqual(running(), [a, a])
  await endNext()
  assert.deepEqual(running(), [a, a])
  await endNext()
  assert.deepEqual(running(), [a, b])
  await endNext()
  assert.deepEqual(running(), [b, a])
  await endNext()
  assert.deepEqual(running(), [a, b])
  await endNext()
  await endNext()
  for (const { summary } of [...owns, ...others]) assert.deepEqual(await summary, [])
})

test('a long call that waits for 10 s is refused, and its turn goes to the next', async (t) => {
  const { own, other, summarize, endNext, running } = await createShops(t)
  await summarize(own)
  await summarize(own)
  const { summary: refused } = await summarize(other)
  t.mock.timers.tick(WAIT_MS - 1)
  await summarize(own)
  t.mock.timers.tick(1)

  const { code, message } = await failureOf(refused)
  assert.deepEqual([code, message], ['storage_unavailable', REFUSAL])
  await endNext()
  await endNext()
  assert.deepEqual(running(), [own.account_id])
})

test('an export waits for its turn without a limit once it has begun, and is refused before', async (t) => {
  const { till, own, summarize, endNext } = await createShops(t)
  const { account, project_id } = own
  const begun = till.catalog.export(account, { project_id })[Symbol.asyncIterator]()
  const first = await begun.next()
  await summarize(own)
  await summarize(own)
  const second = begun.next()
  const late = till.users.export(account, { project_id, user_id: 'ann' })[Symbol.asyncIterator]()
  const refused = failureOf(late.next())
  await setImmediate()

  t.mock.timers.tick(10 * WAIT_MS)

  assert.equal((await refused).message, REFUSAL)
  await endNext()
  assert.match(`${first.value}${(await second).value}`, /"store_id": "main"/)
})

test('an undo, an overview, a count of buyers and each page of purchases wait for a turn', async (t) => {
  const { till, own, summarize } = await createShops(t)
  const { account } = own
  const file = [Buffer.from('transaction_id,sku,purchased_at\nT-1,gold,1700000000')]
  const { import_id } = await till.purchases.import(account, { store_id: 'main', file })
  await summarize(own)
  await summarize(own)
  const calls = [
    till.imports.undo(account, { import_id }),
    till.purchases.overview(account, { store_id: 'main', by: 'month' }),
    till.purchases.buyers(account, { store_id: 'main' }),
    till.purchases.all(account, { store_id: 'main' })[Symbol.asyncIterator]().next(),
  ]
  const refused = calls.map(async (call) => (await failureOf(call)).message)
  let isOver = false
  const messages = Promise.all(refused).finally(() => {
    isOver = true
  })
  // The calls read their records before they wait.
  while (!isOver) {
    await setImmediate()
    t.mock.timers.tick(WAIT_MS)
  }

  assert.deepEqual(await messages, Array(4).fill(REFUSAL))
})

test('a long call that waits ends with its signal, and its turn goes to the next', async (t) => {
  const { own, other, summarize, endNext, running } = await createShops(t)
  await summarize(own)
  await summarize(own)
  const gone = new AbortController()
  const { summary: ended } = await summarize(other, gone.signal)
  const { summary: next } = await summarize(own)

  gone.abort(new Error('the client hung up'))

  await assert.rejects(ended, { message: 'the client hung up' })
  for (let i = 0; i < 3; i++) await endNext()
  assert.deepEqual(await next, [])
  assert.deepEqual(running(), [])
})
