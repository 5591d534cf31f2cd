import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Storage } from '../../../lib/storage/port.ts'
import { importRows, openImport, purchaseOf, readPages, transactions } from '../fixtures/imports.ts'
import { AT, FOREIGN, insertShops, MAIN, newRow, SIDE, stage } from '../fixtures/records.ts'
import type { OpenStorage } from './open.ts'

const audit = {
  at: AT,
  actor: 'operator',
  action: 'purchases.record',
  subject: 'main/tx_1',
  account_id: 'acc_1',
  project_id: 'prj_1',
  store_id: 'main',
  request_id: '',
} as const

export function describeRecording(open: OpenStorage): void {
  test('a recorded purchase is listed with the id of its import', async (t) => {
    const storage = await open(t)
    await insertShops(storage)
    const full = newRow(0, {
      transaction_id: 'tx_full',
      user_id: 'ann',
      quantity: 3,
      price: Number.MAX_SAFE_INTEGER,
      currency: 'USD',
      metadata: { level: 3 },
    })

    const first = await storage.recordPurchase(MAIN, 'rec_1', full)
    const second = await storage.recordPurchase(MAIN, 'rec_2', newRow(2, { user_id: undefined }))

    assert.deepEqual(first, { outcome: 'added', purchase: purchaseOf(full, 'rec_1') })
    const expected = [purchaseOf(full, 'rec_1'), purchaseOf(newRow(2), 'rec_2')]
    assert.deepEqual(second, { outcome: 'added', purchase: expected[1] })
    assert.deepEqual((await storage.listPurchases(MAIN, {}, { limit: 9 })).purchases, expected)
    assert.deepEqual((await readPages(storage, MAIN, 1)).flat(), expected)
    assert.deepEqual(await transactions(storage, SIDE), [])
    assert.deepEqual(await transactions(storage, FOREIGN), [])
    assert.deepEqual(await storage.check(), [])
  })

  test('a repeated transaction is skipped, advances the status, or conflicts', async (t) => {
    const storage = await open(t)
    await insertShops(storage)
    const row = (change = {}) => newRow(1, { user_id: 'ann', status: 'pending', ...change })
    await importRows(storage, MAIN, 'imp_1', [row()])

    const skipped = await storage.recordPurchase(MAIN, 'rec_1', row({ purchased_at: 5 }))
    const updated = await storage.recordPurchase(MAIN, 'rec_2', row({ status: 'refunded' }))
    const older = await storage.recordPurchase(MAIN, 'rec_3', row({ status: 'purchased' }))
    const other = await storage.recordPurchase(MAIN, 'rec_4', row({ user_id: 'bob' }))
    const ended = await storage.recordPurchase(MAIN, 'rec_5', row({ status: 'cancelled' }))

    const stored = purchaseOf(row(), 'imp_1')
    const refunded = { ...stored, status: 'refunded' }
    assert.deepEqual(skipped, { outcome: 'skipped', purchase: stored })
    assert.deepEqual(updated, { outcome: 'updated', purchase: refunded })
    assert.deepEqual(older, { outcome: 'skipped', purchase: refunded })
    assert.deepEqual(other, { outcome: 'conflict', field: 'user_id' })
    assert.deepEqual(ended, { outcome: 'conflict', field: 'status' })
    const { purchases } = await storage.listPurchases(MAIN, {}, { limit: 9 })
    assert.deepEqual(purchases, [refunded])
  })

  test('an unknown SKU, also one of another store, is refused', async (t) => {
    const storage = await open(t)
    await insertShops(storage)

    const refused = await storage.recordPurchase(MAIN, 'rec_1', newRow(1, { sku: 'gol' }))

    assert.deepEqual(refused, { outcome: 'unknown' })
    assert.deepEqual(await transactions(storage, MAIN), [])
  })

  test('only a change writes its audit entry, and only with a valid authority', async (t) => {
    const storage = await open(t)
    await insertShops(storage)
    const authority = { key_id: 'key_hash-1', store: MAIN }
    const revoked = { ...authority, key_id: 'key_none' }

    const refused = storage.recordPurchase(MAIN, 'rec_0', newRow(1), { audit, authority: revoked })
    await assert.rejects(refused, { code: 'account_key_required' })
    assert.deepEqual(await transactions(storage, MAIN), [])
    await storage.recordPurchase(MAIN, 'rec_1', newRow(1), { audit, authority })
    await storage.recordPurchase(MAIN, 'rec_2', newRow(1), { audit, authority })
    await storage.recordPurchase(MAIN, 'rec_3', newRow(1, { quantity: 2 }), { audit, authority })
    assert.equal((await storage.listAudit('acc_1', { limit: 9 })).entries.length, 1)
    await storage.recordPurchase(MAIN, 'rec_4', newRow(1, { status: 'refunded' }), { audit })

    const { entries } = await storage.listAudit('acc_1', { limit: 9 })
    assert.deepEqual(entries, [audit, audit])
    await storage.updateStore(MAIN, (store) => ({ ...store, status: 'disabled' }))
    const closed = storage.recordPurchase(MAIN, 'rec_5', newRow(2), { authority })
    await assert.rejects(closed, { code: 'store_inactive' })
  })

  test('of five concurrent records of one transaction, one adds it', async (t) => {
    const storage = await open(t)
    await insertShops(storage)
    const ids = ['rec_1', 'rec_2', 'rec_3', 'rec_4', 'rec_5']

    const results = await Promise.all(
      ids.map((id) => storage.recordPurchase(MAIN, id, newRow(1), { audit })),
    )

    const outcomes = results.map(({ outcome }) => outcome).toSorted()
    assert.deepEqual(outcomes, ['added', 'skipped', 'skipped', 'skipped', 'skipped'])
    assert.deepEqual(await transactions(storage, MAIN), ['tx_1'])
  })

  for (const ending of ['commit', 'abort'] as const) {
    test(`purchases recorded during an import precede its rows and survive its ${ending}`, async (t) => {
      const storage = await open(t)
      await insertShops(storage)
      await importRows(storage, MAIN, 'imp_1', [newRow(1)])
      const current = await openImport(storage, MAIN, 'imp_2')
      await importRows(storage, SIDE, 'imp_3', [newRow(1)])
      await storage.recordPurchase(MAIN, 'rec_1', newRow(2))
      await stage(current, [newRow(5), newRow(2)])
      await storage.recordPurchase(MAIN, 'rec_2', newRow(3))
      await storage.recordPurchase(SIDE, 'rec_3', newRow(3))
      await stage(current, [newRow(6), newRow(3)])
      await storage.recordPurchase(MAIN, 'rec_4', newRow(4))

      assert.deepEqual(await transactions(storage, MAIN), ['tx_1', 'tx_2', 'tx_3', 'tx_4'])
      await current[ending]()
      await storage.recordPurchase(MAIN, 'rec_5', newRow(7))

      const imported = ending === 'commit' ? ['tx_5', 'tx_6'] : []
      const all = ['tx_1', 'tx_2', 'tx_3', 'tx_4', ...imported, 'tx_7']
      for (const limit of [1, 2, 9]) {
        const pages = await readPages(storage, MAIN, limit)
        assert.deepEqual(
          pages.flat().map(({ transaction_id }) => transaction_id),
          all,
        )
      }
      assert.deepEqual(await transactions(storage, SIDE), ['tx_1', 'tx_3'])
      assert.deepEqual(await storage.check(), [])
    })
  }

  test('a transaction that a running import has staged is busy until it ends', async (t) => {
    const storage = await open(t)
    await insertShops(storage)
    const pending = newRow(1, { status: 'pending' })
    await importRows(storage, MAIN, 'imp_1', [pending])
    const current = await openImport(storage, MAIN, 'imp_2')
    await stage(current, [newRow(1), newRow(2)])
    const record = (line: number) =>
      storage.recordPurchase(MAIN, `rec_${line}`, newRow(line, { status: 'refunded' }))

    assert.deepEqual(await record(1), { outcome: 'busy' })
    assert.deepEqual(await record(2), { outcome: 'busy' })
    await current.commit()

    assert.equal((await record(1)).outcome, 'updated')
    assert.equal((await record(2)).outcome, 'updated')
    const { purchases } = await storage.listPurchases(MAIN, {}, { limit: 9 })
    assert.deepEqual(
      purchases.map(({ status }) => status),
      ['refunded', 'refunded'],
    )
  })
}

export function describeUsers(open: OpenStorage): void {
  const ofUser = async (storage: Storage, limit: number, user_id: string) =>
    (await readPages(storage, MAIN, limit, { user_id })).flat().map((each) => each.transaction_id)

  test('the purchases of a user are exact after large and small imports', async (t) => {
    const storage = await open(t)
    await insertShops(storage)
    const rows = Array.from({ length: 2_500 }, (_, i) =>
      newRow(i + 2, { user_id: i % 500 === 0 ? 'ann' : `user_${i % 7}` }),
    )
    await importRows(storage, SIDE, 'imp_s', rows)
    await importRows(storage, MAIN, 'imp_1', [newRow(9_001, { user_id: 'ann' })])
    await importRows(storage, MAIN, 'imp_2', rows)
    await storage.recordPurchase(MAIN, 'rec_1', newRow(9_002, { user_id: 'ann' }))
    const current = await openImport(storage, MAIN, 'imp_3')
    await stage(current, [newRow(9_003, { user_id: 'ann' })])
    const large = [2, 502, 1002, 1502, 2002].map((line) => `tx_${line}`)
    const all = ['tx_9001', ...large, 'tx_9002']

    for (const limit of [1, 3, 100]) assert.deepEqual(await ofUser(storage, limit, 'ann'), all)
    await storage.indexUsers?.()
    for (const limit of [1, 3, 100]) assert.deepEqual(await ofUser(storage, limit, 'ann'), all)
    assert.deepEqual(await ofUser(storage, 100, 'nobody'), [])
    await current.abort()

    assert.deepEqual(await ofUser(storage, 100, 'ann'), all)
    assert.deepEqual(await storage.check(), [])
  })

  test('a user owns the purchases that are neither pending, refunded nor cancelled', async (t) => {
    const storage = await open(t)
    await insertShops(storage)
    const ann = { user_id: 'ann' }
    await importRows(storage, SIDE, 'imp_s', [newRow(1, ann)])
    await importRows(storage, FOREIGN, 'imp_f', [newRow(1, ann)])
    await importRows(storage, MAIN, 'imp_1', [
      newRow(2, { ...ann, quantity: 1_000_000, purchased_at: 3_000 }),
      newRow(3, { ...ann, quantity: 2, purchased_at: 1_000 }),
      newRow(4, { ...ann, status: 'refunded', purchased_at: 500 }),
      newRow(5, { ...ann, status: 'pending', sku: 'gem' }),
      newRow(6, { user_id: 'bob', sku: 'gem' }),
      newRow(7),
      newRow(9, { ...ann, sku: 'gem', expires_at: 5_000 }),
      newRow(10, { ...ann, purchased_at: 2_000, expires_at: 5_001 }),
    ])
    await storage.recordPurchase(MAIN, 'rec_1', newRow(8, { ...ann, sku: 'gem', purchased_at: -5 }))
    const gem = { sku: 'gem', quantity: 1, first_purchased_at: -5, last_purchased_at: -5 }
    const gold = {
      sku: 'gold',
      quantity: 1_000_003,
      first_purchased_at: 1_000,
      last_purchased_at: 3_000,
    }

    const owned = (limit: number, after?: string) =>
      storage.listOwned(MAIN, 'ann', after === undefined ? { limit } : { limit, after }, 5_000)

    assert.deepEqual(await owned(2), { records: [gem, gold] })
    assert.deepEqual(await owned(1), { records: [gem], next: 'gem' })
    assert.deepEqual(await owned(1, 'gem'), { records: [gold] })
    assert.deepEqual(await storage.listOwned(MAIN, 'nobody', { limit: 1 }, 5_000), { records: [] })
    await importRows(storage, MAIN, 'imp_2', [
      newRow(8, { ...ann, sku: 'gem', purchased_at: -5, status: 'refunded' }),
    ])
    assert.deepEqual(await owned(2), { records: [gold] })
  })
}
