import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import type { NewPurchase, StoredPurchase } from '../../lib/domain/purchase.ts'
import { openSqliteStorage, type Storage } from '../../lib/index.ts'
import type { PurchaseImport, StagedRows, StoreKey } from '../../lib/storage/port.ts'
import type { SqliteDriverName } from '../../lib/storage/sqlite/drivers.ts'
import { sumStaged } from '../../lib/storage/staged.ts'
import { sqliteDrivers } from '../support/drivers.ts'
import { temporaryFolder } from '../support/folder.ts'
import { insertShops, MAIN, newRow } from './fixtures/records.ts'

const SLICE = 125
/** More rows than a block has, and those before it that are indexed at once. */
const UNORDERED = 64_000

for (const { driver, skip } of await sqliteDrivers()) {
  describe(`long imports into SQLite with ${driver}`, { skip }, () => {
    describe('and their rows', () => describeRows(driver))
  })
}

function describeRows(driver: SqliteDriverName): void {
  const columns: readonly ((row: number) => Partial<NewPurchase>)[] = [
    (row) => ({ user_id: `user ${row}` }),
    (row) => ({ quantity: row }),
    (row) => ({ price: row, currency: 'EUR' }),
    (row) => ({ price: 1, currency: row % 2 ? 'EUR' : 'USD' }),
    (row) => ({ status: row % 2 ? 'pending' : 'refunded' }),
    (row) => ({ metadata: row % 2 ? {} : { row } }),
  ]

  test('columns with repeated and with different values are stored unchanged', async (t) => {
    const { storage } = await openFile(t, driver)
    const current = await openImport(storage, MAIN)
    const sent: NewPurchase[] = []
    for (let set = 0; set < 2 ** columns.length; set++) {
      const chosen = columns.filter((_, column) => set & (1 << column))
      const rows = Array.from({ length: 40 }, (_, i) => {
        const transaction_id = `${String(set).padStart(2, '0')}-${String(i).padStart(2, '0')}`
        const differing = chosen.map((column) => column(i + 1))
        return newRow(sent.length + i + 2, Object.assign({ transaction_id }, ...differing))
      })
      sent.push(...rows)
      await current.stage(rows)
    }
    await current.finish()
    await current.commit()
    const kept = await allRows(storage, MAIN)
    assert.deepEqual(
      kept.map(({ store_id, import_id, ...row }) => row),
      sent.map(({ line, ...row }) => JSON.parse(JSON.stringify(row))),
    )
  })

  test('of two rows with an id that nearly ascends, the first one is stored', async (t) => {
    const { storage } = await openFile(t, driver)
    const current = await openImport(storage, MAIN)
    const idOf = (i: number) => `GPA.${1000 + Math.floor(i / 2_000)}-${(i * 7919) % 2_000}`
    const earlier = Array.from({ length: 6_000 }, (_, i) => idOf(i))
    const ids = [...earlier, ...[7_003, 7_001, 7_003, 7_002].map(idOf)]
    const rows = ids.map((transaction_id, i) => newRow(i + 2, { transaction_id, quantity: i + 1 }))
    const { added, conflicts } = await stageSlices(current, cut(rows))
    assert.deepEqual([added, conflicts], [6_003, [{ line: 6_004, field: 'quantity' }]])
    await current.commit()
    const kept = await allRows(storage, MAIN)
    assert.deepEqual(
      kept.slice(-3).map(({ quantity }) => quantity),
      [6_001, 6_002, 6_004],
    )
  })

  test('ids in random order are unique, even before they are indexed', async (t) => {
    const { storage } = await openFile(t, driver)
    const first = await openImport(storage, MAIN)
    const ids = Array.from({ length: UNORDERED }, (_, i) => awkwardId((i * 7919) % UNORDERED))
    const added = await stageIds(first, ids)
    assert.equal(added.added, UNORDERED)
    await first.commit()
    const second = await openImport(storage, MAIN)
    const again = await stageIds(second, [...ids.toReversed(), 'one more'])
    assert.deepEqual([again.skipped, again.added], [UNORDERED, 1])
    await second.commit()
    const kept = await allRows(storage, MAIN)
    assert.deepEqual(
      kept.map(({ transaction_id }) => transaction_id),
      [...ids, 'one more'],
    )
  })
}

/**
 * Ids with a common prefix and many lengths, some with characters of two to four bytes. They fill a
 * block by their bytes.
 */
function awkwardId(number: number): string {
  const kinds = ['T', 'T-', 'T-é', 'T-\u{1F600}', `T-${'long'.repeat(60)}`]
  return `${kinds[number % kinds.length]}${number}`
}

async function stageIds(current: PurchaseImport, ids: readonly string[]) {
  const rows = ids.map((transaction_id, i) => newRow(i + 2, { transaction_id }))
  return stageSlices(current, cut(rows))
}

async function stageSlices(current: PurchaseImport, rows: Iterable<NewPurchase[]>) {
  const results: StagedRows[] = []
  for (const slice of rows) results.push(await current.stage(slice))
  results.push(await current.finish())
  return sumStaged(results)
}

function* cut(rows: readonly NewPurchase[]): Generator<NewPurchase[]> {
  for (let from = 0; from < rows.length; from += SLICE) yield rows.slice(from, from + SLICE)
}

async function openFile(t: TestContext, driver: SqliteDriverName) {
  const path = join(temporaryFolder(t), 'till.db')
  const importThreadRows = Number.POSITIVE_INFINITY // `import-thread.test.ts` tests the thread
  const storage = await openSqliteStorage(path, { driver, importThreadRows })
  t.after(() => storage.close().catch(() => {}))
  await insertShops(storage)
  return { storage }
}

let imports = 0

async function openImport(storage: Storage, store: StoreKey): Promise<PurchaseImport> {
  const opened = await storage.openImport(store, `imp_long_${++imports}`)
  assert.ok(opened)
  return opened
}

async function allRows(storage: Storage, store: StoreKey): Promise<StoredPurchase[]> {
  const rows: StoredPurchase[] = []
  let after: string | undefined
  do {
    const page = await storage.listPurchases(store, {}, { limit: 5_000, ...(after && { after }) })
    rows.push(...page.purchases)
    after = page.next
    await setTimeout(0)
  } while (after !== undefined)
  return rows
}
