import { memoize } from '../memoize.ts'
import type { Connection } from './connection.ts'
import { doubled, NONE, type Numbers, type PackedRows } from './packed-rows.ts'
import { userKey } from './user-key.ts'

/** Collects the users of purchases, and writes them into the index in sorted blocks. */
export interface UserBlock {
  readonly size: number
  /**
   * Whether the block must be written before further calls of `addRows`. A full block still
   * has room for 2,000 purchases. Stays true until all is written.
   */
  readonly isFull: boolean
  /** Adds the users of rows whose purchases are numbered from `first`, in ascending order. */
  addRows(rows: PackedRows, first: number): void
  /**
   * Call it when a purchase in this block may have been deleted. Another import may then have used
   * its `seq` again. The block leaves out purchases that are not of this import or have no user.
   */
  verify(importSeq: number): void
  /** Sorts or writes the next entries. Call it in a transaction. */
  writeSlice(): void
}

// Writing a block changes most pages of the index, whatever the block's size. Large blocks are
// therefore cheaper. A full one takes 8 MiB of memory.
const BLOCK_ROWS = 1_000_000
const ROWS_A_STATEMENT = 64
const ENTRIES_A_SLICE = 1_024

/** A double holds 53 bits exactly: 31 of the user's key, then the 22 bits of the place. */
const PLACES = 2 ** 22
/** The number of used places at which a block is full. */
const FULL_PLACES = 2 ** 21
/** The longest gap between two purchases for which places stay empty. */
const MAX_GAP = 1_000

/**
 * A place is a small number for a purchase in a block: its `seq` less the offset of its run. Each
 * long gap between purchases begins a run.
 */
interface Run {
  /** The place of its first purchase. */
  readonly place: number
  readonly offset: number
}

export function createUserBlock(db: Connection): UserBlock {
  let keys: Numbers = new Float64Array(2_000)
  let size = 0
  let written = 0
  let lastPlace = -1
  let runs: Run[] = []
  let verified: number | undefined
  let isSorted = false

  const placeOf = (purchase: number) => {
    const run = runs.at(-1)
    const place = run && purchase - run.offset
    if (place !== undefined && place - lastPlace <= MAX_GAP) return place
    runs.push({ place: lastPlace + 1, offset: purchase - lastPlace - 1 })
    return lastPlace + 1
  }

  const purchaseAt = (place: number) => {
    let [low, high] = [0, runs.length - 1]
    while (low < high) {
      const middle = Math.ceil((low + high) / 2)
      if ((runs[middle] as Run).place <= place) low = middle
      else high = middle - 1
    }
    return place + (runs[low] as Run).offset
  }

  const add = (user_key: number, purchase: number) => {
    if (size === keys.length) keys = doubled(keys)
    lastPlace = placeOf(purchase)
    keys[size++] = user_key * PLACES + lastPlace
  }

  const write = (end: number) => {
    const values: number[] = []
    for (const key of keys.subarray(written, end)) {
      const user = Math.floor(key / PLACES)
      values.push(user, purchaseAt(key - user * PLACES))
    }
    if (verified === undefined) db.run(insertionOf(end - written), ...values)
    else db.run(verifiedInsertionOf(end - written), ...values, verified)
    written = end
  }

  return {
    get size() {
      return size - written
    },
    get isFull() {
      return size >= BLOCK_ROWS || lastPlace >= FULL_PLACES || isSorted
    },
    addRows({ userKeys }, first) {
      for (let i = 0; i < userKeys.length; i++) {
        const key = userKeys[i] as number
        if (key !== NONE) add(key, first + i)
      }
    },
    verify(importSeq) {
      verified = importSeq
    },
    writeSlice() {
      if (!isSorted) keys.subarray(0, size).sort() // takes 80 ms for a million
      isSorted = true
      const end = Math.min(written + ENTRIES_A_SLICE, size)
      while (written < end) write(Math.min(written + ROWS_A_STATEMENT, end))
      if (written < size) return
      size = written = 0
      lastPlace = -1
      runs = []
      verified = undefined
      isSorted = false
    },
  }
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
export function deleteUserEntry(
  db: Connection,
  store: number,
  user_id: string,
  purchase: number,
): void {
  const sql = 'DELETE FROM purchase_users WHERE user_key = ? AND purchase = ?'
  db.run(sql, userKey(store, user_id), purchase)
}
