import assert from 'node:assert/strict'
import { performance } from 'node:perf_hooks'
import { test } from 'node:test'
import type { CreatedAccount, Till } from '../../lib/index.ts'
import type { SqliteDriver } from '../../lib/storage/sqlite/drivers.ts'
import { prototypeOf } from '../support/connections.ts'
import { createShop } from '../support/till.ts'

type Call = (till: Till, account: CreatedAccount, n: number, file: Source) => Promise<unknown>
type Source = AsyncIterable<Uint8Array>

const CALLS: { readonly [name: string]: Call } = {
  'dry runs of imports': (till, account, n, file) =>
    till.purchases.import(account, { store_id: `side${n}`, file, dryRun: true }),
  explanations: (till, account, n, file) =>
    till.purchases.explain(account, { store_id: `side${n}`, file }),
}
const FILES = 6
const CHUNKS = 10

/** A shop with a store for each file. */
async function createStores() {
  const { till, account, project } = await createShop()
  for (let n = 0; n < FILES; n++) {
    const store = { project_id: project.id, store_id: `side${n}`, store_type: 'web' } as const
    await till.stores.create(account, store)
    const item = { display_name: 'Gold', price: '499', type: 'consumable' } as const
    await till.items.create(account, { store_id: store.store_id, name: 'gold', ...item })
  }
  return { till, account }
}

const loops = () => performance.nodeTiming.uvMetricsInfo.loopCount

for (const [what, call] of Object.entries(CALLS)) {
  test(`${what} of one account read one after the other, a piece at a time`, async () => {
    const { till, account } = await createStores()
    const turns: number[] = []
    async function* file(): Source {
      yield Buffer.from('transaction_id,sku,purchased_at\n')
      for (let i = 0; i < CHUNKS; i++) {
        turns.push(loops())
        const rows = Array.from({ length: 100 }, (_, n) => `T${i}-${n},gold,2024-03-01T12:00:00Z\n`)
        yield Buffer.from(rows.join(''))
      }
    }

    await Promise.allSettled(
      Array.from({ length: FILES }, (_, n) => call(till, account, n, file())),
    )

    assert.equal(turns.length, FILES * CHUNKS)
    // A piece may be asked for in the turn in which another file's is parsed.
    assert.ok(new Set(turns).size > turns.length / 2, `${new Set(turns).size} turns`)
  })
}

test('on SQLite, each slice of the imports of one account has a turn of its own', async (t) => {
  const { till, account } = await createStores()
  const prototype = await prototypeOf()
  const { exec } = prototype
  const turns: number[] = []
  t.mock.method(prototype, 'exec', function (this: SqliteDriver, sql: string) {
    if (sql.startsWith('PRAGMA synchronous = NORMAL')) turns.push(loops()) // a slice begins
    return exec.call(this, sql)
  })
  const slices = 3
  // Descending ids are indexed when the whole file is read.
  const rows = Array.from({ length: slices * 1_000 }, (_, i) => `T${99_999 - i},gold,1700000000\n`)
  const file = [Buffer.from(`transaction_id,sku,purchased_at\n${rows.join('')}`)]

  const imports = Array.from({ length: FILES }, (_, n) =>
    till.purchases.import(account, { store_id: `side${n}`, file }),
  )
  await Promise.all(imports)

  assert.ok(turns.length >= FILES * slices * 2) // a slice is written, and indexed
  assert.equal(new Set(turns).size, turns.length)
})
