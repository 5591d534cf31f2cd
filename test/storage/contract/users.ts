import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { NewPurchase } from '../../../lib/domain/purchase.ts'
import type { Erasure, Storage, StoreKey } from '../../../lib/storage/port.ts'
import { pseudonymOf } from '../../../lib/storage/pseudonym.ts'
import { all } from '../../support/collect.ts'
import { importRows, openImport, purchaseOf, readPages, statuses } from '../fixtures/imports.ts'
import { FOREIGN, insertProjects, insertShops, MAIN, newRow, SIDE } from '../fixtures/records.ts'
import { auditOf, newEntry } from '../fixtures/writes.ts'
import type { OpenStorage } from './open.ts'

const ANN = { project_id: 'prj_1', user_id: 'ann' }
const PSEUDONYM = pseudonymOf(ANN)
const PAID = { price: 499, currency: 'USD', user_id: 'ann', metadata: { mail: 'ann@example.com' } }

export function describeErasure(open: OpenStorage): void {
  const purchasesOf = async (storage: Storage, store: StoreKey = MAIN) =>
    (await storage.listPurchases(store, {}, { limit: 100 })).purchases

  const erasedIn = async (storage: Storage) => {
    const rows = await storage.readRows('erased_purchases', { limit: 100, now: '' })
    return rows.map(([, transaction_id, is_deleted]) => [transaction_id, is_deleted])
  }

  const erase = async (storage: Storage, change: Partial<Erasure> = {}) => {
    const lease = await openImport(storage, MAIN, 'imp_lease')
    const erasure = { user_id: 'ann', transaction_ids: ['tx_2'], deletes: false, ...change }
    const erased = await lease.erase(erasure)
    await lease.abort()
    return erased
  }

  /** MAIN has two purchases of ann and one of bob. Two other stores have one of ann each. */
  const openShops: OpenStorage = async (t) => {
    const storage = await open(t)
    await insertShops(storage)
    const rows = [newRow(2, PAID), newRow(3, { user_id: 'bob' }), newRow(4, { user_id: 'ann' })]
    await importRows(storage, MAIN, 'imp_1', rows)
    await importRows(storage, SIDE, 'imp_2', [newRow(2, PAID)])
    await importRows(storage, FOREIGN, 'imp_3', [newRow(2, PAID)])
    return storage
  }

  test('an erased purchase keeps its amount, and loses user and metadata', async (t) => {
    const storage = await openShops(t)
    const others = [await purchasesOf(storage, SIDE), await purchasesOf(storage, FOREIGN)]

    assert.equal(await erase(storage, { transaction_ids: ['tx_2', 'tx_3', 'tx_none'] }), 1)

    const erased = newRow(2, { price: 499, currency: 'USD' })
    assert.deepEqual(await purchasesOf(storage), [
      purchaseOf(erased, 'imp_1'),
      purchaseOf(newRow(3, { user_id: 'bob' }), 'imp_1'),
      purchaseOf(newRow(4, { user_id: 'ann' }), 'imp_1'),
    ])
    assert.deepEqual(
      [await purchasesOf(storage, SIDE), await purchasesOf(storage, FOREIGN)],
      others,
    )
    assert.deepEqual(await erasedIn(storage), [['tx_2', '0']])
    assert.deepEqual(await storage.check(), [])
  })

  test('a purchase that is deleted with its user is gone, and the others stay', async (t) => {
    const storage = await openShops(t)

    const all = await erase(storage, { transaction_ids: ['tx_4', 'tx_2', 'tx_3'], deletes: true })

    assert.equal(all, 2)
    const bob = purchaseOf(newRow(3, { user_id: 'bob' }), 'imp_1')
    assert.deepEqual(await purchasesOf(storage), [bob])
    assert.deepEqual(await erasedIn(storage), [
      ['tx_2', '1'],
      ['tx_4', '1'],
    ])
    assert.deepEqual(await storage.check(), [])
  })

  test('a later row of an erased purchase is compared without the user and restores nothing', async (t) => {
    const storage = await openShops(t)
    await erase(storage)

    for (const user_id of ['ann', 'other', undefined]) {
      const again = await importRows(storage, MAIN, `imp_${user_id}`, [
        newRow(2, { ...PAID, user_id }),
      ])
      assert.deepEqual(again, { added: 0, skipped: 1, updated: 0, conflicts: [] })
    }
    const refund = newRow(2, { ...PAID, status: 'refunded' })
    assert.equal((await importRows(storage, MAIN, 'imp_refund', [refund])).updated, 1)
    const other = await openImport(storage, MAIN, 'imp_5')
    const staged = [await other.stage([newRow(2, { ...PAID, price: 500 })]), await other.finish()]
    await other.abort()

    assert.deepEqual(
      staged.flatMap(({ conflicts }) => conflicts),
      [{ line: 2, field: 'price' }],
    )
    assert.deepEqual((await purchasesOf(storage))[0], {
      ...purchaseOf(newRow(2, { price: 499, currency: 'USD' }), 'imp_1'),
      status: 'refunded',
    })
  })

  test('a later row of a deleted purchase is skipped, whatever its values', async (t) => {
    const storage = await openShops(t)
    await erase(storage, { transaction_ids: ['tx_2', 'tx_4'], deletes: true })
    const rows: NewPurchase[] = [
      newRow(2, PAID),
      newRow(5, { transaction_id: 'tx_4', price: 1, currency: 'EUR', status: 'refunded' }),
      newRow(6),
      newRow(7, { transaction_id: 'tx_2' }),
    ]

    const again = await importRows(storage, MAIN, 'imp_4', rows)

    assert.deepEqual(again, { added: 1, skipped: 3, updated: 0, conflicts: [] })
    const ids = (await purchasesOf(storage)).map(({ transaction_id }) => transaction_id)
    assert.deepEqual(ids, ['tx_3', 'tx_6'])
    assert.deepEqual(await statuses(storage, MAIN), ['purchased', 'purchased'])
    assert.deepEqual(await storage.check(), [])
  })

  test('a recorded purchase is compared with an erased one without the user', async (t) => {
    const storage = await openShops(t)
    await erase(storage)
    const stored = purchaseOf(newRow(2, { price: 499, currency: 'USD' }), 'imp_1')
    const record = (change: object) =>
      storage.recordPurchase(MAIN, 'rec_1', newRow(2, { ...PAID, ...change }))

    assert.deepEqual(await record({}), { outcome: 'skipped', purchase: stored })
    assert.deepEqual(await record({ user_id: 'bob' }), { outcome: 'skipped', purchase: stored })
    assert.deepEqual(await record({ price: 1 }), { outcome: 'conflict', field: 'price' })
    const refunded = { ...stored, status: 'refunded' as const }
    assert.deepEqual(await record({ status: 'refunded' }), {
      outcome: 'updated',
      purchase: refunded,
    })
    assert.deepEqual((await purchasesOf(storage))[0], refunded)
  })

  test('a recorded purchase is skipped when it was deleted with its user', async (t) => {
    const storage = await openShops(t)
    await erase(storage, { transaction_ids: ['tx_2', 'tx_4'], deletes: true })
    const audit = newEntry({ action: 'purchases.record' })
    const record = (store: StoreKey, change: object) =>
      storage.recordPurchase(store, 'rec_1', newRow(2, { ...PAID, ...change }), { audit })

    assert.deepEqual(await record(MAIN, {}), { outcome: 'skipped' })
    assert.deepEqual(await record(MAIN, { price: 1, status: 'refunded' }), { outcome: 'skipped' })
    assert.deepEqual(await record(MAIN, { sku: 'none' }), { outcome: 'unknown' })
    assert.equal((await record(SIDE, { status: 'refunded' })).outcome, 'updated')
    const bob = purchaseOf(newRow(3, { user_id: 'bob' }), 'imp_1')
    assert.deepEqual(await purchasesOf(storage), [bob])
    assert.deepEqual(await auditOf(storage), [audit])
    assert.deepEqual(await storage.check(), [])
  })

  for (const deletes of [false, true]) {
    test(`an erased user owns nothing and is not in the index, with deletes: ${deletes}`, async (t) => {
      const storage = await openShops(t)
      await storage.recordPurchase(MAIN, 'rec_1', newRow(9, PAID))
      await storage.indexUsers?.()
      const [page, ann] = [{ limit: 10 }, { user_id: 'ann' }]

      await erase(storage, { transaction_ids: ['tx_2', 'tx_4', 'tx_9'], deletes })

      assert.deepEqual(await storage.listOwned(MAIN, 'ann', page, 0), { records: [] })
      assert.deepEqual(await storage.listPurchases(MAIN, ann, page), { purchases: [] })
      assert.equal((await storage.listPurchases(SIDE, ann, page)).purchases.length, 1)
      assert.equal((await storage.listPurchases(FOREIGN, ann, page)).purchases.length, 1)
      assert.deepEqual(await storage.check(), [])
    })
  }

  test('purchases stay in order when the last ones of an import are deleted', async (t) => {
    const storage = await openShops(t)
    await importRows(storage, MAIN, 'imp_4', [
      newRow(5),
      ...[6, 7, 8].map((line) => newRow(line, PAID)),
    ])

    await erase(storage, { transaction_ids: ['tx_6', 'tx_7', 'tx_8'], deletes: true })
    await storage.recordPurchase(MAIN, 'rec_1', newRow(10))
    await importRows(storage, MAIN, 'imp_5', [newRow(11)])
    await storage.recordPurchase(MAIN, 'rec_2', newRow(12))

    const expected = ['tx_2', 'tx_3', 'tx_4', 'tx_5', 'tx_10', 'tx_11', 'tx_12']
    for (const limit of [1, 2, 100]) {
      const purchases = (await readPages(storage, MAIN, limit)).flat()
      assert.deepEqual(
        purchases.map(({ transaction_id }) => transaction_id),
        expected,
      )
    }
  })

  test('an erasure needs its authority, and writes its audit entry', async (t) => {
    const storage = await openShops(t)
    const lease = await openImport(storage, MAIN, 'imp_lease')
    const erasure = { user_id: 'ann', transaction_ids: ['tx_2'], deletes: true }

    await assert.rejects(lease.erase(erasure, { authority: { key_id: 'key_none' } }), {
      code: 'account_key_required',
    })
    const audit = newEntry({ action: 'users.erase' })
    assert.equal(await lease.erase(erasure, { authority: { key_id: 'key_hash-1' }, audit }), 1)
    await lease.abort()

    assert.deepEqual(await auditOf(storage), [audit])
    assert.equal((await purchasesOf(storage)).length, 2)
  })

  test('a watermark under a pseudonym still revokes the tokens of its user', async (t) => {
    const storage = await open(t)
    await insertProjects(storage)
    await storage.revokeTokens({ ...ANN, at: 100 })
    await storage.revokeTokens({ project_id: 'prj_1', user_id: 'bob', at: 200 })
    const audit = newEntry({ action: 'users.erase' })

    assert.equal(await storage.pseudonymizeWatermark(ANN, { audit }), true)
    assert.equal(await storage.pseudonymizeWatermark(ANN, { audit }), false)

    assert.deepEqual(await all((page) => storage.listWatermarks('prj_1', page)), [
      { project_id: 'prj_1', user_id: 'bob', not_after: 200 },
      { project_id: 'prj_1', user_id: PSEUDONYM, not_after: 100 },
    ])
    assert.equal(await storage.findWatermark('prj_1', 'ann'), 100)
    const token = { ...ANN, issued_at: 0 }
    await assert.rejects(storage.verifyAuthority({ token: { ...token, issued_under: 99 } }), {
      code: 'token_required',
    })
    await storage.verifyAuthority({ token: { ...token, issued_under: 100 } })
    assert.equal((await auditOf(storage)).length, 2)

    await storage.revokeTokens({ ...ANN, at: 1 })
    assert.equal(await storage.findWatermark('prj_1', 'ann'), 101)
    await storage.pseudonymizeWatermark(ANN)
    assert.equal(await storage.findWatermark('prj_1', 'ann'), 101)
  })

  test('a user without a watermark gets none under its pseudonym', async (t) => {
    const storage = await open(t)
    await insertProjects(storage)

    await storage.pseudonymizeWatermark(ANN)

    assert.deepEqual(await all((page) => storage.listWatermarks('prj_1', page)), [])
    const refused = storage.pseudonymizeWatermark(ANN, { authority: { key_id: 'key_none' } })
    await assert.rejects(refused, { code: 'account_key_required' })
  })

  test('only the entries that name a user get its pseudonym, page by page', async (t) => {
    const storage = await open(t)
    await insertProjects(storage)
    const entries = [
      newEntry({ subject: 'prj_1/ann', action: 'tokens.revoke' }),
      newEntry({ subject: 'prj_1/anna' }),
      newEntry({ subject: 'prj_2/ann' }),
      newEntry({ actor: 'token:ann', subject: 'ann' }),
      newEntry({ subject: 'prj_1/ann', account_id: 'acc_2' }),
    ]
    await storage.insertAudit(...entries.map((audit) => ({ audit })))

    let changed = 0
    let after: string | undefined
    do {
      const page = after === undefined ? { limit: 2 } : { limit: 2, after }
      const done = await storage.pseudonymizeAudit('acc_1', ANN, page)
      changed += done.changed
      after = done.next
    } while (after !== undefined)

    assert.equal(changed, 2)
    assert.deepEqual(await auditOf(storage), [
      { ...entries[0], subject: `prj_1/${PSEUDONYM}` },
      entries[1],
      entries[2],
      { ...entries[3], actor: `token:${PSEUDONYM}` },
      entries[4],
    ])
    assert.deepEqual(await storage.check(), [])
  })

  test('audit entries get a pseudonym only with authority', async (t) => {
    const storage = await open(t)
    await insertProjects(storage)
    const entry = newEntry({ subject: 'prj_1/ann' })
    await storage.insertAudit({ audit: entry })
    const authority = { key_id: 'key_none' }

    const refused = storage.pseudonymizeAudit('acc_1', ANN, { limit: 10 }, { authority })

    await assert.rejects(refused, { code: 'account_key_required' })
    assert.deepEqual(await auditOf(storage), [entry])
  })
}
