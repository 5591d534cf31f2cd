import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { PurchaseFilter } from '../../../lib/domain/query.ts'
import { importRows, openImport, readPages } from '../fixtures/imports.ts'
import { insertShops, MAIN, newRow, SIDE } from '../fixtures/records.ts'
import type { OpenStorage } from './open.ts'

export function describePurchases(open: OpenStorage): void {
  const filters: readonly (readonly [filter: PurchaseFilter, lines: readonly number[]])[] = [
    [{}, [2, 3, 4, 5]],
    [{ user_id: 'ann' }, [2, 4]],
    [{ sku: 'gem' }, [3]],
    [{ status: 'refunded' }, [4]],
    [{ from: 2_000 }, [3, 4, 5]],
    [{ to: 4_000 }, [2, 3]],
    [{ from: 2_000, to: 4_000 }, [3]],
    [{ user_id: 'ann', status: 'refunded', sku: 'gold', from: 1, to: 9_000 }, [4]],
    [{ user_id: 'nobody' }, []],
  ]

  for (const [filter, lines] of filters) {
    test(`the filter ${JSON.stringify(filter)} works on one page and on many`, async (t) => {
      const storage = await open(t)
      await insertShops(storage)
      await importRows(storage, MAIN, 'imp_1', [
        newRow(2, { user_id: 'ann', purchased_at: 1_000 }),
        newRow(3, { user_id: 'bob', purchased_at: 2_000, sku: 'gem' }),
      ])
      await importRows(storage, MAIN, 'imp_2', [
        newRow(4, { user_id: 'ann', purchased_at: 4_000, status: 'refunded' }),
        newRow(5, { purchased_at: 5_000 }),
      ])
      await importRows(storage, SIDE, 'imp_3', [newRow(9, { user_id: 'ann', sku: 'gem' })])

      for (const limit of [1, 10]) {
        for (const newestFirst of [false, true]) {
          const pages = await readPages(storage, MAIN, limit, filter, newestFirst)
          const found = pages.flat().map(({ transaction_id }) => transaction_id)
          const expected = lines.map((line) => `tx_${line}`)
          assert.deepEqual(found, newestFirst ? expected.reverse() : expected)
        }
      }
    })
  }

  for (const limit of [1, 2, 3, 6, 7]) {
    test(`pages of ${limit} list each purchase once, in order of import`, async (t) => {
      const storage = await open(t)
      await insertShops(storage)
      const rows = (...ids: string[]) =>
        ids.map((transaction_id, index) => newRow(index + 2, { transaction_id }))
      await importRows(storage, MAIN, 'imp_b', rows('z', 'm'))
      await (await openImport(storage, MAIN, 'imp_x')).abort()
      await importRows(storage, SIDE, 'imp_s', rows('side'))
      await importRows(storage, MAIN, 'imp_a', rows('y', 'm', 'b', 'a'))
      await importRows(storage, MAIN, 'imp_c', rows('c'))

      const pages = await readPages(storage, MAIN, limit)

      assert.deepEqual(
        pages.flat().map(({ transaction_id }) => transaction_id),
        ['z', 'm', 'y', 'b', 'a', 'c'],
      )
      const reversed = await readPages(storage, MAIN, limit, {}, true)
      assert.deepEqual(reversed.flat(), pages.flat().reverse())
      assert.ok(pages.slice(0, -1).every((page) => page.length === limit))
      assert.equal(pages.length, Math.ceil(6 / limit))
    })
  }

  test('a store without purchases has one empty page', async (t) => {
    const storage = await open(t)
    await insertShops(storage)

    assert.deepEqual(await storage.listPurchases(MAIN, {}, { limit: 10 }), { purchases: [] })
  })

  test('purchases imported while pages are read are listed last', async (t) => {
    const storage = await open(t)
    await insertShops(storage)
    await importRows(storage, MAIN, 'imp_1', [newRow(2), newRow(3), newRow(4)])
    const first = await storage.listPurchases(MAIN, {}, { limit: 2 })

    await importRows(storage, MAIN, 'imp_2', [newRow(2, { transaction_id: 'late' })])
    const after = first.next ?? assert.fail('no next page')
    const second = await storage.listPurchases(MAIN, {}, { limit: 2, after })

    const ids = [...first.purchases, ...second.purchases].map((each) => each.transaction_id)
    assert.deepEqual(ids, ['tx_2', 'tx_3', 'tx_4', 'late'])
    assert.equal(second.next, undefined)
  })

  test('a page with a filter examines a limited number of purchases', async (t) => {
    const storage = await open(t)
    await insertShops(storage)
    const rows = [2, 3, 4, 5, 6, 7].map((line) =>
      newRow(line, line % 3 === 0 ? { status: 'refunded' } : {}),
    )
    await importRows(storage, SIDE, 'imp_side', [newRow(2)])
    await importRows(storage, MAIN, 'imp_1', rows.slice(0, 3))
    await importRows(storage, MAIN, 'imp_2', rows.slice(3))
    const pagesOf = async (filter: PurchaseFilter, limit = 9, newestFirst = false) => {
      const pages: string[][] = []
      let after: string | undefined
      do {
        const page = { limit, examine: 2, newestFirst, ...(after !== undefined && { after }) }
        const { purchases, next } = await storage.listPurchases(MAIN, filter, page)
        pages.push(purchases.map(({ transaction_id }) => transaction_id))
        after = next
      } while (after !== undefined)
      return pages
    }

    const refunded = await pagesOf({ status: 'refunded' })
    assert.deepEqual(refunded.slice(0, 3), [['tx_3'], [], ['tx_6']])
    assert.deepEqual(refunded.slice(3).flat(), [])
    const reversed = await pagesOf({ status: 'refunded' }, 9, true)
    assert.deepEqual(reversed.slice(0, 3), [['tx_6'], [], ['tx_3']])
    const ofSecond = await pagesOf({ status: 'purchased', import_id: 'imp_2' }, 1)
    assert.deepEqual(ofSecond.flat(), ['tx_5', 'tx_7'])
    assert.equal((await pagesOf({})).length, 1)
    assert.equal((await pagesOf({ import_id: 'imp_2' })).length, 1)
  })
}
