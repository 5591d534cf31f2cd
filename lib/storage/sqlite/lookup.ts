import type { NewPurchase } from '../../domain/purchase.ts'
import type { Connection } from './connection.ts'

const CACHED_ITEMS = 50_000

const FIND_ITEMS = `
  SELECT name, seq FROM items WHERE store = ? AND name IN (SELECT value FROM json_each(?))`

/** Finds the items for the SKUs of rows. Queries each SKU only once. */
export function createItemLookup(db: Connection, store: number) {
  let known = new Map<string, number>()
  return (rows: readonly NewPurchase[]): ReadonlyMap<string, number> => {
    const missing = new Set<string>()
    for (const { sku } of rows) if (!known.has(sku)) missing.add(sku)
    if (missing.size === 0) return known
    if (known.size > CACHED_ITEMS) {
      known = new Map()
      for (const { sku } of rows) missing.add(sku)
    }
    const found = db.all(FIND_ITEMS, store, JSON.stringify([...missing]))
    for (const { name, seq } of found) known.set(name as string, seq as number)
    return known
  }
}
