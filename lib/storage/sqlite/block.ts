import type { Entry } from './repeats.ts'
import { createSorting, type Sorting } from './sorting.ts'

/**
 * Collects entries, and returns them nearly sorted by id. Entries with the same id keep their
 * order. After the first `take`, call `add` again only when all entries are taken.
 *
 * Nearly sorted ids are enough to fill the pages of an index one after the other. A block stores
 * keys instead of ids: as strings, the ids took most of an import's memory, and writing and reading
 * their bytes took 0.1 of its time (bench/).
 */
export interface Block {
  readonly size: number
  add(transaction_id: string, line: number, purchase: number): void
  /** Takes the next entries, `count` at most. */
  take(count: number): Entry[]
}

export function createBlock(): Block {
  /** The common prefix of the transaction ids in this block. */
  let prefix = ''
  let keys = new Float64Array(2_000)
  let lines = keys.slice()
  let purchases = keys.slice()
  let size = 0
  let taken = 0
  let sorting: Sorting | undefined

  /** Shortens the prefix. Puts the characters that were cut off at the beginning of each key. */
  const shorten = (length: number) => {
    const cut = prefix.slice(length)
    const removed = SYMBOLS ** cut.length
    const first = keyOf(cut, 0)
    for (let i = 0; i < size; i++) {
      const key = Math.floor((keys[i] as number) / PLACES)
      keys[i] = (first + Math.floor(key / removed)) * PLACES + i
    }
    prefix = prefix.slice(0, length)
  }

  return {
    get size() {
      return size - taken
    },
    add(transaction_id, line, purchase) {
      if (size === 0) prefix = transaction_id
      if (!transaction_id.startsWith(prefix)) shorten(commonLength(prefix, transaction_id))
      if (size === keys.length) {
        ;[keys, lines, purchases] = [doubled(keys), doubled(lines), doubled(purchases)]
      }
      keys[size] = keyOf(transaction_id, prefix.length) * PLACES + size
      lines[size] = line
      purchases[size] = purchase
      size++
    },
    take(count) {
      const end = Math.min(taken + count, size)
      sorting ??= createSorting(keys.subarray(0, size))
      while (sorting.sorted < end) sorting.advance()
      const entries: Entry[] = []
      while (taken < end) {
        const i = (keys[taken++] as number) % PLACES
        entries.push({ line: lines[i] as number, purchase: purchases[i] as number })
      }
      if (taken === size) {
        size = taken = 0
        sorting = undefined
      }
      return entries
    },
  }
}

/** A double holds 52 bits exactly: 4 characters of 7 bits, then the 24-bit index of the entry. */
const PLACES = 2 ** 24
const SYMBOLS = 2 ** 7
const CHARACTERS = 4

/** Orders ids by 4 characters from `start` on. All characters beyond ASCII are equal. */
function keyOf(id: string, start: number): number {
  let key = 0
  for (let at = start; at < start + CHARACTERS; at++) {
    key = key * SYMBOLS + (at < id.length ? Math.min(id.charCodeAt(at), SYMBOLS - 1) : 0)
  }
  return key
}

function commonLength(a: string, b: string): number {
  let length = 0
  while (length < a.length && a.charCodeAt(length) === b.charCodeAt(length)) length++
  return length
}

export function doubled(numbers: Float64Array<ArrayBuffer>): Float64Array<ArrayBuffer> {
  const larger = new Float64Array(2 * numbers.length)
  larger.set(numbers)
  return larger
}
