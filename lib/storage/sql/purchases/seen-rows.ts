import { PURCHASE_STATUSES, type PurchaseStatus } from '../../../domain/purchase.ts'

/** The time of a row of the file, or `stored` if it is that of the stored purchase. */
type SeenTime = number | 'stored'

/** The rows of a file, for each stored purchase and status the time of the first one. */
export type Seen = Map<number, SeenTime>

/** Identifies the rows of a file with the same stored purchase and status. */
export function seenKey(purchase: number, status: PurchaseStatus): number {
  return purchase * PURCHASE_STATUSES.length + PURCHASE_STATUSES.indexOf(status)
}

const PAGE_BITS = 4_096

/**
 * Remembers which rows of a file were compared with stored purchases, to find repeats within the
 * file. Nearly all rows have the time of the stored purchase, and take one bit: a file of a million
 * rows that is imported again takes 0.6 MiB.
 */
export function createSeenRows() {
  const pages = new Map<number, Uint32Array>()
  const times = new Map<number, number>()
  const add = (key: number, time: SeenTime): void => {
    const bit = key % PAGE_BITS
    const number = Math.floor(key / PAGE_BITS)
    const page = pages.get(number) ?? new Uint32Array(PAGE_BITS / 32)
    if (page[bit >>> 5] === 0) pages.set(number, page)
    page[bit >>> 5] = (page[bit >>> 5] ?? 0) | (1 << (bit & 31))
    if (time !== 'stored') times.set(key, time)
  }
  return {
    find(key: number): SeenTime | undefined {
      const bit = key % PAGE_BITS
      const word = pages.get(Math.floor(key / PAGE_BITS))?.[bit >>> 5] ?? 0
      if ((word & (1 << (bit & 31))) === 0) return undefined
      return times.get(key) ?? 'stored'
    },
    add,
    /** Adds the rows of a comparison once it is written. */
    addAll(seen: Seen): void {
      for (const [key, time] of seen) add(key, time)
    },
  }
}

export type SeenRows = ReturnType<typeof createSeenRows>
