// run: runtime
import assert from 'node:assert/strict'
import type { NewPurchase, Purchase, PurchaseStatus } from '../../lib/domain/purchase.ts'
import type { RowOutcomes } from '../../lib/storage/port.ts'
import { testsOn } from '../support/databases.ts'
import {
  importRows,
  openImport,
  purchaseOf,
  purchasesIn,
  statuses,
  transactions,
} from '../support/storage/imports.ts'
import { addRows, insertShops, MAIN, newRow, SIDE } from '../support/storage/records.ts'

const outcome = (counts: Partial<RowOutcomes>) => {
  return { added: 0, skipped: 0, updated: 0, conflicts: [], ...counts }
}
const stored = (row: NewPurchase, change: Partial<Purchase> = {}) => {
  return { ...purchaseOf(row, 'imp_1'), ...change }
}
const repeatOf = (line: number, status: PurchaseStatus = 'purchased') => {
  return { line, status, currency: undefined, price: undefined }
}
const pending = (line: number) => newRow(line, { status: 'pending' })
const refunded = (line: number) => newRow(line, { status: 'refunded' })
const PAID = { user_id: 'player', price: 499, currency: 'USD' }

const CONFLICTS = [
  ['sku', 'gem', undefined, undefined],
  ['user_id', 'other', '"player"', '"other"'],
  ['price', 500, '4.99 USD', '5.00 USD'],
  ['currency', 'EUR', '4.99 USD', '4.99 EUR'],
  ['quantity', 3, '2', '3'],
  ['status', 'cancelled', 'refunded', 'cancelled'],
] as const

/** An import into a store that has purchases. If a row conflicts, the import is aborted. */
interface Repeat {
  readonly before: readonly NewPurchase[]
  readonly slices: readonly (readonly NewPurchase[])[]
  /** The outcome of each slice. */
  readonly outcomes: readonly object[]
  /** The purchases after the commit. */
  readonly after?: readonly Purchase[]
}

const REPEATS: Record<string, Repeat> = {
  'a row repeated within one file is named, in one slice and in the next': {
    before: [],
    slices: [
      [newRow(2), newRow(3, { transaction_id: 'tx_2' })],
      [newRow(4, { transaction_id: 'tx_2' }), newRow(5)],
    ],
    outcomes: [
      outcome({ added: 1, repeated: [repeatOf(3)] }),
      outcome({ added: 1, repeated: [repeatOf(4)] }),
    ],
    after: [purchaseOf(newRow(2), 'imp_2'), purchaseOf(newRow(5), 'imp_2')],
  },
  'an updated purchase keeps its position, its import and its metadata': {
    before: [newRow(2, { status: 'pending', metadata: { from: 'first' } }), newRow(3)],
    slices: [[refunded(3), newRow(9, { transaction_id: 'tx_2', metadata: { from: 'second' } })]],
    outcomes: [outcome({ updated: 2 })],
    after: [stored(newRow(2, { metadata: { from: 'first' } })), stored(refunded(3))],
  },
  'one import can update the status of a stored or new row several times': {
    before: [pending(2)],
    slices: [
      [newRow(2), pending(3), newRow(3)],
      [newRow(2, { status: 'cancelled' }), refunded(3), pending(3)],
    ],
    outcomes: [
      outcome({ added: 1, updated: 2 }),
      outcome({ updated: 2, repeated: [repeatOf(3, 'pending')] }),
    ],
    after: [stored(newRow(2, { status: 'cancelled' })), purchaseOf(refunded(3), 'imp_2')],
  },
  'another end of a subscription is counted, and the stored one stays': {
    before: [newRow(2, { expires_at: 9_000 })],
    slices: [[newRow(2, { expires_at: 8_000 })]],
    outcomes: [
      outcome({ skipped: 1, unequal: [{ field: 'expires_at', stored: 'different', rows: 1 }] }),
    ],
    after: [stored(newRow(2, { expires_at: 9_000 }))],
  },
  'a status is compared with the last one in the same import': {
    before: [newRow(2)],
    slices: [
      [refunded(2)],
      [
        newRow(3, { transaction_id: 'tx_2', status: 'cancelled' }),
        newRow(4, { transaction_id: 'tx_2', status: 'refunded' }),
      ],
    ],
    outcomes: [
      outcome({ updated: 1 }),
      outcome({
        repeated: [repeatOf(4, 'refunded')],
        conflicts: [{ line: 3, field: 'status', stored: 'refunded', sent: 'cancelled' }],
      }),
    ],
  },
  'a row with another value is a conflict, which names the field and both values': {
    before: CONFLICTS.map((_, i) => newRow(i, { ...PAID, quantity: 2, status: 'refunded' })),
    slices: [
      CONFLICTS.map(([field, value], i) =>
        newRow(i, { ...PAID, quantity: 2, status: 'refunded', [field]: value }),
      ),
    ],
    outcomes: [
      outcome({
        conflicts: CONFLICTS.map(([field, , stored, sent], line) => ({
          line,
          field,
          stored,
          sent,
        })),
      }),
    ],
  },
}

const test = testsOn(insertShops)

for (const [title, { before, slices, outcomes, after }] of Object.entries(REPEATS)) {
  test(title, async (storage) => {
    await importRows(storage, MAIN, 'imp_1', before)
    const current = await openImport(storage, MAIN, 'imp_2')
    const staged = []
    for (const slice of slices) staged.push(await addRows(current, slice))
    assert.deepEqual(staged, outcomes)
    await current[after ? 'commit' : 'abort']()

    const expected = after ?? before.map((row) => stored(row))
    assert.deepEqual(await purchasesIn(storage, MAIN), expected)
  })
}

for (const ending of ['commit', 'abort'] as const) {
  test(`purchases recorded during an import precede its rows and survive its ${ending}`, async (storage) => {
    await importRows(storage, MAIN, 'imp_1', [newRow(1)])
    const current = await openImport(storage, MAIN, 'imp_2')
    await importRows(storage, SIDE, 'imp_3', [newRow(1)])
    await storage.recordPurchase(MAIN, 'rec_1', newRow(2))
    await addRows(current, [newRow(5), newRow(2)])
    await storage.recordPurchase(MAIN, 'rec_2', newRow(3))
    await storage.recordPurchase(SIDE, 'rec_3', newRow(3))
    await addRows(current, [newRow(6), newRow(3)])
    await storage.recordPurchase(MAIN, 'rec_4', newRow(4))

    const recorded = ['tx_1', 'tx_2', 'tx_3', 'tx_4']
    assert.deepEqual(await transactions(storage, MAIN), recorded)
    await current[ending]()
    await storage.recordPurchase(MAIN, 'rec_5', newRow(7))

    const all = [...recorded, ...(ending === 'commit' ? ['tx_5', 'tx_6'] : []), 'tx_7']
    for (const limit of [1, 2, 9]) {
      assert.deepEqual(await transactions(storage, MAIN, {}, limit), all)
    }
    assert.deepEqual(await transactions(storage, SIDE), ['tx_1', 'tx_3'])
    assert.deepEqual(await storage.check(), [])
  })
}

test('of concurrent records of one transaction one adds it, and one that an import has staged is busy', async (storage) => {
  const record = async (...rows: readonly NewPurchase[]) => {
    const all = rows.map((row, i) => storage.recordPurchase(MAIN, `rec_${row.status}_${i}`, row))
    return (await Promise.all(all)).map((recorded) => recorded?.outcome ?? 'busy')
  }
  const same = await record(...Array<NewPurchase>(5).fill(pending(1)))
  assert.deepEqual(same.toSorted(), ['added', 'skipped', 'skipped', 'skipped', 'skipped'])
  const current = await openImport(storage, MAIN, 'imp_2')
  await addRows(current, [newRow(1), newRow(2)])

  assert.deepEqual(await record(refunded(1), refunded(2)), ['busy', 'busy'])
  await current.commit()

  assert.deepEqual(await record(refunded(1), refunded(2)), ['updated', 'updated'])
  assert.deepEqual(await statuses(storage, MAIN), ['refunded', 'refunded'])
})

test('purchases stay in order when the last ones of an import are deleted', async (storage) => {
  const ann = { user_id: 'ann' }
  const rows = [newRow(2), newRow(5), ...[6, 7, 8].map((line) => newRow(line, ann))]
  await importRows(storage, MAIN, 'imp_1', rows)
  await storage.erasePurchases(MAIN, 'imp_lease', { ...ann, deletes: true })

  await storage.recordPurchase(MAIN, 'rec_1', newRow(10))
  await importRows(storage, MAIN, 'imp_5', [newRow(11)])
  await storage.recordPurchase(MAIN, 'rec_2', newRow(12))

  const expected = [2, 5, 10, 11, 12].map((line) => `tx_${line}`)
  for (const limit of [1, 2, 100]) {
    assert.deepEqual(await transactions(storage, MAIN, {}, limit), expected)
  }
})
