import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { NewPurchase } from '../../../lib/domain/purchase.ts'
import type { Storage, UndoOutcome } from '../../../lib/storage/port.ts'
import { eventuallyHolds } from '../../support/eventually.ts'
import { DETAILS, openImport, transactions } from '../fixtures/imports.ts'
import { FOREIGN, insertShops, MAIN, newRow, SIDE, stage } from '../fixtures/records.ts'
import type { OpenStorage } from './open.ts'

const UNDONE_AT = '2026-02-03T04:05:06.789Z'

async function importInto(
  storage: Storage,
  import_id: string,
  rows: readonly NewPurchase[],
  store = MAIN,
) {
  const current = await openImport(storage, store, import_id)
  await stage(current, rows)
  await current.commit({}, DETAILS)
}

async function undo(storage: Storage, import_id: string, force = false): Promise<UndoOutcome> {
  const outcome = await storage.undoImport(MAIN, { import_id, undone_at: UNDONE_AT, force })
  return outcome ?? assert.fail('another import is under way')
}

/** Reads `id status` of each purchase in `main`. */
async function contents(storage: Storage): Promise<string[]> {
  const { purchases } = await storage.listPurchases(MAIN, {}, { limit: 1000 })
  return purchases.map(({ transaction_id, status }) => `${transaction_id} ${status}`)
}

const pending = (line: number) => newRow(line, { status: 'pending' })

export function describeImportRecords(open: OpenStorage): void {
  test('an import keeps its details, and one without details has none', async (t) => {
    const storage = await open(t)
    await insertShops(storage)
    await importInto(storage, 'imp_1', [newRow(2)])
    const bare = await openImport(storage, MAIN, 'imp_2')
    await bare.finish()
    await bare.commit()

    const { records } = await storage.listImports(MAIN, { limit: 10 })

    const [first, second] = records
    assert.deepEqual(first, {
      import_id: 'imp_1',
      store_id: 'main',
      created_at: first?.created_at,
      ...DETAILS,
    })
    assert.match(first?.created_at ?? '', /^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d\d\dZ$/)
    assert.deepEqual(Object.keys(second ?? {}).sort(), ['created_at', 'import_id', 'store_id'])
    assert.deepEqual(await storage.findImport(MAIN.account_id, 'imp_1'), first)
  })

  test('imports are listed in pages, without those under way or aborted', async (t) => {
    const storage = await open(t)
    await insertShops(storage)
    for (const id of ['imp_1', 'imp_2', 'imp_3']) await importInto(storage, id, [])
    await importInto(storage, 'imp_side', [], SIDE)
    const aborted = await openImport(storage, MAIN, 'imp_aborted')
    await aborted.abort()
    await openImport(storage, MAIN, 'imp_open')

    const first = await storage.listImports(MAIN, { limit: 2 })
    const second = await storage.listImports(MAIN, { limit: 2, after: first.next ?? '' })

    const ids = [first, second].map(({ records }) => records.map(({ import_id }) => import_id))
    assert.deepEqual(ids, [['imp_1', 'imp_2'], ['imp_3']])
    assert.equal(second.next, undefined)
    assert.equal(await storage.findImport(MAIN.account_id, 'imp_open'), undefined)
    assert.equal(await storage.findImport(FOREIGN.account_id, 'imp_1'), undefined)
  })

  test('a purchase has the changes of its status, without those that were undone', async (t) => {
    const storage = await open(t)
    await insertShops(storage)
    await importInto(storage, 'imp_1', [pending(2), newRow(3)])
    await importInto(storage, 'imp_2', [newRow(2)])
    await importInto(storage, 'imp_3', [newRow(2, { status: 'refunded' })])
    const changesOf = async (transaction_id: string, store = MAIN) => {
      const changes = await storage.listStatusChanges(store, transaction_id)
      return changes.map(({ import_id, before, after }) => `${import_id} ${before} ${after}`)
    }

    const both = ['imp_2 pending purchased', 'imp_3 purchased refunded']
    await eventuallyHolds(async () => assert.deepEqual(await changesOf('tx_2'), both))
    assert.deepEqual(await changesOf('tx_3'), [])
    assert.deepEqual(await changesOf('tx_2', SIDE), [])
    await undo(storage, 'imp_3')
    assert.deepEqual(await changesOf('tx_2'), both.slice(0, 1))
  })

  test('purchases are listed by import', async (t) => {
    const storage = await open(t)
    await insertShops(storage)
    await importInto(storage, 'imp_1', [newRow(2), newRow(3)])
    await importInto(storage, 'imp_2', [newRow(4)])
    await importInto(storage, 'imp_side', [newRow(5)], SIDE)
    const listed = async (import_id: string) => {
      const { purchases } = await storage.listPurchases(MAIN, { import_id }, { limit: 10 })
      return purchases.map(({ transaction_id }) => transaction_id)
    }

    assert.deepEqual(await listed('imp_1'), ['tx_2', 'tx_3'])
    assert.deepEqual(await listed('imp_2'), ['tx_4'])
    assert.deepEqual(await listed('imp_side'), [])
    assert.deepEqual(await listed('imp_none'), [])
  })
}

export function describeUndo(open: OpenStorage): void {
  test('an undo removes the added rows, which can be imported again', async (t) => {
    const storage = await open(t)
    await insertShops(storage)
    await importInto(storage, 'imp_1', [newRow(2)])
    await importInto(storage, 'imp_2', [newRow(3), newRow(4)])
    await importInto(storage, 'imp_3', [newRow(5)])

    assert.deepEqual(await undo(storage, 'imp_2'), { outcome: 'undone' })

    assert.deepEqual(await transactions(storage, MAIN), ['tx_2', 'tx_5'])
    const record = await storage.findImport(MAIN.account_id, 'imp_2')
    assert.equal(record?.undone_at, UNDONE_AT)
    assert.equal(record?.sha256, DETAILS.sha256)
    await importInto(storage, 'imp_4', [newRow(4, { quantity: 7 }), newRow(6)])
    assert.deepEqual(await transactions(storage, MAIN), ['tx_2', 'tx_5', 'tx_4', 'tx_6'])
    const { records } = await storage.listImports(MAIN, { limit: 10 })
    assert.deepEqual(
      records.map(({ import_id }) => import_id),
      ['imp_1', 'imp_2', 'imp_3', 'imp_4'],
    )
    assert.deepEqual(await storage.check(), [])
  })

  test('an undo restores the statuses that the import changed', async (t) => {
    const storage = await open(t)
    await insertShops(storage)
    await importInto(storage, 'imp_1', [pending(2), pending(3), newRow(4), newRow(5)])
    const refund = newRow(4, { status: 'refunded' })
    await importInto(storage, 'imp_2', [newRow(2), newRow(3), refund, pending(6), newRow(6)])
    assert.deepEqual(await contents(storage), [
      'tx_2 purchased',
      'tx_3 purchased',
      'tx_4 refunded',
      'tx_5 purchased',
      'tx_6 purchased',
    ])

    await undo(storage, 'imp_2')

    const before = ['tx_2 pending', 'tx_3 pending', 'tx_4 purchased', 'tx_5 purchased']
    assert.deepEqual(await contents(storage), before)
    assert.deepEqual(await undo(storage, 'imp_1'), { outcome: 'undone' })
    assert.deepEqual(await contents(storage), [])
    assert.deepEqual(await storage.check(), [])
  })

  test('an undo is refused while a later import has changed its rows', async (t) => {
    const storage = await open(t)
    await insertShops(storage)
    await importInto(storage, 'imp_1', [pending(2), pending(3), pending(4)])
    await importInto(storage, 'imp_2', [newRow(2), newRow(3)])
    const refunds = [2, 4].map((line) => newRow(line, { status: 'refunded' }))
    await importInto(storage, 'imp_3', refunds)
    const before = await contents(storage)

    assert.deepEqual(await undo(storage, 'imp_1', true), { outcome: 'changed', rows: 3 })
    assert.deepEqual(await undo(storage, 'imp_2', true), { outcome: 'changed', rows: 1 })
    assert.deepEqual(await contents(storage), before)

    assert.deepEqual(await undo(storage, 'imp_3'), { outcome: 'undone' })
    assert.deepEqual(await undo(storage, 'imp_2'), { outcome: 'undone' })
    assert.deepEqual(await contents(storage), ['tx_2 pending', 'tx_3 pending', 'tx_4 pending'])
  })

  test('an undo needs force when a later import skipped its rows', async (t) => {
    const storage = await open(t)
    await insertShops(storage)
    await importInto(storage, 'imp_1', [newRow(2), newRow(3), newRow(4)])
    const older = pending(4) // an older export, whose rows are skipped too
    await importInto(storage, 'imp_2', [newRow(2), newRow(3), older, newRow(5), newRow(5)])

    assert.deepEqual(await undo(storage, 'imp_1'), { outcome: 'skipped', rows: 3 })
    assert.equal((await transactions(storage, MAIN)).length, 4)
    assert.deepEqual(await undo(storage, 'imp_1', true), { outcome: 'undone' })
    assert.deepEqual(await transactions(storage, MAIN), ['tx_5'])
  })

  test('an undone import no longer counts as one that skipped rows', async (t) => {
    const storage = await open(t)
    await insertShops(storage)
    await importInto(storage, 'imp_1', [newRow(2)])
    await importInto(storage, 'imp_2', [newRow(2)])

    await undo(storage, 'imp_2')

    assert.deepEqual(await undo(storage, 'imp_1'), { outcome: 'undone' })
  })

  test('an undo of statuses needs force when a later import skipped those rows', async (t) => {
    const storage = await open(t)
    await insertShops(storage)
    await importInto(storage, 'imp_1', [pending(2)])
    await importInto(storage, 'imp_2', [newRow(2)])
    await importInto(storage, 'imp_3', [newRow(2)])

    assert.deepEqual(await undo(storage, 'imp_2'), { outcome: 'skipped', rows: 1 })
    assert.deepEqual(await undo(storage, 'imp_2', true), { outcome: 'undone' })
    assert.deepEqual(await contents(storage), ['tx_2 pending'])
  })

  test('a second undo changes nothing', async (t) => {
    const storage = await open(t)
    await insertShops(storage)
    await importInto(storage, 'imp_1', [newRow(2)])
    await undo(storage, 'imp_1')
    await importInto(storage, 'imp_2', [newRow(2)])

    const again = { import_id: 'imp_1', undone_at: '2027-01-01T00:00:00.000Z', force: false }
    assert.deepEqual(await storage.undoImport(MAIN, again), { outcome: 'undone' })

    assert.deepEqual(await transactions(storage, MAIN), ['tx_2'])
    const record = await storage.findImport(MAIN.account_id, 'imp_1')
    assert.equal(record?.undone_at, UNDONE_AT)
  })

  test('an undo waits for an import under way in its store', async (t) => {
    const storage = await open(t)
    await insertShops(storage)
    await importInto(storage, 'imp_1', [newRow(2)])
    const current = await openImport(storage, MAIN, 'imp_2')
    const request = { import_id: 'imp_1', undone_at: UNDONE_AT, force: false }

    assert.equal(await storage.undoImport(MAIN, request), undefined)

    await current.abort()
    assert.deepEqual(await storage.undoImport(MAIN, request), { outcome: 'undone' })
  })

  test('an undo whose authority was revoked changes nothing', async (t) => {
    const storage = await open(t)
    await insertShops(storage)
    await importInto(storage, 'imp_1', [pending(2)])
    await importInto(storage, 'imp_2', [newRow(2), newRow(3)])
    const request = { import_id: 'imp_2', undone_at: UNDONE_AT, force: false }

    const undone = storage.undoImport(MAIN, request, { authority: { key_id: 'key_none' } })

    await assert.rejects(undone, { code: 'account_key_required' })
    assert.deepEqual(await contents(storage), ['tx_2 purchased', 'tx_3 purchased'])
    assert.deepEqual(await undo(storage, 'imp_2'), { outcome: 'undone' })
    assert.deepEqual(await contents(storage), ['tx_2 pending'])
  })

  test('an undo of many rows and statuses is complete', async (t) => {
    const storage = await open(t)
    await insertShops(storage)
    const lines = Array.from({ length: 2_500 }, (_, i) => i + 2)
    await importInto(storage, 'imp_1', lines.map(pending))
    await importInto(storage, 'imp_2', [
      ...lines.map((line) => newRow(line)),
      ...lines.map((line) => newRow(line + 10_000)),
    ])

    await undo(storage, 'imp_2')

    const left = await storage.listPurchases(MAIN, {}, { limit: 10_001 })
    assert.equal(left.purchases.length, 2_500)
    assert.ok(left.purchases.every(({ status }) => status === 'pending'))
    assert.deepEqual(await storage.check(), [])
  })

  test('an undo is refused when a recorded purchase changed a row of the import', async (t) => {
    const storage = await open(t)
    await insertShops(storage)
    await importInto(storage, 'imp_1', [pending(2), pending(3)])
    await importInto(storage, 'imp_2', [newRow(3)])
    const refund = newRow(3, { status: 'refunded' })
    await storage.recordPurchase(MAIN, 'rec_1', newRow(2))
    await storage.recordPurchase(MAIN, 'rec_2', refund)

    assert.deepEqual(await undo(storage, 'imp_1', true), { outcome: 'changed', rows: 2 })
    assert.deepEqual(await undo(storage, 'imp_2', true), { outcome: 'changed', rows: 1 })
    assert.deepEqual(await undo(storage, 'rec_2'), { outcome: 'undone' })
    assert.deepEqual(await contents(storage), ['tx_2 purchased', 'tx_3 purchased'])
    assert.deepEqual(await undo(storage, 'imp_2'), { outcome: 'undone' })
    assert.deepEqual(await undo(storage, 'rec_1'), { outcome: 'undone' })
    assert.deepEqual(await contents(storage), ['tx_2 pending', 'tx_3 pending'])
    assert.deepEqual(await undo(storage, 'imp_1'), { outcome: 'undone' })
    assert.deepEqual(await contents(storage), [])
    assert.deepEqual(await storage.check(), [])
  })

  test('a recorded purchase that an import has already is removed only by force', async (t) => {
    const storage = await open(t)
    await insertShops(storage)
    await importInto(storage, 'imp_1', [newRow(2), newRow(3)])
    await storage.recordPurchase(MAIN, 'rec_1', newRow(2))
    await storage.recordPurchase(MAIN, 'rec_2', newRow(4))
    await storage.recordPurchase(MAIN, 'rec_3', newRow(4))

    assert.deepEqual(await undo(storage, 'imp_1'), { outcome: 'skipped', rows: 1 })
    assert.deepEqual(await undo(storage, 'rec_2'), { outcome: 'undone' })
    assert.deepEqual(await contents(storage), ['tx_2 purchased', 'tx_3 purchased'])
    assert.deepEqual(await undo(storage, 'imp_1', true), { outcome: 'undone' })
    assert.deepEqual(await contents(storage), [])
  })

  test('an import is compared with purchases that were recorded while it ran', async (t) => {
    const storage = await open(t)
    await insertShops(storage)
    await importInto(storage, 'imp_1', [pending(2)])
    const current = await openImport(storage, MAIN, 'imp_2')
    await storage.recordPurchase(MAIN, 'rec_1', pending(3))
    await storage.recordPurchase(MAIN, 'rec_2', newRow(2))
    await stage(current, [newRow(2, { status: 'refunded' }), newRow(3)])
    await current.commit({}, DETAILS)

    assert.deepEqual(await undo(storage, 'rec_1', true), { outcome: 'changed', rows: 1 })
    assert.deepEqual(await undo(storage, 'rec_2', true), { outcome: 'changed', rows: 1 })
    assert.deepEqual(await undo(storage, 'imp_2'), { outcome: 'undone' })
    assert.deepEqual(await contents(storage), ['tx_2 purchased', 'tx_3 pending'])
    assert.deepEqual(await undo(storage, 'rec_2'), { outcome: 'undone' })
    assert.deepEqual(await contents(storage), ['tx_2 pending', 'tx_3 pending'])
  })

  test('a recorded purchase is found, but not listed, as an import', async (t) => {
    const storage = await open(t)
    await insertShops(storage)
    await importInto(storage, 'imp_1', [newRow(2)])
    const audit = {
      at: UNDONE_AT,
      actor: 'operator',
      action: 'purchases.record',
      subject: 'main/tx_3',
      account_id: MAIN.account_id,
      project_id: '',
      store_id: 'main',
      request_id: '',
    } as const
    await storage.recordPurchase(MAIN, 'rec_1', newRow(3), { audit })

    const found = await storage.findImport(MAIN.account_id, 'rec_1')
    assert.equal(found?.actor, 'operator')
    assert.deepEqual([found?.rows, found?.added, found?.updated], [1, 1, 0])
    const { records } = await storage.listImports(MAIN, { limit: 10 })
    assert.deepEqual(
      records.map(({ import_id }) => import_id),
      ['imp_1'],
    )
  })

  test('rows of an undone import leave the purchases of a user', async (t) => {
    const storage = await open(t)
    await insertShops(storage)
    const rows = Array.from({ length: 2_500 }, (_, i) => newRow(i + 2, { user_id: 'ann' }))
    await importInto(storage, 'imp_1', rows)
    await importInto(storage, 'imp_2', [newRow(9_000, { user_id: 'ann', quantity: 3 })])
    await storage.recordPurchase(MAIN, 'rec_1', newRow(9_001, { user_id: 'ann', quantity: 2 }))

    for (const id of ['imp_1', 'rec_1']) {
      assert.deepEqual(await undo(storage, id), { outcome: 'undone' })
    }

    const ann = await storage.listPurchases(MAIN, { user_id: 'ann' }, { limit: 10 })
    assert.deepEqual(
      ann.purchases.map(({ transaction_id }) => transaction_id),
      ['tx_9000'],
    )
    const owned = await storage.listOwned(MAIN, 'ann', { limit: 10 }, 0)
    assert.deepEqual(
      owned.records.map(({ quantity }) => quantity),
      [3],
    )
    assert.deepEqual(await storage.check(), [])
  })

  test('an undone import whose user was erased never comes back with the user', async (t) => {
    const storage = await open(t)
    await insertShops(storage)
    const rows = [newRow(2, { user_id: 'ann' }), newRow(3, { user_id: 'bob' })]
    await importInto(storage, 'imp_1', rows)
    const lease = await openImport(storage, MAIN, 'imp_lease')
    await lease.erase({ user_id: 'ann', transaction_ids: ['tx_2'], deletes: false })
    await lease.abort()

    assert.deepEqual(await undo(storage, 'imp_1'), { outcome: 'undone' })
    await importInto(storage, 'imp_2', rows)

    assert.deepEqual(await contents(storage), ['tx_3 purchased'])
  })

  test('a purchase that was deleted with its user does not prevent the undo of its import', async (t) => {
    const storage = await open(t)
    await insertShops(storage)
    const ann = (status: 'pending' | 'purchased' | 'refunded') =>
      newRow(2, { user_id: 'ann', status })
    await importInto(storage, 'imp_1', [ann('pending'), pending(3)])
    await importInto(storage, 'imp_2', [ann('purchased'), newRow(3)])
    await importInto(storage, 'imp_3', [ann('refunded')])
    const lease = await openImport(storage, MAIN, 'imp_lease')
    await lease.erase({ user_id: 'ann', transaction_ids: ['tx_2'], deletes: true })
    await lease.abort()

    assert.deepEqual(await undo(storage, 'imp_2'), { outcome: 'undone' })
    assert.deepEqual(await contents(storage), ['tx_3 pending'])
    assert.deepEqual(await undo(storage, 'imp_1'), { outcome: 'undone' })
    assert.deepEqual(await contents(storage), [])
  })
}
