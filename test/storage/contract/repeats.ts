import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { NewPurchase } from '../../../lib/domain/purchase.ts'
import {
  DETAILS,
  importRows,
  openImport,
  purchaseOf,
  statuses,
  transactions,
} from '../fixtures/imports.ts'
import { AT, FOREIGN, insertShops, MAIN, newRow, SIDE, stage } from '../fixtures/records.ts'
import type { OpenStorage } from './open.ts'

export function describeRepeats(open: OpenStorage): void {
  test('an identical row is skipped, and the stored purchase does not change', async (t) => {
    const storage = await open(t)
    await insertShops(storage)
    const rows = [newRow(2, { price: 499, currency: 'USD', user_id: 'player' }), newRow(3)]
    await importRows(storage, MAIN, 'imp_1', rows)

    const again = await importRows(storage, MAIN, 'imp_2', [...rows, newRow(4)])

    assert.deepEqual(again, { added: 1, skipped: 2, updated: 0, conflicts: [] })
    const { purchases } = await storage.listPurchases(MAIN, {}, { limit: 10 })
    assert.deepEqual(purchases, [
      ...rows.map((row) => purchaseOf(row, 'imp_1')),
      purchaseOf(newRow(4), 'imp_2'),
    ])
  })

  test('a row repeated within one file is skipped, in one slice and in the next', async (t) => {
    const storage = await open(t)
    await insertShops(storage)
    const current = await openImport(storage, MAIN, 'imp_1')
    const repeated = (line: number) => newRow(line, { transaction_id: 'tx' })

    const first = await stage(current, [repeated(2), repeated(3)])
    const second = await stage(current, [repeated(4), newRow(5)])
    await current.commit()

    assert.deepEqual(first, { added: 1, skipped: 1, updated: 0, conflicts: [] })
    assert.deepEqual(second, { added: 1, skipped: 1, updated: 0, conflicts: [] })
    assert.deepEqual(await transactions(storage, MAIN), ['tx', 'tx_5'])
  })

  test('an updated status is visible after the commit only', async (t) => {
    const storage = await open(t)
    await insertShops(storage)
    await importRows(storage, MAIN, 'imp_1', [
      newRow(2, { status: 'pending' }),
      newRow(3, { status: 'purchased' }),
    ])
    const current = await openImport(storage, MAIN, 'imp_2')

    const staged = await stage(current, [
      newRow(2, { status: 'purchased' }),
      newRow(3, { status: 'refunded' }),
    ])
    assert.deepEqual(staged, { added: 0, skipped: 0, updated: 2, conflicts: [] })
    assert.deepEqual(await statuses(storage, MAIN), ['pending', 'purchased'])
    await current.commit()

    assert.deepEqual(await statuses(storage, MAIN), ['purchased', 'refunded'])
  })

  test('an updated purchase keeps its position, its import and its metadata', async (t) => {
    const storage = await open(t)
    await insertShops(storage)
    const pending = newRow(2, { status: 'pending', metadata: { from: 'first' } })
    await importRows(storage, MAIN, 'imp_1', [pending, newRow(3)])

    const later = newRow(9, { ...pending, status: 'purchased', metadata: { from: 'second' } })
    await importRows(storage, MAIN, 'imp_2', [later])

    const { purchases } = await storage.listPurchases(MAIN, {}, { limit: 10 })
    assert.deepEqual(purchases, [
      { ...purchaseOf(pending, 'imp_1'), status: 'purchased' },
      purchaseOf(newRow(3), 'imp_1'),
    ])
  })

  test('an abort also discards updates of the status', async (t) => {
    const storage = await open(t)
    await insertShops(storage)
    await importRows(storage, MAIN, 'imp_1', [newRow(2, { status: 'pending' })])
    const aborted = await openImport(storage, MAIN, 'imp_2')
    await stage(aborted, [newRow(2, { status: 'refunded' })])

    await aborted.abort()
    assert.deepEqual(await statuses(storage, MAIN), ['pending'])

    const third = await importRows(storage, MAIN, 'imp_3', [newRow(2, { status: 'cancelled' })])
    assert.equal(third.updated, 1)
    assert.deepEqual(await statuses(storage, MAIN), ['cancelled'])
  })

  test('one import can update the status of a stored or new row several times', async (t) => {
    const storage = await open(t)
    await insertShops(storage)
    await importRows(storage, MAIN, 'imp_1', [newRow(2, { status: 'pending' })])
    const step = (line: number, transaction_id: string, status: NewPurchase['status']) =>
      newRow(line, { transaction_id, status })
    const current = await openImport(storage, MAIN, 'imp_2')

    const first = await stage(current, [
      step(2, 'tx_2', 'purchased'),
      step(3, 'tx_new', 'pending'),
      step(4, 'tx_new', 'purchased'),
    ])
    const second = await stage(current, [
      step(5, 'tx_2', 'cancelled'),
      step(6, 'tx_new', 'refunded'),
      step(7, 'tx_new', 'pending'),
    ])
    await current.commit()

    assert.deepEqual(first, { added: 1, skipped: 0, updated: 2, conflicts: [] })
    assert.deepEqual(second, { added: 0, skipped: 1, updated: 2, conflicts: [] })
    assert.deepEqual(await statuses(storage, MAIN), ['cancelled', 'refunded'])
  })

  test('an earlier status is skipped', async (t) => {
    const storage = await open(t)
    await insertShops(storage)
    await importRows(storage, MAIN, 'imp_1', [newRow(2, { status: 'refunded' })])

    const again = await importRows(storage, MAIN, 'imp_2', [newRow(2, { status: 'pending' })])

    assert.deepEqual(again, { added: 0, skipped: 1, updated: 0, conflicts: [] })
    assert.deepEqual(await statuses(storage, MAIN), ['refunded'])
  })

  const stored = { user_id: 'player', price: 499, currency: 'USD', quantity: 2 }

  const conflicts: { field: string; sent: Partial<NewPurchase> }[] = [
    { field: 'sku', sent: { ...stored, sku: 'gem' } },
    { field: 'user_id', sent: { ...stored, user_id: 'other' } },
    { field: 'price', sent: { ...stored, price: 500 } },
    { field: 'currency', sent: { ...stored, currency: 'EUR' } },
    { field: 'quantity', sent: { ...stored, quantity: 3 } },
    { field: 'status', sent: { ...stored, status: 'cancelled' } },
  ]

  for (const { field, sent } of conflicts) {
    test(`a row with another value is a conflict: ${field} of ${JSON.stringify(sent)}`, async (t) => {
      const storage = await open(t)
      await insertShops(storage)
      const kept = newRow(2, { ...stored, transaction_id: 'tx', status: 'refunded' })
      await importRows(storage, MAIN, 'imp_1', [kept])
      const current = await openImport(storage, MAIN, 'imp_2')
      const other = newRow(7, { status: 'refunded', ...sent, transaction_id: 'tx' })

      const staged = await stage(current, [newRow(6), other, newRow(8)])
      await current.abort()

      assert.deepEqual(staged, {
        added: 2,
        skipped: 0,
        updated: 0,
        conflicts: [{ line: 7, field }],
      })
      const { purchases } = await storage.listPurchases(MAIN, {}, { limit: 10 })
      assert.deepEqual(purchases, [purchaseOf(kept, 'imp_1')])
    })
  }

  test('a value that only the row or only the purchase has is no conflict', async (t) => {
    const storage = await open(t)
    await insertShops(storage)
    const full = { user_id: 'player', price: 499, currency: 'USD', expires_at: 9_000 }
    const rows = [newRow(2, full), newRow(3), newRow(4)]
    await importRows(storage, MAIN, 'imp_1', rows)

    const again = await importRows(storage, MAIN, 'imp_2', [
      newRow(2, { status: 'refunded' }),
      newRow(3, { ...full, status: 'refunded' }),
      newRow(4, { user_id: 'other' }),
    ])

    const missing = (field: string, rows: number) => ({ field, stored: 'missing', rows })
    assert.deepEqual(again, {
      ...{ added: 0, skipped: 1, updated: 2, conflicts: [] },
      unequal: [
        ...[missing('user_id', 2), missing('price', 1), missing('currency', 1)],
        missing('expires_at', 1),
      ],
    })
    const { purchases } = await storage.listPurchases(MAIN, {}, { limit: 10 })
    assert.deepEqual(purchases, [
      { ...purchaseOf(newRow(2, full), 'imp_1'), status: 'refunded' },
      { ...purchaseOf(newRow(3), 'imp_1'), status: 'refunded' },
      purchaseOf(newRow(4), 'imp_1'),
    ])
  })

  test('another end of a subscription is counted, and the stored one stays', async (t) => {
    const storage = await open(t)
    await insertShops(storage)
    await importRows(storage, MAIN, 'imp_1', [newRow(2, { expires_at: 9_000 })])

    const again = await importRows(storage, MAIN, 'imp_2', [newRow(2, { expires_at: 8_000 })])

    const unequal = [{ field: 'expires_at', stored: 'different', rows: 1 }]
    assert.deepEqual(again, { added: 0, skipped: 1, updated: 0, conflicts: [], unequal })
    const { purchases } = await storage.listPurchases(MAIN, {}, { limit: 10 })
    assert.equal(purchases[0]?.expires_at, 9_000)
  })

  test('a comparison of products ignores other users and prices, not other items', async (t) => {
    const storage = await open(t)
    await insertShops(storage)
    const first = { user_id: 'alias 1', price: 499, currency: 'USD' }
    await importRows(storage, MAIN, 'imp_1', [newRow(2, first), newRow(3, first)])
    const current = await openImport(storage, MAIN, 'imp_2')

    const staged = await stage(
      current,
      [
        newRow(2, { user_id: 'alias 2', price: 0, currency: 'EUR', status: 'refunded' }),
        newRow(3, { ...first, sku: 'gem' }),
        newRow(4, { transaction_id: 'tx_3', quantity: 2 }),
      ],
      'product',
    )
    await current.abort()

    const different = (field: string) => ({ field, stored: 'different', rows: 1 })
    assert.deepEqual(staged, {
      ...{ added: 0, skipped: 0, updated: 1 },
      conflicts: [
        { line: 3, field: 'sku' },
        { line: 4, field: 'quantity' },
      ],
      unequal: ['user_id', 'price', 'currency'].map(different),
    })
  })

  test('statuses advance by the id alone, and an undo gives them back', async (t) => {
    const storage = await open(t)
    await insertShops(storage)
    const rows = [newRow(2), newRow(3, { status: 'refunded' }), newRow(4, { status: 'pending' })]
    await importRows(storage, MAIN, 'imp_1', rows)
    const current = await openImport(storage, MAIN, 'imp_2')

    const advanced = await current.advance([
      { transaction_id: 'tx_2', status: 'refunded' },
      { transaction_id: 'tx_2', status: 'refunded' },
      { transaction_id: 'tx_3', status: 'cancelled' },
      { transaction_id: 'tx_4', status: 'purchased' },
      { transaction_id: 'tx_unknown', status: 'refunded' },
    ])

    assert.deepEqual(advanced, { updated: 2, unknown: 1, notLater: 2 })
    assert.deepEqual(await statuses(storage, MAIN), ['purchased', 'refunded', 'pending'])
    await current.finish()
    await current.commit({}, DETAILS)
    assert.deepEqual(await statuses(storage, MAIN), ['refunded', 'refunded', 'purchased'])
    await storage.undoImport(MAIN, { import_id: 'imp_2', undone_at: AT, force: false })
    assert.deepEqual(await statuses(storage, MAIN), ['purchased', 'refunded', 'pending'])
  })

  test('a row can conflict with a row of the same file, in one slice or the next', async (t) => {
    const storage = await open(t)
    await insertShops(storage)
    const current = await openImport(storage, MAIN, 'imp_1')
    const row = (line: number, change: Partial<NewPurchase> = {}) =>
      newRow(line, { transaction_id: 'tx', ...change })

    const first = await stage(current, [row(2), row(3, { sku: 'gem' })])
    const second = await stage(current, [row(4, { quantity: 9 }), row(5)])

    assert.deepEqual(first.conflicts, [{ line: 3, field: 'sku' }])
    assert.deepEqual(second.conflicts, [{ line: 4, field: 'quantity' }])
    assert.equal(second.skipped, 1)
    await current.abort()
  })

  test('a status is compared with the last one in the same import', async (t) => {
    const storage = await open(t)
    await insertShops(storage)
    await importRows(storage, MAIN, 'imp_1', [newRow(2, { status: 'purchased' })])
    const current = await openImport(storage, MAIN, 'imp_2')

    await stage(current, [newRow(2, { status: 'refunded' })])
    const staged = await stage(current, [
      newRow(3, { transaction_id: 'tx_2', status: 'cancelled' }),
      newRow(4, { transaction_id: 'tx_2', status: 'refunded' }),
    ])

    assert.deepEqual(staged, {
      added: 0,
      skipped: 1,
      updated: 0,
      conflicts: [{ line: 3, field: 'status' }],
    })
    await current.abort()
  })

  test('a transaction id is unique within its store only', async (t) => {
    const storage = await open(t)
    await insertShops(storage)
    await importRows(storage, MAIN, 'imp_1', [newRow(2)])

    const side = await importRows(storage, SIDE, 'imp_2', [newRow(2, { sku: 'gem' })])
    const foreign = await importRows(storage, FOREIGN, 'imp_3', [newRow(2, { quantity: 7 })])

    assert.deepEqual(side, { added: 1, skipped: 0, updated: 0, conflicts: [] })
    assert.deepEqual(foreign, { added: 1, skipped: 0, updated: 0, conflicts: [] })
    const { purchases } = await storage.listPurchases(MAIN, {}, { limit: 10 })
    assert.deepEqual(purchases, [purchaseOf(newRow(2), 'imp_1')])
    const { purchases: abroad } = await storage.listPurchases(FOREIGN, {}, { limit: 10 })
    assert.deepEqual(abroad, [purchaseOf(newRow(2, { quantity: 7 }), 'imp_3')])
  })
}
