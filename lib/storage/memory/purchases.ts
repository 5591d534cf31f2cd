import type { JsonObject } from '../../domain/fields.ts'
import type { StoredPurchase } from '../../domain/purchase.ts'
import type { PurchaseFilter } from '../../domain/query.ts'
import type { PurchaseMethods } from '../port.ts'
import { sortedPageOf } from './pages.ts'
import type { KeptPurchase, State } from './state.ts'

export function purchaseMethods(state: State): Omit<PurchaseMethods, 'openImport'> {
  return {
    async listErasedPurchases(store, page) {
      const all = [...state.recordsOf(store).erased.values()]
      return sortedPageOf(all, page, ({ transaction_id }) => transaction_id)
    },
    async insertErasedPurchases(store, erased) {
      const records = state.recordsOf(store)
      for (const each of erased) records.erased.set(each.transaction_id, { ...each })
    },
    async listPurchases(store, filter, { limit, after = '0' }) {
      const all = [...state.recordsOf(store).purchases.values()]
      const purchases: StoredPurchase[] = []
      for (let at = Number(after); at < all.length; at++) {
        const stored = all[at] as KeptPurchase
        if (!matches(stored, filter)) continue
        if (purchases.length === limit) return { purchases, next: String(at) }
        const metadata = JSON.parse(stored.metadata.toString()) as JsonObject
        purchases.push({ ...stored, metadata })
      }
      return { purchases }
    },
  }
}

function matches(
  purchase: KeptPurchase,
  { user_id, sku, status, from, to }: PurchaseFilter,
): boolean {
  return (
    (user_id === undefined || purchase.user_id === user_id) &&
    (sku === undefined || purchase.sku === sku) &&
    (status === undefined || purchase.status === status) &&
    (from === undefined || purchase.purchased_at >= from) &&
    (to === undefined || purchase.purchased_at < to)
  )
}
