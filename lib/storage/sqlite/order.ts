import type { NewPurchase } from '../../domain/purchase.ts'

/**
 * The order of the ids of a slice. `near`: the ids lie close to each other in the index, as vendors
 * write them: they begin with a time or a growing number.
 */
export type IdOrder = 'ascending' | 'near' | 'random'

/**
 * The maximum bytes of index entries between the least and the greatest id of a near slice. They
 * fit into SQLite's page cache, beside the pages of the purchases.
 */
const NEAR_BYTES = 512 * 1024
/** The bytes of an index entry without its id. */
const ENTRY_BYTES = 12
const MAX_SAMPLES = 4_000

/**
 * Returns a function that finds the order of each slice of a file. It keeps the first id of each
 * slice in a sorted list. The number of listed ids between the least and the greatest id of a slice
 * tells how many pages of the index the slice may change.
 */
export function createOrderFinder(): (rows: readonly NewPurchase[]) => IdOrder {
  let samples: string[] = []
  let last = ''

  return (rows) => {
    const [first] = rows
    if (!first) return 'ascending'
    let ascends = true
    let least = first.transaction_id
    let greatest = least
    let bytes = ENTRY_BYTES * rows.length
    for (const { transaction_id } of rows) {
      if (last >= transaction_id) ascends = false
      if (transaction_id < least) least = transaction_id
      if (transaction_id > greatest) greatest = transaction_id
      last = transaction_id
      bytes += transaction_id.length
    }
    const start = placeOf(samples, least)
    const between = placeOf(samples, greatest) - start
    samples.splice(placeOf(samples, first.transaction_id), 0, copyOf(first.transaction_id))
    if (samples.length > MAX_SAMPLES) samples = samples.filter((_, i) => i % 2 === 0)
    if (ascends) return 'ascending'
    return between * bytes <= NEAR_BYTES ? 'near' : 'random'
  }
}

/** The number of texts in a sorted list that are less than `text`. */
function placeOf(sorted: readonly string[], text: string): number {
  let start = 0
  let end = sorted.length
  while (start < end) {
    const middle = (start + end) >> 1
    if ((sorted[middle] as string) < text) start = middle + 1
    else end = middle
  }
  return start
}

/** Copies an id, because it may be a view that keeps the text around it in memory. */
function copyOf(id: string): string {
  return Buffer.from(id).toString()
}
