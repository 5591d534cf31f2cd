import type { NewPurchase } from '../../domain/purchase.ts'
import type { Connection } from './connection.ts'

const CACHED_ITEMS = 50_000

const FIND_ITEMS = `
  SELECT name, seq FROM items
  WHERE store = ? AND name IN (SELECT json_array_elements_text(?))`

/** Finds the items for the SKUs of rows. Queries each SKU only once. */
export function createItemLookup(on: Connection, store: number) {
  let known = new Map<string, number>()
  return async (rows: readonly NewPurchase[]): Promise<ReadonlyMap<string, number>> => {
    const missing = new Set<string>()
    for (const { sku } of rows) if (!known.has(sku)) missing.add(sku)
    if (missing.size === 0) return known
    if (known.size > CACHED_ITEMS) {
      known = new Map()
      for (const { sku } of rows) missing.add(sku)
    }
    const found = await on.all(FIND_ITEMS, store, [...missing])
    for (const { name, seq } of found) known.set(name as string, seq as number)
    return known
  }
}
