import { compareRepeat, type NewPurchase, type StoredPurchase } from '../../domain/purchase.ts'
import { isScan, matches } from '../filter.ts'
import { EXAMINED } from '../pages.ts'
import type { OwnedRow, PurchaseMethods, RecordedRow, StoreKey, WriteOptions } from '../port.ts'
import { isRecording, recordedDetails, storedPurchase } from '../recorded.ts'
import { sortedPageOf } from './pages.ts'
import {
  type KeptImport,
  type KeptPurchase,
  keptPurchase,
  type State,
  storedFrom,
} from './state.ts'
import { summarizePurchases } from './summaries.ts'
import { countBuyers, readTotals } from './totals.ts'

type Methods = Omit<PurchaseMethods, 'openImport' | 'findImport' | 'listImports' | 'undoImport'>

export function purchaseMethods(state: State): Methods {
  return {
    async listErasedPurchases(store, page) {
      const all = [...state.recordsOf(store).erased.values()]
      return sortedPageOf(all, page, ({ transaction_id }) => transaction_id)
    },
    async insertErasedPurchases(store, erased) {
      const records = state.recordsOf(store)
      for (const each of erased) records.erased.set(each.transaction_id, { ...each })
    },
    async recordPurchase(store, import_id, row, write = {}) {
      state.verify(write.authority)
      const result = recordRow(state, store, import_id, row, write)
      if (result.outcome === 'added' || result.outcome === 'updated') state.recordWrite(write)
      return result
    },
    async listPurchases(store, filter, { limit, after = '0', examine = EXAMINED }) {
      const all = [...state.recordsOf(store).purchases.values()]
      const purchases: StoredPurchase[] = []
      const isBounded = isScan(filter)
      for (let at = Number(after); at < all.length; at++) {
        if (isBounded && at >= Number(after) + examine) return { purchases, next: String(at) }
        const stored = all[at] as KeptPurchase
        if (!matches(stored, filter)) continue
        if (purchases.length === limit) return { purchases, next: String(at) }
        purchases.push(storedFrom(stored))
      }
      return { purchases }
    },
    async summarizePurchases(stores, filter, by, most) {
      return summarizePurchases(state, stores, filter, by, most)
    },
    async readTotals(store, query) {
      return readTotals(state, store, query)
    },
    async findPurchaseVersion(store) {
      return String(state.recordsOf(store).purchases.changes)
    },
    async countBuyers(store, from) {
      return countBuyers(state, store, from)
    },
    async listOwned(store, user_id, page) {
      const owned = new Map<string, OwnedRow>()
      for (const purchase of state.recordsOf(store).purchases.values()) {
        if (!matches(purchase, { user_id, status: 'purchased' })) continue
        const { sku, quantity, purchased_at } = purchase
        const known = owned.get(sku)
        owned.set(sku, {
          sku,
          quantity: (known?.quantity ?? 0) + quantity,
          first_purchased_at: Math.min(known?.first_purchased_at ?? purchased_at, purchased_at),
          last_purchased_at: Math.max(known?.last_purchased_at ?? purchased_at, purchased_at),
        })
      }
      return sortedPageOf([...owned.values()], page, ({ sku }) => sku)
    },
  }
}

function recordRow(
  state: State,
  store: StoreKey,
  import_id: string,
  row: NewPurchase,
  write: WriteOptions,
): RecordedRow {
  const { items, purchases, imports, staged, erased } = state.recordsOf(store)
  const { transaction_id: id } = row
  if (!items.has(row.sku)) return { outcome: 'unknown' }
  if (staged?.has(id)) return { outcome: 'busy' }
  const stored = purchases.get(id)
  if (!stored && erased.has(id)) return { outcome: 'skipped' }
  if (!stored) {
    const purchase = storedPurchase(row, store.store_id, import_id)
    purchases.set(id, keptPurchase(purchase))
    imports.set(import_id, recordingOf(purchase, 'added', write))
    return { outcome: 'added', purchase }
  }
  const repeat = compareRepeat({ ...stored, is_erased: erased.has(id) }, row)
  if (repeat.outcome === 'conflict') return repeat
  if (repeat.outcome === 'skipped') {
    const { import_id: earlier } = stored
    const overlaps = isRecording(earlier) ? undefined : imports.get(earlier)?.overlaps
    overlaps?.set(earlier, (overlaps.get(earlier) ?? 0) + 1)
    return { outcome: 'skipped', purchase: storedFrom(stored) }
  }
  const { status } = row
  const purchase = { ...storedFrom(stored), status }
  purchases.set(id, { ...stored, status })
  const recording = recordingOf({ ...purchase, import_id }, 'updated', write)
  const changes = new Map([[id, { before: stored.status, after: status }]])
  imports.set(import_id, { ...recording, changes })
  return { outcome: 'updated', purchase }
}

function recordingOf(
  purchase: StoredPurchase,
  outcome: 'added' | 'updated',
  write: WriteOptions,
): KeptImport {
  const { import_id, store_id } = purchase
  const created_at = new Date().toISOString()
  const record = { import_id, store_id, created_at, ...recordedDetails(purchase, outcome, write) }
  return { record, changes: new Map(), overlaps: new Map() }
}
