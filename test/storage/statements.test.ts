import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import postgres from 'postgres'
import type { PurchaseFilter } from '../../lib/domain/query.ts'
import { SUMMARY_KEYS } from '../../lib/domain/summary.ts'
import { openSqliteStorage, type PostgresOptions, type Storage } from '../../lib/index.ts'
import type { SqliteDriver, SqliteDriverName } from '../../lib/storage/sqlite/drivers.ts'
import { sqliteDrivers } from '../support/drivers.ts'
import { openPostgres, startPostgres } from '../support/postgres.ts'
import { MAIN } from '../support/storage/records.ts'

type Prepare = SqliteDriver['prepare']

const prototypes: Record<SqliteDriverName, () => Promise<{ prepare: Prepare }>> = {
  'node:sqlite': async () => (await import('node:sqlite')).DatabaseSync.prototype,
  'better-sqlite3': async () =>
    (await import('better-sqlite3')).default.prototype as unknown as { prepare: Prepare },
}

/** Calls `onPrepared` with each statement that a driver prepares during the test. */
async function watch(
  t: TestContext,
  driver: SqliteDriverName,
  onPrepared: (statement: ReturnType<Prepare>, explain: () => string) => void,
) {
  const prototype = await prototypes[driver]()
  const { prepare } = prototype
  // Not a mock of `node:test`, which would keep the statements.
  prototype.prepare = function (this: SqliteDriver, sql) {
    const statement = prepare.call(this, sql)
    const explain = () => {
      const values = [...sql.matchAll(/\?/g)].map(() => null)
      const rows = prepare.call(this, `EXPLAIN QUERY PLAN ${sql}`).all(...values)
      return (rows as { detail: string }[]).map(({ detail }) => detail).join('\n')
    }
    onPrepared(statement, explain)
    return statement
  }
  t.after(() => {
    prototype.prepare = prepare
  })
}

// It read all purchases of the store.
for (const { driver, skip } of await sqliteDrivers()) {
  test(`the summary of one user reads the index of users with ${driver}`, { skip }, async (t) => {
    const storage = await openSqliteStorage(':memory:', { driver })
    t.after(() => storage.close())
    const plans: string[] = []
    await watch(t, driver, (_, explain) => plans.push(explain()))

    for (const stores of [MAIN, { account_id: 'acc_1' }]) {
      await storage.summarizePurchases(stores, { user_id: 'ann' }, ['day', 'sku'])
    }

    const ofUsers = plans.filter((each) => each.includes('SEARCH u USING PRIMARY KEY (user_key=?)'))
    assert.equal(ofUsers.length, plans.length)
    assert.doesNotMatch(plans.join(), /SCAN p|SEARCH p USING INTEGER PRIMARY KEY \(rowid>/)
  })
}

/** All sets of conditions that a summary may have. */
const FILTERS: readonly PurchaseFilter[] = Array.from({ length: 64 }, (_, bits) => ({
  ...(bits & 1 && { user_id: 'ann' }),
  ...(bits & 2 && { sku: 'gold' }),
  ...(bits & 4 && { status: 'refunded' as const }),
  ...(bits & 8 && { import_id: 'imp_1' }),
  ...(bits & 16 && { from: 1 }),
  ...(bits & 32 && { to: 2 }),
}))

async function summarizeInOtherOrders(storage: Storage): Promise<void> {
  for (let limit = 1; limit <= 20; limit++) {
    const start = limit % SUMMARY_KEYS.length
    const by = [...SUMMARY_KEYS.slice(start), ...SUMMARY_KEYS.slice(0, start)]
    await storage.summarizePurchases(MAIN, {}, by, { isTop: true, limit })
  }
}

for (const { driver, skip } of await sqliteDrivers()) {
  test(`${driver} prepares one statement for summaries with other limits and orders`, {
    skip,
  }, async (t) => {
    const storage = await openSqliteStorage(':memory:', { driver })
    t.after(() => storage.close())
    await storage.summarizePurchases(MAIN, {}, SUMMARY_KEYS, { isTop: true, limit: 1 })
    let prepared = 0
    await watch(t, driver, () => prepared++)

    await summarizeInOtherOrders(storage)

    assert.equal(prepared, 0)
  })

  // Each was kept for ever: 30 KiB for each set of conditions and groups.
  test(`${driver} keeps at most 1,000 prepared statements`, { skip }, async (t) => {
    const storage = await openSqliteStorage(':memory:', { driver })
    t.after(() => storage.close())
    const prepared: WeakRef<ReturnType<Prepare>>[] = []
    await watch(t, driver, (statement) => prepared.push(new WeakRef(statement)))

    for (const filter of FILTERS) {
      for (const stores of [MAIN, { account_id: 'acc_1' }]) {
        for (const period of ['day', 'week', 'month'] as const) {
          for (const more of [[], ['sku'], ['store'], ['store', 'sku']] as const) {
            await storage.summarizePurchases(stores, filter, [period, ...more])
          }
        }
      }
      await setImmediate() // a WeakRef keeps its target until the end of a turn
    }

    setFlagsFromString('--expose-gc')
    const collect = runInNewContext('gc') as () => void
    collect()
    await setImmediate()
    collect()
    const kept = prepared.filter((each) => each.deref() !== undefined).length
    assert.ok(prepared.length > 1_000, `${prepared.length} were prepared`)
    assert.ok(kept <= 1_000, `${kept} of ${prepared.length}`)
  })
}

test('PostgreSQL prepares no summaries, and one statement for lists with other values', async (t) => {
  const prepared = new Set<string>()
  const driver: NonNullable<PostgresOptions['postgres']> = (url, settings) => {
    const client = postgres(url, settings)
    return {
      unsafe(sql, values = [], options) {
        if (options?.prepare && sql.includes('purchases p')) prepared.add(sql)
        return client.unsafe(sql, values as never[], options)
      },
      end: (options) => client.end(options),
    }
  }
  const server = await startPostgres()
  const storage = await openPostgres(t, await server.emptySchema(t), { postgres: driver })
  await storage.listPurchases(MAIN, {}, { limit: 1 })
  const { size } = prepared

  await summarizeInOtherOrders(storage)
  for (const filter of FILTERS) await storage.summarizePurchases(MAIN, filter, ['sku'])
  for (const limit of [2, 3]) await storage.listPurchases(MAIN, {}, { limit, after: `${limit}` })

  assert.equal(prepared.size, size)
})
