// run: runtime
import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import type { NewPurchase } from '../../lib/domain/purchase.ts'
import type { PurchaseImport } from '../../lib/storage/port.ts'
import { sumOutcomes } from '../../lib/storage/sql/purchases/row-outcomes.ts'
import { soakOnly } from '../support/soak.ts'
import { openImport, purchaseOf, purchasesIn } from '../support/storage/imports.ts'
import { newPath, open } from '../support/storage/places.ts'
import { insertShops, MAIN, newRow } from '../support/storage/records.ts'

/** More rows than a block has, and those before it that are indexed at once. */
const UNORDERED = soakOnly ? 44_000 : 64_000

const digits = (i: number, count: number) => String((i * 7919) % 10 ** count).padStart(count, '0')

/** Ids of many lengths, some with characters of two to four bytes. They fill a block by their bytes. */
const SHAPES: readonly ((i: number) => string)[] = [
  ...['T', 'T-', 'T-é', 'T-\u{1F600}', `T-${'long'.repeat(60)}`].map((text) => {
    return (i: number) => `${text}${(i * 7919) % UNORDERED}`
  }),
  (i) => `GPA.${digits(i, 4)}-${digits(i * 31, 4)}-${digits(i, 5)}`,
  (i) => String((i * 7919) % UNORDERED),
  (i) => `${'https://'.repeat(9)}${digits(i, 6)}`,
  (i) => `${i % 200 === 0 ? '\u{1F600}'.repeat(200) : 'A'}${digits(i, 6)}`, // differ after 800 bytes
  (i) => `shop${i % 16}-${digits(i, 5)}`,
]
const awkwardId = (i: number) => SHAPES[i % SHAPES.length]?.(i) ?? ''

describe('long imports into SQLite', () => {
  const openFile = async (t: TestContext) => {
    const storage = await open(t, newPath(t))
    await insertShops(storage)
    return storage
  }
  const addAll = async (current: PurchaseImport, rows: readonly NewPurchase[], slice = 125) => {
    const outcomes = []
    for (let i = 0; i < rows.length; i += slice) {
      outcomes.push(await current.add(rows.slice(i, i + slice)))
    }
    const sum = sumOutcomes([...outcomes, await current.finish()])
    await current.commit()
    return sum
  }

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
    await addAll(await openImport(storage, MAIN, 'imp_1'), rows, 40)

    const expected = rows.map((row) => purchaseOf(row, 'imp_1'))
    assert.deepEqual(await purchasesIn(storage, MAIN), expected)
  })

  test('of two rows with an id that nearly ascends, the first one is stored', async (t) => {
    const storage = await openFile(t)
    const idOf = (i: number) => `GPA.${1000 + Math.floor(i / 2_000)}-${(i * 7919) % 2_000}`
    const earlier = Array.from({ length: 6_000 }, (_, i) => idOf(i))
    const ids = [...earlier, ...[7_003, 7_001, 7_003, 7_002].map(idOf)]
    const rows = ids.map((id, i) => newRow(i + 2, { transaction_id: id, quantity: i + 1 }))

    const { added, conflicts } = await addAll(await openImport(storage, MAIN, 'imp_1'), rows)

    const second = { line: 6_004, field: 'quantity', stored: '6001', sent: '6003' }
    assert.deepEqual([added, conflicts], [6_003, [second]])
    const kept = (await purchasesIn(storage, MAIN)).slice(-3)
    assert.deepEqual(
      kept.map(({ quantity }) => quantity),
      [6_001, 6_002, 6_004],
    )
  })

  test('ids of every shape and in random order are unique, even before they are indexed', async (t) => {
    const storage = await openFile(t)
    const ids = Array.from({ length: UNORDERED }, (_, i) => awkwardId(i))
    const rows = ids.map((transaction_id, i) => newRow(i + 2, { transaction_id }))
    const first = await addAll(await openImport(storage, MAIN, 'imp_1'), rows)
    assert.equal(first.added, UNORDERED)

    const again = [...rows.toReversed(), newRow(1, { transaction_id: 'one more' })]
    const second = await addAll(await openImport(storage, MAIN, 'imp_2'), again)

    assert.deepEqual([second.skipped, second.added], [UNORDERED, 1])
    const kept = await purchasesIn(storage, MAIN, {}, 5_000)
    assert.deepEqual(
      kept.map(({ transaction_id }) => transaction_id),
      [...ids, 'one more'],
    )
  })
})
