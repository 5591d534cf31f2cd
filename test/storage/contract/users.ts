import assert from 'node:assert/strict'
import { pagesOf } from '../../../lib/storage/pages.ts'
import type { Erasure, Storage, StoreKey, WriteOptions } from '../../../lib/storage/port.ts'
import { pseudonymOf } from '../../../lib/storage/pseudonym.ts'
import { collect } from '../../support/collect.ts'
import {
  importRows,
  openImport,
  purchaseOf,
  purchasesIn,
  transactions,
} from '../fixtures/imports.ts'
import { FOREIGN, insertProjects, insertShops, MAIN, newRow, SIDE } from '../fixtures/records.ts'
import { auditOf, newEntry } from '../fixtures/writes.ts'
import { type OpenStorage, testsOn } from './open.ts'

const ANN = { project_id: 'prj_1', user_id: 'ann' }
const PSEUDONYM = pseudonymOf(ANN)
const PAID = { price: 499, currency: 'USD', user_id: 'ann', metadata: { mail: 'ann@example.com' } }
const BOB = purchaseOf(newRow(3, { user_id: 'bob' }), 'imp_1')
/** The first purchase of `ann` without the user. */
const ERASED = purchaseOf(newRow(2, { price: 499, currency: 'USD' }), 'imp_1')
const NOBODY = { authority: { key_id: 'key_none' } }

/** MAIN has two purchases of ann and one of bob. Two other stores have one of ann each. */
async function insertPurchases(storage: Storage): Promise<void> {
  await insertShops(storage)
  const rows = [newRow(2, PAID), newRow(3, { user_id: 'bob' }), newRow(4, { user_id: 'ann' })]
  await importRows(storage, MAIN, 'imp_1', rows)
  await importRows(storage, SIDE, 'imp_2', [newRow(2, PAID)])
  await importRows(storage, FOREIGN, 'imp_3', [newRow(2, PAID)])
}

async function erase(storage: Storage, change: Partial<Erasure> = {}, write: WriteOptions = {}) {
  const lease = await openImport(storage, MAIN, 'imp_lease')
  const erasure = { user_id: 'ann', transaction_ids: ['tx_2'], deletes: false, ...change }
  try {
    return await lease.erase(erasure, write)
  } finally {
    await lease.abort()
  }
}

async function erasedIn(storage: Storage) {
  const rows = await storage.readRows('erased_purchases', { limit: 100, now: '' })
  return rows.map(([, transaction_id, is_deleted]) => `${transaction_id} ${is_deleted}`)
}

export function describeErasure(open: OpenStorage): void {
  const test = testsOn(open, insertPurchases)
  const testProjects = testsOn(open, insertProjects)

  test('an erased purchase keeps its amount without user and metadata, and a deleted one is gone', async (storage) => {
    const others = async () => [
      await purchasesIn(storage, SIDE),
      await purchasesIn(storage, FOREIGN),
    ]
    const before = await others()
    const audit = newEntry({ action: 'users.erase' })
    const transaction_ids = ['tx_2', 'tx_3', 'tx_none']

    const refused = erase(storage, { transaction_ids }, NOBODY)
    await assert.rejects(refused, { code: 'account_key_required' })
    const authority = { key_id: 'key_hash-1' }
    assert.equal(await erase(storage, { transaction_ids }, { authority, audit }), 1)

    const other = purchaseOf(newRow(4, { user_id: 'ann' }), 'imp_1')
    assert.deepEqual(await purchasesIn(storage, MAIN), [ERASED, BOB, other])
    assert.deepEqual(await transactions(storage, MAIN, { user_id: 'ann' }), ['tx_4'])
    assert.deepEqual(await auditOf(storage), [audit])

    assert.equal(await erase(storage, { transaction_ids: ['tx_4', 'tx_3'], deletes: true }), 1)
    assert.deepEqual(await purchasesIn(storage, MAIN), [ERASED, BOB])
    assert.deepEqual(await erasedIn(storage), ['tx_2 0', 'tx_4 1'])
    assert.deepEqual(await storage.listOwned(MAIN, 'ann', { limit: 10 }, 0), { records: [] })
    assert.deepEqual(await others(), before)
    assert.deepEqual(await storage.check(), [])
  })

  test('a purchase that is recorded again is compared without its erased user, or skipped when deleted', async (storage) => {
    await erase(storage)
    await erase(storage, { transaction_ids: ['tx_4'], deletes: true })
    const audit = newEntry({ action: 'purchases.record' })
    const record = (store: StoreKey, change: object, line = 2) =>
      storage.recordPurchase(store, 'rec_1', newRow(line, { ...PAID, ...change }), { audit })
    const skipped = { outcome: 'skipped', purchase: ERASED }
    const refunded = { ...skipped, purchase: { ...ERASED, status: 'refunded' } }
    const deleted = { outcome: 'skipped' }

    for (const user_id of ['ann', 'other', undefined]) {
      assert.deepEqual(await record(MAIN, { user_id }), skipped)
    }
    assert.deepEqual(await record(MAIN, { price: 1 }), { outcome: 'conflict', field: 'price' })
    const row = newRow(2, { ...PAID, status: 'refunded' })
    assert.equal((await importRows(storage, MAIN, 'imp_4', [row])).updated, 1)
    assert.deepEqual(await record(MAIN, { status: 'refunded' }), refunded)
    assert.deepEqual(await record(MAIN, { price: 1, status: 'refunded' }, 4), deleted)
    assert.deepEqual(await record(MAIN, { sku: 'none' }, 4), { outcome: 'unknown' })
    assert.equal((await record(SIDE, { status: 'refunded' })).outcome, 'updated')
    assert.deepEqual(await purchasesIn(storage, MAIN), [refunded.purchase, BOB])
    assert.deepEqual(await auditOf(storage), [audit])
    assert.deepEqual(await storage.check(), [])
  })

  test('purchases stay in order when the last ones of an import are deleted', async (storage) => {
    const last = [6, 7, 8]
    const rows = [newRow(5), ...last.map((line) => newRow(line, PAID))]
    await importRows(storage, MAIN, 'imp_4', rows)

    await erase(storage, { transaction_ids: last.map((line) => `tx_${line}`), deletes: true })
    await storage.recordPurchase(MAIN, 'rec_1', newRow(10))
    await importRows(storage, MAIN, 'imp_5', [newRow(11)])
    await storage.recordPurchase(MAIN, 'rec_2', newRow(12))

    const expected = [2, 3, 4, 5, 10, 11, 12].map((line) => `tx_${line}`)
    for (const limit of [1, 2, 100]) {
      assert.deepEqual(await transactions(storage, MAIN, {}, limit), expected)
    }
  })

  testProjects(
    'a watermark under a pseudonym still revokes the tokens of its user',
    async (storage) => {
      const audit = newEntry({ action: 'users.erase' })
      await storage.pseudonymizeWatermark(ANN) // a user without a watermark
      assert.deepEqual((await storage.listWatermarks('prj_1', { limit: 9 })).records, [])
      await storage.revokeTokens({ ...ANN, at: 100 })
      await storage.revokeTokens({ project_id: 'prj_1', user_id: 'bob', at: 200 })
      const refused = storage.pseudonymizeWatermark(ANN, NOBODY)
      await assert.rejects(refused, { code: 'account_key_required' })

      assert.equal(await storage.pseudonymizeWatermark(ANN, { audit }), true)
      assert.equal(await storage.pseudonymizeWatermark(ANN, { audit }), false)

      assert.deepEqual((await storage.listWatermarks('prj_1', { limit: 9 })).records, [
        { project_id: 'prj_1', user_id: 'bob', not_after: 200 },
        { project_id: 'prj_1', user_id: PSEUDONYM, not_after: 100 },
      ])
      assert.equal(await storage.findWatermark('prj_1', 'ann'), 100)
      const token = { ...ANN, issued_at: 0 }
      const old = storage.verifyAuthority({ token: { ...token, issued_under: 99 } })
      await assert.rejects(old, { code: 'token_required' })
      await storage.verifyAuthority({ token: { ...token, issued_under: 100 } })
      assert.equal((await auditOf(storage)).length, 2)

      await storage.revokeTokens({ ...ANN, at: 1 })
      assert.equal(await storage.findWatermark('prj_1', 'ann'), 101)
      await storage.pseudonymizeWatermark(ANN)
      assert.equal(await storage.findWatermark('prj_1', 'ann'), 101)
    },
  )

  testProjects(
    'only the entries that name a user get its pseudonym, page by page',
    async (storage) => {
      const entries = [
        newEntry({ subject: 'prj_1/ann', action: 'tokens.revoke' }),
        newEntry({ subject: 'prj_1/anna' }),
        newEntry({ subject: 'prj_2/ann' }),
        newEntry({ actor: 'token:ann', subject: 'ann' }),
        newEntry({ subject: 'prj_1/ann', account_id: 'acc_2' }),
      ]
      await storage.insertAudit(...entries.map((audit) => ({ audit })))
      const refused = storage.pseudonymizeAudit('acc_1', ANN, { limit: 10 }, NOBODY)
      await assert.rejects(refused, { code: 'account_key_required' })
      assert.deepEqual(await auditOf(storage), entries)

      const pages = await collect(
        pagesOf((page) => storage.pseudonymizeAudit('acc_1', ANN, page), 2),
      )
      const changed = pages.reduce((sum, page) => sum + page.changed, 0)
      assert.equal(changed, 2)
      assert.deepEqual(await auditOf(storage), [
        { ...entries[0], subject: `prj_1/${PSEUDONYM}` },
        ...entries.slice(1, 3),
        { ...entries[3], actor: `token:${PSEUDONYM}` },
        entries[4],
      ])
      assert.deepEqual(await storage.check(), [])
    },
  )
}
