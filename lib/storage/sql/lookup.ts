import type { NewPurchase } from '../../domain/purchase.ts'
import type { Dialect } from './dialect.ts'
import { all, type Program } from './program.ts'

const CACHED_ITEMS = 50_000

/** Finds the items for the SKUs of rows. Queries each SKU only once. */
export function createItemLookup({ each }: Dialect, store: number) {
  const findItems = `SELECT name, seq FROM items WHERE store = ? AND name IN ${each.text}`
  let known = new Map<string, number>()
  return function* (rows: readonly NewPurchase[]): Program<ReadonlyMap<string, number>> {
    const missing = new Set<string>()
    for (const { sku } of rows) if (!known.has(sku)) missing.add(sku)
    if (missing.size === 0) return known
    if (known.size > CACHED_ITEMS) {
      known = new Map()
      for (const { sku } of rows) missing.add(sku)
    }
    const found = yield* all(findItems, store, [...missing])
    for (const { name, seq } of found) known.set(name as string, seq as number)
    return known
  }
}
