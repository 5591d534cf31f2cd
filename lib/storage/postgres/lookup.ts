import type { NewPurchase } from '../../domain/purchase.ts'
import type { Database } from './connection.ts'

const CACHED_ITEMS = 50_000

/** Finds the items of a store that rows name, asking the database once for each name. */
export function createItemLookup(db: Database, store: number) {
  let known = new Map<string, number>()
  return async (rows: readonly NewPurchase[]): Promise<ReadonlyMap<string, number>> => {
    const asked = new Set<string>()
    for (const { sku } of rows) if (!known.has(sku)) asked.add(sku)
    if (asked.size === 0) return known
    if (known.size > CACHED_ITEMS) {
      known = new Map()
      for (const { sku } of rows) asked.add(sku)
    }
    const found = await db.all(
      `SELECT name, seq FROM items
       WHERE store = $1 AND name IN (SELECT json_array_elements_text($2))`,
      store,
      [...asked],
    )
    for (const { name, seq } of found) known.set(name as string, seq as number)
    return known
  }
}
