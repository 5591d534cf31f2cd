import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import type { NewPurchase } from '../../lib/domain/purchase.ts'
import type { PurchaseImport } from '../../lib/storage/port.ts'
import { type Block, createBlock, type NewEntry } from '../../lib/storage/sqlite/block.ts'
import { packRows } from '../../lib/storage/sqlite/packed-rows.ts'
import { sumStaged } from '../../lib/storage/staged.ts'
import { soakOnly } from '../support/soak.ts'
import { openImport, purchasesIn } from './fixtures/imports.ts'
import { newPath, open } from './fixtures/places.ts'
import { insertShops, MAIN, newRow } from './fixtures/records.ts'

/** More rows than a block has, and those before it that are indexed at once. */
const UNORDERED = soakOnly ? 44_000 : 64_000

/**
 * Ids with a common prefix and many lengths, some with characters of two to four bytes. They fill a
 * block by their bytes.
 */
function awkwardId(number: number): string {
  const kinds = ['T', 'T-', 'T-é', 'T-\u{1F600}', `T-${'long'.repeat(60)}`]
  return `${kinds[number % kinds.length]}${number}`
}

describe('long imports into SQLite', () => {
  const openFile = async (t: TestContext) => {
    // `import-thread.test.ts` tests the thread.
    const storage = await open(t, newPath(t), { importThreadRows: Number.POSITIVE_INFINITY })
    await insertShops(storage)
    return storage
  }
  const stageAll = async (current: PurchaseImport, rows: readonly NewPurchase[], slice = 125) => {
    const outcomes = []
    for (let i = 0; i < rows.length; i += slice) {
      outcomes.push(await current.stage(rows.slice(i, i + slice)))
    }
    const sum = sumStaged([...outcomes, await current.finish()])
    await current.commit()
    return sum
  }
  const rowsOf = (ids: readonly string[]) =>
    ids.map((transaction_id, i) => newRow(i + 2, { transaction_id, quantity: i + 1 }))

  test('columns with repeated and with different values are stored unchanged', async (t) => {
    const columns: readonly ((row: number) => Partial<NewPurchase>)[] = [
      (row) => ({ user_id: `user ${row}` }),
      (row) => ({ quantity: row }),
      (row) => ({ price: row, currency: 'EUR' }),
      (row) => ({ price: 1, currency: row % 2 ? 'EUR' : 'USD' }),
      (row) => ({ status: row % 2 ? 'pending' : 'refunded' }),
      (row) => ({ metadata: row % 2 ? {} : { row } }),
      (row) => ({ expires_at: row }),
    ]
    const storage = await openFile(t)
    // More rows of each kind than a statement inserts.
    const rows = Array.from({ length: 2 ** columns.length * 40 }, (_, i) => {
      const chosen = columns.filter((_, column) => Math.floor(i / 40) & (1 << column))
      const transaction_id = String(i).padStart(5, '0')
      return newRow(i, Object.assign({ transaction_id }, ...chosen.map((of) => of(1 + (i % 40)))))
    })
    await stageAll(await openImport(storage, MAIN, 'imp_1'), rows, 40)

    const kept = await purchasesIn(storage, MAIN)
    assert.deepEqual(
      kept.map(({ store_id, import_id, ...row }) => row),
      rows.map(({ line, ...row }) => row),
    )
  })

  test('of two rows with an id that nearly ascends, the first one is stored', async (t) => {
    const storage = await openFile(t)
    const idOf = (i: number) => `GPA.${1000 + Math.floor(i / 2_000)}-${(i * 7919) % 2_000}`
    const earlier = Array.from({ length: 6_000 }, (_, i) => idOf(i))
    const rows = rowsOf([...earlier, ...[7_003, 7_001, 7_003, 7_002].map(idOf)])

    const { added, conflicts } = await stageAll(await openImport(storage, MAIN, 'imp_1'), rows)

    assert.deepEqual([added, conflicts], [6_003, [{ line: 6_004, field: 'quantity' }]])
    const kept = (await purchasesIn(storage, MAIN)).slice(-3)
    assert.deepEqual(
      kept.map(({ quantity }) => quantity),
      [6_001, 6_002, 6_004],
    )
  })

  test('ids in random order are unique, even before they are indexed', async (t) => {
    const storage = await openFile(t)
    const ids = Array.from({ length: UNORDERED }, (_, i) => awkwardId((i * 7919) % UNORDERED))
    const rows = ids.map((transaction_id, i) => newRow(i + 2, { transaction_id }))
    const first = await stageAll(await openImport(storage, MAIN, 'imp_1'), rows)
    assert.equal(first.added, UNORDERED)

    const again = [...rows.toReversed(), newRow(1, { transaction_id: 'one more' })]
    const second = await stageAll(await openImport(storage, MAIN, 'imp_2'), again)

    assert.deepEqual([second.skipped, second.added], [UNORDERED, 1])
    const kept = await purchasesIn(storage, MAIN, {}, 5_000)
    assert.deepEqual(
      kept.map(({ transaction_id }) => transaction_id),
      [...ids, 'one more'],
    )
  })
})

const digits = (i: number, count: number) => String((i * 7919) % 10 ** count).padStart(count, '0')

function add(block: Block, ids: readonly string[]): void {
  for (let start = 0; start < ids.length; start += 300) {
    const slice = ids.slice(start, start + 300)
    const rows = slice.map((transaction_id, i) => newRow(start + i, { transaction_id }))
    block.add(packRows(1, rows, new Map([['gold', 1]])), start + 10)
  }
}

function takeAll(block: Block): NewEntry[] {
  const entries: NewEntry[] = []
  while (block.size > 0) entries.push(...block.take(700))
  return entries
}

describe('a block of ids', () => {
  test('returns each id once, with its line and purchase, and equal ids in their order', () => {
    const ids = Array.from({ length: 4_000 }, (_, i) => awkwardId((i * 7919) % 1_500))
    const block = createBlock()
    for (const use of ['first', 'second']) {
      add(block, ids)
      const entries = takeAll(block)

      const inOrder = entries.toSorted((a, b) => a.line - b.line)
      const expected = ids.map((id, i) => ({ transaction_id: id, line: i, purchase: i + 10 }))
      assert.deepEqual(inOrder, expected, use)
      assert.deepEqual([block.size, block.bytes], [0, 0])
      const latest = new Map<string, number>()
      for (const { transaction_id, line } of entries) {
        assert.ok(line > (latest.get(transaction_id) ?? -1), transaction_id)
        latest.set(transaction_id, line)
      }
    }
  })

  const orders: Record<string, (i: number) => string> = {
    'like those of Google Play': (i) => `GPA.${digits(i, 4)}-${digits(i * 31, 4)}-${digits(i, 4)}`,
    'of different lengths': (i) => String((i * 7919) % 4_001),
    'with a long common beginning': (i) => `${'https://'.repeat(9)}${digits(i, 6)}`,
    'that differ after 800 bytes': (i) => `${'\u{1F600}'.repeat(200)}${digits(i, 6)}`,
    'of sources in turn': (i) => `shop${i % 16}-${digits(i, 4)}`,
  }
  test('sorts ids of every shape', () => {
    for (const [shape, idOf] of Object.entries(orders)) {
      const block = createBlock()
      add(
        block,
        Array.from({ length: 4_000 }, (_, i) => idOf(i)),
      )
      const ids = takeAll(block).map(({ transaction_id }) => transaction_id)
      assert.deepEqual(ids, ids.toSorted(), shape)
    }
  })

  test('gives fewer ids at once if they are long', () => {
    const block = createBlock()
    add(
      block,
      Array.from({ length: 1_000 }, (_, i) => digits(i, 6).repeat(40)),
    )
    block.take(1_000)
    const first = block.take(1_000).length
    assert.ok(first < 300)
    assert.equal(first + takeAll(block).length, 1_000)
  })
})
