import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createTill } from '../../lib/index.ts'
import { drivenBy, openPostgres, startPostgres } from '../support/postgres.ts'
import { createSignal } from '../support/server.ts'
import { createShop, failureOf } from '../support/till.ts'

const server = await startPostgres()

/**
 * Counts statements, and the rounds in which they are sent: those that are under way at the same
 * time are answered together, so that none belongs to two.
 */
function createCounter() {
  let statements = 0
  let rounds = 0
  let round: { pending: number; readonly over: ReturnType<typeof createSignal> } | undefined
  const driver = drivenBy((_, send) => {
    statements++
    if (!round) rounds++
    round ??= { pending: 0, over: createSignal() }
    const own = round
    own.pending++
    const sent = send()
    const end = () => {
      if (--own.pending > 0) return
      round = undefined
      own.over.give()
    }
    sent.then(end, end)
    return own.over.given.then(() => sent)
  })
  const countOf = async (work: () => Promise<unknown>) => {
    const before = [statements, rounds] as const
    await work()
    return { statements: statements - before[0], rounds: rounds - before[1] }
  }
  return { driver, countOf }
}

test('what does not depend on one another is asked of the database at once', async (t) => {
  const { driver, countOf } = createCounter()
  const url = await server.createSchema(t)
  const till = createTill({ storage: await openPostgres(t, url, { postgres: driver }) })
  const { account, project, item, token } = await createShop(till)
  const session = await till.sessions.authenticate(token)
  const query = { store_id: 'main' }
  const silver = { ...query, name: 'silver', display_name: 'Silver', price: '1' }

  const counts = {
    bearer: await countOf(() => till.sessions.authenticate(token)),
    account: await countOf(() => till.accounts.authenticate(account.account_key)),
    item: await countOf(() => till.items.get(session, item.id)),
    list: await countOf(() => till.items.list(session, query)),
    page: await countOf(() => till.items.list(session, { ...query, cursor: item.id })),
    create: await countOf(() => till.items.create(account, { ...silver, type: 'consumable' })),
    init: await countOf(() => till.sessions.init(project.public_key, { user_id: 'u' })),
  }

  assert.deepEqual(counts, {
    bearer: { statements: 2, rounds: 1 },
    account: { statements: 1, rounds: 1 },
    item: { statements: 1, rounds: 1 },
    list: { statements: 1, rounds: 1 },
    page: { statements: 2, rounds: 2 },
    create: { statements: 2, rounds: 2 },
    init: { statements: 4, rounds: 3 },
  })
})

test('a foreign store costs the statements and rows of one that does not exist', async (t) => {
  const work: [statement: string, rows: number][] = []
  const driver = drivenBy((sql, send) => {
    const sent = send()
    sent.then(
      ({ length }) => work.push([sql, length]),
      () => {},
    )
    return sent
  })
  const url = await server.createSchema(t)
  const till = createTill({ storage: await openPostgres(t, url, { postgres: driver }) })
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
