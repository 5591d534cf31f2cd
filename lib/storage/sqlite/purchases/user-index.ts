import { memoize } from '../../sql/memoize.ts'
import type { Entry } from '../../sql/purchases/entries.ts'
import type { Connection } from '../connection.ts'
import { userKey } from '../user-key.ts'

// Writing a block changes most pages of the index, whatever the block's size. Large blocks are
// therefore cheaper. A full one takes 16 MiB of memory.
const BLOCK_ROWS = 1_000_000
/** Sorting so many entries takes 5 ms. Sorting a million at once would block for 80 ms. */
const SORTED_TOGETHER = 62_500
const ROWS_A_STATEMENT = 64
const ENTRIES_A_SLICE = 4_096

/** A double holds 53 bits exactly: 31 of the user's key, then 22 for the place of the entry. */
const PLACES = 2 ** 22

/** Collects the users of purchases, and writes them into the index in sorted blocks. */
export function createUserBlock(db: Connection, store: number) {
  let keys = new Float64Array(2_000)
  let purchases = keys.slice()
  let size = 0
  let sorted = 0
  let written = 0
  /** The ends of the ranges of the block that are not sorted yet, the last one first. */
  let ends: number[] = []
  let verified: number | undefined

  /** A step of a quicksort: sorts the next range if it is short, or divides it. */
  const sortRange = () => {
    if (ends.length === 0) ends = [size]
    const end = ends.at(-1) as number
    const range = keys.subarray(sorted, end)
    if (range.length > SORTED_TOGETHER) ends.push(sorted + partition(range))
    else {
      range.sort()
      sorted = end
      ends.pop()
    }
  }
  const write = (rows: number) => {
    const values: number[] = []
    for (const key of keys.subarray(written, written + rows)) {
      const user = Math.floor(key / PLACES)
      values.push(user, purchases[key - user * PLACES] as number)
    }
    if (verified === undefined) db.run(insertionOf(rows), ...values)
    else db.run(verifiedInsertionOf(rows), ...values, verified)
    written += rows
  }

  return {
    /** The number of entries that are not written yet. */
    get size() {
      return size - written
    },
    /** Whether the block must be written before further rows. Stays true until all is written. */
    get isFull() {
      return size >= BLOCK_ROWS || ends.length > 0 || sorted > 0
    },
    /** Adds the users of rows whose purchases are numbered from `first`. */
    addRows(rows: readonly Entry[], first: number) {
      for (const [i, { user_id }] of rows.entries()) {
        if (user_id === undefined) continue
        if (size === keys.length) [keys, purchases] = [doubled(keys), doubled(purchases)]
        keys[size] = userKey(store, user_id) * PLACES + size
        purchases[size++] = first + i
      }
    },
    /**
     * Call it when a purchase in this block may have been deleted. Another import may then have used
     * its `seq` again. The block leaves out purchases that are not of this import or have no user.
     */
    verify(importSeq: number) {
      verified = importSeq
    },
    /** Sorts or writes the next entries. Call it in a transaction. */
    writeSlice() {
      if (written === sorted) return sortRange()
      const end = Math.min(written + ENTRIES_A_SLICE, sorted)
      while (written < end) write(Math.min(ROWS_A_STATEMENT, end - written))
      if (written < size) return
      size = sorted = written = 0
      verified = undefined
    },
  }
}

/**
 * Moves the smaller keys before the others, with Hoare's scheme. Returns where the others begin:
 * neither part is empty. A random pivot, because a file could be made slow for another one.
 */
function partition(keys: Float64Array): number {
  const pivot = keys[Math.floor(Math.random() * (keys.length - 1))] as number
  let low = 0
  let high = keys.length - 1
  for (;;) {
    while ((keys[low] as number) < pivot) low++
    while ((keys[high] as number) > pivot) high--
    if (low >= high) return high + 1
    const key = keys[low] as number
    keys[low++] = keys[high] as number
    keys[high--] = key
  }
}

function doubled(numbers: Float64Array): Float64Array<ArrayBuffer> {
  const larger = new Float64Array(2 * numbers.length)
  larger.set(numbers)
  return larger
}

const HAS_USER =
  'EXISTS (SELECT 1 FROM purchases WHERE seq = column2 AND import = ? AND user_id IS NOT NULL)'

const insertionOf = memoize((rows: number) => insertionFrom(valuesOf(rows)))
const verifiedInsertionOf = memoize((rows: number) =>
  insertionFrom(`SELECT * FROM (${valuesOf(rows)}) WHERE ${HAS_USER}`),
)

function insertionFrom(source: string): string {
  return `INSERT OR FAIL INTO purchase_users ${source} ON CONFLICT DO NOTHING`
}

function valuesOf(rows: number): string {
  return `VALUES ${Array(rows).fill('(?, ?)').join()}`
}

/** Removes a purchase from the index, because it is deleted or loses its user. */
export const DELETE_USER_ENTRY = 'DELETE FROM purchase_users WHERE user_key = ? AND purchase = ?'
