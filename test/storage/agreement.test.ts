import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { NewPurchase } from '../../lib/domain/purchase.ts'
import { createMemoryStorage, type Storage } from '../../lib/index.ts'
import type { StagedRows } from '../../lib/storage/port.ts'
import { temporaryFolder } from '../support/folder.ts'
import { startPostgres } from '../support/postgres.ts'
import { fc } from '../support/seeds.ts'
import { openSqlite } from '../support/sqlite.ts'
import { insertShops, MAIN, newRow } from './fixtures/records.ts'

type OpenStorage = (t: Pick<TestContext, 'after'>) => Promise<Storage>

type File = {
  readonly slices: readonly (readonly Partial<NewPurchase>[])[]
  readonly ends: boolean
}

const server = await startPostgres()

// Few values, so that rows often repeat, update or conflict with each other.
const row: fc.Arbitrary<Partial<NewPurchase>> = fc.record({
  transaction_id: fc.constantFrom('a', 'b', 'c', 'd', 'e', 'é', '\u{1F600}'),
  sku: fc.constantFrom('gold', 'gold', 'gold', 'gem', 'silver'),
  user_id: fc.constantFrom(undefined, undefined, 'ann'),
  quantity: fc.constantFrom(1, 1, 1, 2),
  status: fc.constantFrom('pending', 'purchased', 'refunded', 'cancelled'),
})
const file: fc.Arbitrary<File> = fc.record({
  slices: fc.array(fc.array(row, { maxLength: 8 }), { maxLength: 4 }),
  ends: fc.boolean(),
})

/** Returns the outcome of each file, and the purchases after it. */
async function play(storage: Storage, files: readonly File[]) {
  await insertShops(storage)
  const reported = []
  for (const [index, { slices, ends }] of files.entries()) {
    const current = await storage.openImport(MAIN, `imp_${index}`)
    assert.ok(current)
    let line = 2
    const results: StagedRows[] = []
    for (const slice of slices) {
      results.push(await current.stage(slice.map((each) => newRow(line++, each))))
    }
    results.push(await current.finish())
    if (ends) await current.commit()
    else await current.abort()
    const sum = (count: 'added' | 'skipped' | 'updated') =>
      results.reduce((total, each) => total + each[count], 0)
    reported.push({
      added: sum('added'),
      skipped: sum('skipped'),
      updated: sum('updated'),
      conflicts: results.flatMap(({ conflicts }) => conflicts).sort((a, b) => a.line - b.line),
      unknown: results.flatMap(({ unknown }) => unknown),
      purchases: (await storage.listPurchases(MAIN, {}, { limit: 1000 })).purchases,
    })
  }
  return reported
}

test('memory and SQLite report the same outcome for any rows in any slices', async (t) => {
  const folder = temporaryFolder(t)
  let opened = 0
  await assertAgreement(() => openSqlite(join(folder, `${opened++}.db`)), 80)
})

test('PostgreSQL reports the same outcome as memory', () => assertAgreement(server.openEmpty, 20))

/** Imports random files into memory and into the storages that `open` returns. */
async function assertAgreement(open: OpenStorage, numRuns: number): Promise<void> {
  await fc.assert(
    fc.asyncProperty(fc.array(file, { minLength: 1, maxLength: 4 }), async (files) => {
      const closing: (() => unknown)[] = []
      const storage = await open({ after: (close) => void closing.push(close as () => unknown) })
      try {
        assert.deepEqual(await play(storage, files), await play(createMemoryStorage(), files))
      } finally {
        for (const close of closing) await close()
        await storage.close()
      }
    }),
    { numRuns },
  )
}
