import assert from 'node:assert/strict'
import type { NewPurchase, StoredPurchase } from '../../../lib/domain/purchase.ts'
import type { RowOutcomes } from '../../../lib/storage/port.ts'
import { soakOnly } from '../../support/soak.ts'
import {
  DETAILS,
  importRows,
  openImport,
  purchaseOf,
  purchasesIn,
  statuses,
  transactions,
} from '../fixtures/imports.ts'
import { assertUnchanged, spoil } from '../fixtures/mutate.ts'
import {
  AT,
  addRows,
  awkwardObject,
  FOREIGN,
  insertShops,
  MAIN,
  newItem,
  newRow,
  SIDE,
} from '../fixtures/records.ts'
import { newEntry } from '../fixtures/writes.ts'
import { type OpenStorage, testsOn } from './open.ts'

const outcome = (counts: Partial<RowOutcomes>) => {
  return { added: 0, skipped: 0, updated: 0, conflicts: [], ...counts }
}
const stored = (row: NewPurchase, change: Partial<StoredPurchase> = {}) => {
  return { ...purchaseOf(row, 'imp_1'), ...change }
}
const pending = (line: number) => newRow(line, { status: 'pending' })
const refunded = (line: number) => newRow(line, { status: 'refunded' })
const PAID = { user_id: 'player', price: 499, currency: 'USD' }

/** More rows than PostgreSQL copies at once, and more than SQLite adds without a thread. */
const ABORTED = soakOnly ? 2_500 : 12_000

const CONFLICTS = [
  ['sku', 'gem'],
  ['user_id', 'other'],
  ['price', 500],
  ['currency', 'EUR'],
  ['quantity', 3],
  ['status', 'cancelled'],
] as const

/** An import into a store that has purchases. If a row conflicts, the import is aborted. */
interface Repeat {
  readonly before: readonly NewPurchase[]
  readonly slices: readonly (readonly NewPurchase[])[]
  /** The outcome of each slice. */
  readonly outcomes: readonly object[]
  /** The purchases after the commit. */
  readonly after?: readonly StoredPurchase[]
}

const REPEATS: Record<string, Repeat> = {
  'a row repeated within one file is skipped, in one slice and in the next': {
    before: [],
    slices: [
      [newRow(2), newRow(3, { transaction_id: 'tx_2' })],
      [newRow(4, { transaction_id: 'tx_2' }), newRow(5)],
    ],
    outcomes: [outcome({ added: 1, skipped: 1 }), outcome({ added: 1, skipped: 1 })],
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
    outcomes: [outcome({ added: 1, updated: 2 }), outcome({ updated: 2, skipped: 1 })],
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
      outcome({ skipped: 1, conflicts: [{ line: 3, field: 'status' }] }),
    ],
  },
  'a row with another value is a conflict, which names the field': {
    before: CONFLICTS.map((_, i) => newRow(i, { ...PAID, quantity: 2, status: 'refunded' })),
    slices: [
      CONFLICTS.map(([field, value], i) =>
        newRow(i, { ...PAID, quantity: 2, status: 'refunded', [field]: value }),
      ),
    ],
    outcomes: [outcome({ conflicts: CONFLICTS.map(([field], line) => ({ line, field })) })],
  },
}

export function describeImports(open: OpenStorage): void {
  const test = testsOn(open, insertShops)

  test('imported rows are listed as purchases, and absent fields stay absent', async (storage) => {
    const rows = () => [
      newRow(2, {
        ...{ transaction_id: 'tx 日本 \u{1F600} "quoted", comma', user_id: 'player' },
        ...{ quantity: 1_000_000, price: Number.MAX_SAFE_INTEGER, currency: 'USD' },
        ...{ status: 'refunded', metadata: awkwardObject() },
      }),
      newRow(3, { purchased_at: -62_135_596_800_000 }),
      newRow(4, { price: 0, currency: 'EUR' }),
    ]
    const current = await openImport(storage, MAIN, 'imp_1')
    const given = rows()

    assert.deepEqual(await addRows(current, given), outcome({ added: 3 }))
    spoil(given)
    await current.commit()

    const expected = rows().map((row) => purchaseOf(row, 'imp_1'))
    const found = await purchasesIn(storage, MAIN)
    assertUnchanged(found, expected)
    spoil(found)
    assertUnchanged(await purchasesIn(storage, MAIN), expected)
  })

  test('an abort discards rows and statuses, and keeps other writes', async (storage) => {
    await importRows(storage, MAIN, 'imp_1', [pending(1)])
    const current = await openImport(storage, MAIN, 'imp_2')
    const rows = Array.from({ length: ABORTED }, (_, number) => newRow(number + 2))
    assert.equal((await addRows(current, [...rows, refunded(1)])).added, ABORTED)
    await storage.insertItem(newItem('sword'))
    assert.deepEqual(await storage.findItem('itm_sword'), newItem('sword'))
    assert.deepEqual(await statuses(storage, MAIN), ['pending'])

    await current.abort()

    assert.deepEqual(await storage.findItem('itm_sword'), newItem('sword'))
    assert.deepEqual(await purchasesIn(storage, MAIN), [stored(pending(1))])
    const cancelled = newRow(1, { status: 'cancelled' })
    const again = await importRows(storage, MAIN, 'imp_3', [...rows.slice(0, 5), cancelled])
    assert.deepEqual(again, outcome({ added: 5, updated: 1 }))
  })

  for (const [title, { before, slices, outcomes, after }] of Object.entries(REPEATS)) {
    test(title, async (storage) => {
      await importRows(storage, MAIN, 'imp_1', before)
      const current = await openImport(storage, MAIN, 'imp_2')
      const results = []
      for (const slice of slices) results.push(await addRows(current, slice))
      assert.deepEqual(results, outcomes)
      await current[after ? 'commit' : 'abort']()

      const expected = after ?? before.map((row) => stored(row))
      assert.deepEqual(await purchasesIn(storage, MAIN), expected)
    })
  }

  test('a comparison of products ignores other users and prices, not other items', async (storage) => {
    await importRows(storage, MAIN, 'imp_1', [newRow(2, PAID), newRow(3, PAID)])
    const current = await openImport(storage, MAIN, 'imp_2')

    const rows = [
      newRow(2, { user_id: 'alias', price: 0, currency: 'EUR', status: 'refunded' }),
      newRow(3, { ...PAID, sku: 'gem' }),
      newRow(4, { transaction_id: 'tx_3', quantity: 2 }),
    ]
    const results = await addRows(current, rows, 'product')
    await current.abort()

    const fields = ['user_id', 'price', 'currency'] as const
    const unequal = fields.map((field) => ({ field, stored: 'different' as const, rows: 1 }))
    const conflicts = [
      { line: 3, field: 'sku' as const },
      { line: 4, field: 'quantity' as const },
    ]
    assert.deepEqual(results, outcome({ updated: 1, conflicts, unequal }))
  })

  test('statuses advance by the id alone, and an undo gives them back', async (storage) => {
    await importRows(storage, MAIN, 'imp_1', [newRow(2), refunded(3), pending(4)])
    const current = await openImport(storage, MAIN, 'imp_2')

    const advanced = await current.advance([
      { transaction_id: 'tx_2', status: 'refunded' },
      { transaction_id: 'tx_2', status: 'refunded' },
      { transaction_id: 'tx_3', status: 'cancelled' },
      { transaction_id: 'tx_4', status: 'purchased' },
      { transaction_id: 'tx_unknown', status: 'refunded' },
    ])

    assert.deepEqual(advanced, { updated: 2, unknown: 1, notLater: 2 })
    const before = ['purchased', 'refunded', 'pending']
    assert.deepEqual(await statuses(storage, MAIN), before)
    await current.finish()
    await current.commit({}, DETAILS)
    assert.deepEqual(await statuses(storage, MAIN), ['refunded', 'refunded', 'purchased'])
    await storage.undoImport(MAIN, { import_id: 'imp_2', undone_at: AT, force: false })
    assert.deepEqual(await statuses(storage, MAIN), before)
  })
}

export function describeTurns(open: OpenStorage): void {
  const test = testsOn(open, insertShops)

  for (const ending of ['commit', 'abort'] as const) {
    test(`a store has one import at a time: the next one opens after the ${ending}`, async (storage) => {
      const ids = ['imp_1', 'imp_2', 'imp_3', 'imp_4', 'imp_5']
      const opened = await Promise.all(ids.map((id) => storage.openImport(MAIN, id)))
      const [first, ...others] = opened.filter((each) => each !== undefined)
      assert.deepEqual(others, [])
      await first?.add([newRow(2)])
      assert.equal(await storage.openImport(MAIN, 'imp_6'), undefined)
      await first?.finish()
      await first?.[ending]()

      const second = await openImport(storage, MAIN, 'imp_7')
      assert.equal(await storage.openImport(MAIN, 'imp_8'), undefined)
      await second.abort()
      await first?.abort() // has no effect after its end
      assert.deepEqual(await transactions(storage, MAIN), ending === 'commit' ? ['tx_2'] : [])
    })
  }

  test('other stores can import the same ids in parallel, even one with the same id in another account', async (storage) => {
    const main = await openImport(storage, MAIN, 'imp_1')
    const side = await openImport(storage, SIDE, 'imp_2')
    const foreign = await openImport(storage, FOREIGN, 'imp_3')

    await Promise.all([main, side, foreign].map((each) => addRows(each, [newRow(2), newRow(3)])))
    await side.commit()
    await main.abort()
    assert.deepEqual(await transactions(storage, FOREIGN), [])
    await foreign.commit()

    assert.deepEqual(await transactions(storage, MAIN), [])
    assert.deepEqual(await transactions(storage, SIDE), ['tx_2', 'tx_3'])
    const other = await importRows(storage, FOREIGN, 'imp_4', [newRow(2, { quantity: 7 })])
    assert.deepEqual(other.conflicts, [{ line: 2, field: 'quantity' }])
  })
}

export function describeRecording(open: OpenStorage): void {
  const test = testsOn(open, insertShops)
  const audit = newEntry({ action: 'purchases.record' })

  test('a recorded purchase is listed; a repeat is skipped, advances its status, or conflicts', async (storage) => {
    const full = newRow(0, {
      ...{ ...PAID, quantity: 3, price: Number.MAX_SAFE_INTEGER, metadata: { a: 3 } },
      status: 'pending',
    })
    const purchase = purchaseOf(full, 'rec_1')
    const changed = { ...purchase, status: 'refunded' as const }
    const write = { audit, authority: { key_id: 'key_hash-1', store: MAIN } }
    const revoked = { audit, authority: { key_id: 'key_none' } }
    const record = (id: string, row: NewPurchase, options: object = write) =>
      storage.recordPurchase(MAIN, id, row, options)

    await assert.rejects(record('rec_0', full, revoked), { code: 'account_key_required' })
    assert.deepEqual(await record('rec_1', full), { outcome: 'added', purchase })
    for (const [change, expected] of [
      [{ purchased_at: 5 }, { outcome: 'skipped', purchase }],
      [{ status: 'refunded' }, { outcome: 'updated', purchase: changed }],
      [{ status: 'purchased' }, { outcome: 'skipped', purchase: changed }],
      [{ user_id: 'bob' }, { outcome: 'conflict', field: 'user_id' }],
      [{ status: 'cancelled' }, { outcome: 'conflict', field: 'status' }],
      [{ transaction_id: 'new', sku: 'gol' }, { outcome: 'unknown' }],
    ] as const) {
      assert.deepEqual(await record('rec_2', { ...full, ...change }), expected)
    }
    await record('rec_3', newRow(2, { user_id: undefined }))

    const expected = [changed, purchaseOf(newRow(2), 'rec_3')]
    assert.deepEqual(await purchasesIn(storage, MAIN), expected)
    assert.equal((await storage.listAudit('acc_1', { limit: 9 })).entries.length, 3)
    for (const other of [SIDE, FOREIGN]) assert.deepEqual(await transactions(storage, other), [])
    await storage.updateStore(MAIN, (store) => ({ ...store, status: 'disabled' }))
    await assert.rejects(record('rec_4', newRow(3)), { code: 'store_inactive' })
    assert.deepEqual(await storage.check(), [])
  })

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

  test('of concurrent records of one transaction one adds it, and one that an import has added is busy', async (storage) => {
    const row = pending(1)
    const results = await Promise.all(
      [1, 2, 3, 4, 5].map((id) => storage.recordPurchase(MAIN, `rec_${id}0`, row, { audit })),
    )
    const outcomes = results.map(({ outcome }) => outcome).toSorted()
    assert.deepEqual(outcomes, ['added', 'skipped', 'skipped', 'skipped', 'skipped'])
    const current = await openImport(storage, MAIN, 'imp_2')
    await addRows(current, [newRow(1), newRow(2)])
    const record = async () => {
      const rows = [1, 2].map(refunded)
      const all = rows.map((row) => storage.recordPurchase(MAIN, `rec_${row.line}`, row))
      return (await Promise.all(all)).map(({ outcome }) => outcome)
    }

    assert.deepEqual(await record(), ['busy', 'busy'])
    await current.commit()

    assert.deepEqual(await record(), ['updated', 'updated'])
    assert.deepEqual(await statuses(storage, MAIN), ['refunded', 'refunded'])
  })
}
