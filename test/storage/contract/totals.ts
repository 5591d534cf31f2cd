import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PERIODS } from '../../../lib/domain/summary.ts'
import type { Storage, StoreKey, StoreTotals } from '../../../lib/storage/port.ts'
import { importRows, openImport } from '../fixtures/imports.ts'
import { insertShops, MAIN, newRow, SIDE, stage } from '../fixtures/records.ts'
import type { OpenStorage } from './open.ts'

const FROM = Date.parse('2024-03-04')
const MONTH = Date.parse('2024-03-01')
const LARGEST = Number.MAX_SAFE_INTEGER
const LATEST = Date.UTC(3000, 0)
const EARLIEST = Date.UTC(100, 0)

/** Fails unless the totals of a store are those of a summary of its purchases. */
async function assertTotals(
  storage: Storage,
  store: StoreKey,
  step: string,
  periods: readonly (typeof PERIODS)[number][] = PERIODS,
): Promise<void> {
  for (const by of periods) {
    for (const [from, month, to, end] of [
      [FROM, MONTH, LATEST, LATEST],
      [EARLIEST, EARLIEST, LATEST, LATEST],
      [EARLIEST, EARLIEST, Date.parse('2024-03-05'), Date.parse('2024-04-01')],
    ] as const) {
      const totals = await storage.readTotals(store, { from, to, month, by })
      assert.ok(typeof totals === 'object')
      const periods = await storage.summarizePurchases(store, { from, to }, [by])
      const most = { isTop: true, limit: 100 }
      const items = await storage.summarizePurchases(store, { from: month, to: end }, ['sku'], most)
      const currencies = await storage.summarizePurchases(store, { from, to }, [], {
        isTop: true,
        limit: 9,
      })
      const expected = {
        currencies: withoutBuyers(currencies),
        periods: withoutBuyers(periods),
        items: withoutBuyers(items).map((total) => ({ ...total, display_name: 'Item' })),
      }
      assert.deepEqual(totals, expected, `${store.store_id}: ${step}`)
    }
  }
}

function withoutBuyers(summaries: readonly { readonly buyers: number }[]) {
  return summaries.map(({ buyers: _, ...total }) => total)
}

export function describeTotals(open: OpenStorage): void {
  test('the totals of a store follow each change of its purchases', async (t) => {
    const storage = await open(t)
    await insertShops(storage)
    const usd = { currency: 'USD', price: LARGEST, user_id: 'ann' }
    const rows = [
      newRow(2, at('1969-12-31T23:59:59.999Z')),
      newRow(3, { ...usd, ...at('2024-03-03T23:59:59.999Z') }),
      newRow(4, { ...usd, ...at('2024-03-04T00:00:00.000Z') }),
      newRow(5, { ...usd, ...at('2024-03-05T00:00:00.000Z'), status: 'pending' }),
      newRow(6, { ...usd, ...at('2024-03-31T23:59:59.999Z'), sku: 'gem' }),
      newRow(7, { ...at('2024-04-01T00:00:00.000Z'), currency: 'EUR', price: 0 }),
    ]
    const undo = (store: StoreKey, import_id: string) =>
      storage.undoImport(store, { import_id, undone_at: '2026-01-01T00:00:00.000Z', force: true })
    const erase = async (store: StoreKey, transaction_id: string, deletes: boolean) => {
      const lease = await openImport(storage, store, `imp_lease_${store.store_id}`)
      await lease.erase({ user_id: 'ann', transaction_ids: [transaction_id], deletes })
      await lease.abort()
    }
    const steps: Record<string, (store: StoreKey, id: string) => Promise<unknown>> = {
      'an import': (store, id) => importRows(storage, store, `imp_1${id}`, rows),
      'a recorded purchase': (store, id) =>
        storage.recordPurchase(store, `rec_1${id}`, newRow(8, { ...usd, ...at('2024-03-09') })),
      'a recorded status': (store, id) =>
        storage.recordPurchase(store, `rec_2${id}`, newRow(5, { ...rows[3], status: 'purchased' })),
      'a refund of a recorded purchase': (store, id) =>
        storage.recordPurchase(
          store,
          `rec_3${id}`,
          newRow(8, { ...usd, ...at('2024-03-09'), status: 'refunded' }),
        ),
      'an import of statuses and purchases': (store, id) =>
        importRows(storage, store, `imp_2${id}`, [
          newRow(4, { ...rows[2], status: 'refunded' }),
          newRow(9, { ...usd, ...at('2024-03-09') }),
        ]),
      'an aborted import': async (store, id) => {
        const current = await openImport(storage, store, `imp_3${id}`)
        await stage(current, [newRow(10), newRow(6, { ...rows[4], status: 'cancelled' })])
        await assertTotals(storage, store, 'an import under way', ['day'])
        await current.abort()
      },
      'an undone import': (store, id) => undo(store, `imp_2${id}`),
      'an undone refund': (store, id) => undo(store, `rec_3${id}`),
      'an undone recorded purchase': (store, id) => undo(store, `rec_1${id}`),
      'an erased user': (store) => erase(store, 'tx_3', false),
      'a deleted purchase': (store) => erase(store, 'tx_6', true),
      'a further import': (store, id) =>
        importRows(storage, store, `imp_4${id}`, [newRow(8, usd), newRow(9, usd)]),
    }

    for (const [index, [step, run]] of Object.entries(steps).entries()) {
      // Each step has another period, because all periods are sums of the same counts.
      const periods = PERIODS.filter((_, number) => number === index % PERIODS.length)
      for (const store of [MAIN, SIDE]) {
        const before = await storage.findPurchaseVersion(store)
        await run(store, store.store_id)
        await assertTotals(storage, store, step, periods)
        if (step === 'an aborted import') continue
        const version = await storage.findPurchaseVersion(store)
        assert.notEqual(version, before, step)
        assert.equal(await storage.findPurchaseVersion(store), version)
      }
      // MAIN has stored totals from here on. Each read of SIDE counts its purchases itself.
      await storage.completeTotals?.(MAIN)
      await assertTotals(storage, MAIN, `${step}, counted`, periods)
    }
    await assertTotals(storage, MAIN, 'at the end')
  })

  test('the totals are exact when purchases change while they are counted', async (t) => {
    const storage = await open(t)
    await insertShops(storage)
    const rows = Array.from({ length: 20 }, (_, i) => newRow(i, { price: i, currency: 'USD' }))
    const pending = rows.map((row) => ({ ...row, status: 'pending' as const }))
    await importRows(storage, MAIN, 'imp_1', pending)

    await Promise.all(
      rows.flatMap((row) => [
        storage.recordPurchase(MAIN, `rec_${row.line}`, row),
        storage.recordPurchase(MAIN, `rec_new_${row.line}`, newRow(100 + row.line)),
        storage.completeTotals?.(MAIN),
      ]),
    )
    await assertTotals(storage, MAIN, 'at the same time')
    await storage.completeTotals?.(MAIN)
    await assertTotals(storage, MAIN, 'counted')
  })

  test('purchases change the totals of their own store only', async (t) => {
    const storage = await open(t)
    await insertShops(storage)
    await importRows(storage, SIDE, 'imp_1', [newRow(2)])
    await storage.completeTotals?.(SIDE)

    const query = { from: FROM, to: LATEST, month: MONTH, by: 'month' } as const
    const nothing = { currencies: [], periods: [], items: [] }
    assert.deepEqual(await storage.readTotals(MAIN, query), nothing)
  })

  test('totals have the periods of the five most used currencies only', async (t) => {
    const storage = await open(t)
    await insertShops(storage)
    const rows = ['AAA', 'BBB', 'CCC', 'DDD', 'EEE', 'FFF', 'FFF'].map((currency, i) =>
      newRow(i + 2, { ...at('2024-03-09'), currency, price: 1 }),
    )
    await importRows(storage, MAIN, 'imp_1', rows)
    const query = { from: FROM, to: LATEST, month: MONTH, by: 'month' } as const

    const totals = (await storage.readTotals(MAIN, query)) as StoreTotals
    const shown = totals.periods.map(({ currency }) => currency)
    assert.deepEqual(shown, ['AAA', 'BBB', 'CCC', 'DDD', 'FFF'])
    assert.deepEqual(totals.currencies.map(({ currency }) => currency)[0], 'FFF')
    assert.equal(totals.currencies.length, 6)
  })

  test('buyers are new since their first purchase in a currency', async (t) => {
    const storage = await open(t)
    await insertShops(storage)
    const [old, recent] = [at('2024-03-03T23:59:59.999Z'), at('2024-03-04')]
    const usd = { currency: 'USD', price: 1 }
    await importRows(storage, MAIN, 'imp_1', [
      newRow(2, { ...old, ...usd, user_id: 'ann' }),
      newRow(3, { ...recent, ...usd, user_id: 'ann' }),
      newRow(4, { ...recent, currency: 'EUR', price: 1, user_id: 'ann' }),
      newRow(5, { ...recent, user_id: 'bob' }),
      newRow(6, { ...recent, user_id: 'bob' }),
      newRow(7, { ...old, ...usd, user_id: 'cyd', status: 'refunded' }),
      newRow(8, { ...recent, ...usd, user_id: 'cyd' }),
      newRow(9, { ...old, ...usd, user_id: 'dan' }),
      newRow(10, { ...recent, ...usd }),
    ])

    assert.deepEqual(await storage.countBuyers(MAIN, FROM), [
      { currency: '', new: 1, returning: 0 },
      { currency: 'EUR', new: 1, returning: 0 },
      { currency: 'USD', new: 1, returning: 1 },
    ])
    assert.deepEqual(await storage.countBuyers(SIDE, FROM), [])
  })
}

function at(time: string) {
  return { purchased_at: Date.parse(time) }
}
