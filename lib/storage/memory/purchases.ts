import type { JsonObject } from '../../domain/fields.ts'
import type { StoredPurchase } from '../../domain/purchase.ts'
import type { PurchaseFilter } from '../../domain/query.ts'
import type { PurchaseMethods } from '../port.ts'
import type { KeptPurchase, State } from './state.ts'

export function purchaseMethods(state: State): Pick<PurchaseMethods, 'listPurchases'> {
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
  }
}

function matches(
  purchase: KeptPurchase,
  { user_id, sku, status, import_id, from, to }: PurchaseFilter,
): boolean {
  return (
    (user_id === undefined || purchase.user_id === user_id) &&
    (sku === undefined || purchase.sku === sku) &&
    (status === undefined || purchase.status === status) &&
    (import_id === undefined || purchase.import_id === import_id) &&
    (from === undefined || purchase.purchased_at >= from) &&
    (to === undefined || purchase.purchased_at < to)
  )
}
