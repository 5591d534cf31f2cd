import type { NewPurchase } from '../../../domain/purchase.ts'
import type { Dialect } from '../dialect.ts'
import { all, type Program } from '../program.ts'
import { metadataText } from './recorded.ts'
import type { RowOutcomes } from './records.ts'

/** A row to write. `sku` holds the `seq` of the item, which identifies it within a store. */
export interface Entry extends Omit<NewPurchase, 'sku' | 'metadata'> {
  readonly sku: number
  /** JSON; null for an empty object. */
  readonly metadata: string | null
}

const CACHED_ITEMS = 50_000

/**
 * Returns a program that prepares the rows of an import. Queries each SKU only once. The id of an
 * item counts as its SKU, unless it is the name of another one. `unknown` has the rows whose SKU no
 * item has.
 */
export function createEntries({ each }: Dialect, store: number) {
  const findItems = `SELECT name, seq FROM items WHERE store = ? AND name IN ${each.text}`
  const findIds = `SELECT id, seq FROM items WHERE store = ? AND id IN ${each.text}`
  let known = new Map<string, number>()

  function* lookUp(rows: readonly NewPurchase[]): Program<void> {
    const missing = new Set<string>()
    for (const { sku } of rows) if (!known.has(sku)) missing.add(sku)
    if (missing.size === 0) return
    if (known.size > CACHED_ITEMS) {
      known = new Map()
      for (const { sku } of rows) missing.add(sku)
    }
    const found = yield* all(findItems, store, [...missing])
    for (const { name, seq } of found) known.set(name as string, seq as number)
    const ids = [...missing].filter((sku) => sku.startsWith('itm_') && !known.has(sku))
    if (ids.length === 0) return
    for (const { id, seq } of yield* all(findIds, store, ids)) {
      known.set(id as string, seq as number)
    }
  }

  return function* (rows: readonly NewPurchase[]) {
    yield* lookUp(rows)
    const entries: Entry[] = []
    const unknown: RowOutcomes['unknown'][number][] = []
    for (const row of rows) {
      const sku = known.get(row.sku)
      if (sku === undefined) unknown.push(row)
      else entries.push(entryOf(row, sku))
    }
    return { entries, unknown }
  }
}

/** The entry of a row. `item` is the number of its item. */
export function entryOf(row: NewPurchase, item: number): Entry {
  return { ...row, sku: item, metadata: metadataText(row) }
}
