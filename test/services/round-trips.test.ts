import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type CreateOptions, createTill } from '../../lib/index.ts'
import { eventuallyHolds } from '../support/eventually.ts'
import { drivenBy, openPostgres, startPostgres } from '../support/postgres.ts'
import { createSignal } from '../support/server.ts'
import { createShop, failureOf } from '../support/till.ts'

const server = await startPostgres()

/**
 * Counts statements and round trips. Statements that run at the same time are answered together and
 * count as one round trip.
 */
function createCounter() {
  let statements = 0
  let roundTrips = 0
  let roundTrip: { pending: number; readonly over: ReturnType<typeof createSignal> } | undefined
  const driver = drivenBy((_, send) => {
    statements++
    if (!roundTrip) roundTrips++
    roundTrip ??= { pending: 0, over: createSignal() }
    const own = roundTrip
    own.pending++
    const sent = send()
    const end = () => {
      if (--own.pending > 0) return
      roundTrip = undefined
      own.over.give()
    }
    sent.then(end, end)
    return own.over.given.then(() => sent)
  })
  const countOf = async (work: () => Promise<unknown>) => {
    const before = [statements, roundTrips] as const
    await work()
    return { statements: statements - before[0], roundTrips: roundTrips - before[1] }
  }
  return { driver, countOf }
}

test('one statement checks all cached reads of a request; a create needs no check, nor a look-up of its key', async (t) => {
  const { driver, countOf } = createCounter()
  const url = await server.emptySchema(t)
  const till = createTill({ storage: await openPostgres(t, url, { postgres: driver }) })
  const { account, item, token } = await createShop(till)
  const read = async () => {
    const together = till.together()
    const session = await together(() => till.sessions.authenticate(token))
    await together(() => till.items.get(session, item.id))
    await together(() => till.items.list(session, { store_id: 'main' }))
  }
  const create = async (name: string, options: CreateOptions = {}) => {
    const together = till.together()
    const caller = await together(() =>
      till.accounts.authenticate(account.account_key, { isForWrite: true }),
    )
    const item = { store_id: 'main', name, display_name: name, price: '1' }
    return together(() => till.items.create(caller, { ...item, type: 'consumable' }, options))
  }
  for (let i = 0; i < 3; i++) await read()
  await till.accounts.authenticate(account.account_key)
  await till.stores.get(account, 'main')

  const once = () => create('bronze', { idempotencyKey: 'k' })
  assert.deepEqual(await countOf(() => create('silver')), { statements: 1, roundTrips: 1 })
  assert.deepEqual(await countOf(once), { statements: 1, roundTrips: 1 })
  assert.equal((await once()).name, 'bronze')
  // The check after a write of another test takes a second statement.
  await eventuallyHolds(async () => {
    assert.deepEqual(await countOf(read), { statements: 1, roundTrips: 1 })
  })
})

test('a recording that fills values takes no more round trips than one that advances the status', async (t) => {
  const { driver, countOf } = createCounter()
  const url = await server.emptySchema(t)
  const till = createTill({ storage: await openPostgres(t, url, { postgres: driver }) })
  const { account } = await createShop(till)
  const sale = { store_id: 'main', sku: 'gold', purchased_at: '2026-01-31T12:00:00Z' }
  const record =
    (transaction_id: string, values: object = {}) =>
    () =>
      till.purchases.record(account, { ...sale, transaction_id, ...values })
  let tries = 0
  // Again, when a version check has fallen into one of the counts.
  await eventuallyHolds(async () => {
    const [first, one, two] = [`a${tries}`, `b${tries}`, `c${tries}`]
    tries += 1
    for (const id of [first, one, two]) await record(id, { status: 'pending' })()
    await record(first)()

    const advance = await countOf(record(one))
    const fill = await countOf(record(one, { user_id: 'ann', price: '499' }))
    const both = await countOf(record(two, { user_id: 'ann', price: '499' }))

    assert.deepEqual([fill.roundTrips, both.roundTrips], [advance.roundTrips, advance.roundTrips])
  })
})

test('a store of another project takes the same statements and rows as an unknown store', async (t) => {
  const work: [statement: string, rows: number][] = []
  const driver = drivenBy((sql, send) => {
    const sent = send()
    sent.then(
      ({ length }) => work.push([sql, length]),
      () => {},
    )
    return sent
  })
  const url = await server.emptySchema(t)
  const storage = await openPostgres(t, url, { postgres: driver, cacheBytes: 0 })
  const till = createTill({ storage })
  const { account, item, token } = await createShop(till)
  const session = await till.sessions.authenticate(token)
  const other = await till.projects.create(account, {
    account_id: account.account_id,
    name: 'Other',
    bundle_id: 'com.example.other',
    platform: 'mobile',
  })
  const store = { project_id: other.id, store_id: 'foreign', store_type: 'web' as const }
  await till.stores.create(account, store)

  for (const query of [{}, { cursor: item.id }]) {
    const workOf = async (store_id: string) => {
      work.length = 0
      const failure = await failureOf(till.items.list(session, { store_id, ...query }))
      return { failure, work: [...work] }
    }
    const unknown = await workOf('unknown')

    assert.equal(unknown.work.at(-1)?.[1], 0)
    assert.deepEqual(await workOf('foreign'), unknown)
  }
})

test('a list of purchases, owned items or imports checks its store in the same round trip', async (t) => {
  const { driver, countOf } = createCounter()
  const url = await server.emptySchema(t)
  const till = createTill({ storage: await openPostgres(t, url, { postgres: driver }) })
  const { account } = await createShop(till)
  const list = { store_id: 'main' }
  const reads = [
    () => till.purchases.list(account, list),
    () => till.purchases.owned(account, { ...list, user_id: 'ann' }),
    () => till.imports.list(account, list),
  ]

  for (const read of reads) {
    // The check after a write of another test takes a second statement.
    await eventuallyHolds(async () => {
      assert.deepEqual(await countOf(read), { statements: 2, roundTrips: 1 })
    })
  }
  const unknown = { store_id: 'unknown' }
  assert.equal((await failureOf(till.purchases.list(account, unknown))).code, 'invalid_request')
  const owned = till.purchases.owned(account, { ...unknown, user_id: 'ann' })
  assert.equal((await failureOf(owned)).code, 'invalid_request')
  assert.equal((await failureOf(till.imports.list(account, unknown))).code, 'invalid_request')
})
