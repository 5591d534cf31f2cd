import type { JsonObject } from '../../domain/fields.ts'
import type { StoredPurchase } from '../../domain/purchase.ts'
import { matches } from '../filter.ts'
import type { PurchaseMethods } from '../port.ts'
import type { KeptPurchase, State } from './state.ts'
import { summarizePurchases } from './summaries.ts'

export function purchaseMethods(state: State): Omit<PurchaseMethods, 'openImport'> {
  return {
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
    async summarizePurchases(stores, filter, by) {
      return summarizePurchases(state, stores, filter, by)
    },
  }
}
