import { doubled, type Numbers, type PackedRows, textAt } from './packed-rows.ts'
import type { Entry } from './repeats.ts'

/**
 * Collects the transaction ids of rows, and returns them nearly sorted. Entries with the same id
 * keep their order. After the first `take`, call `add` again only when all entries are taken.
 *
 * Nearly sorted ids are enough to fill the pages of an index one after the other. A block keeps the
 * ids as bytes: reading them again from `purchases` takes 1.4 times as long, and keeping them as
 * strings takes 25 MiB more memory.
 */
export interface Block {
  /** The number of entries that are not taken yet. */
  readonly size: number
  /** The bytes of all ids, including those that are taken. 0 when all are taken. */
  readonly bytes: number
  /** Adds the ids of rows whose purchases are numbered from `first`. */
  add(rows: PackedRows, first: number): void
  /**
   * Takes the next entries: `count` at most, and fewer if the ids are long. The first call only
   * sorts, and returns none.
   */
  take(count: number): NewEntry[]
}

export interface NewEntry extends Entry {
  readonly transaction_id: string
}

/**
 * `take` ends after this many bytes of ids. A page of the index has room for four of the longest ids
 * only, and indexing 1,000 of them in one step took over 100 ms.
 */
const TAKEN_BYTES = 2 ** 16

export function createBlock(): Block {
  let text = Buffer.alloc(40_000)
  /** Where each id ends in `text`. */
  let ends: Numbers = new Float64Array(2_000)
  let lines = ends.slice()
  let purchases = ends.slice()
  let size = 0
  let bytes = 0
  let isAscii = true
  let taken = 0
  let sorted: Sorted | undefined

  const makeRoom = (rows: number, length: number) => {
    while (size + rows > ends.length) {
      ;[ends, lines, purchases] = [doubled(ends), doubled(lines), doubled(purchases)]
    }
    while (bytes + length > text.length) text = Buffer.concat([text], 2 * text.length)
  }

  const sort = (): Sorted => {
    const places = 2 ** Math.ceil(Math.log2(size))
    const keys = sortKeys(text, ends.subarray(0, size), places)
    // Decoding each id by itself takes 6 times as long as slices of one string.
    const ids = isAscii ? text.toString('latin1', 0, bytes) : undefined
    return { places, keys: keys.sort(), ids }
  }

  const startOf = (i: number) => (i === 0 ? 0 : (ends[i - 1] as number))

  const idAt = (i: number, ids: string | undefined) => {
    const start = startOf(i)
    return ids === undefined ? text.toString('utf8', start, ends[i]) : ids.slice(start, ends[i])
  }

  return {
    get size() {
      return size - taken
    },
    get bytes() {
      return bytes
    },
    add(rows, first) {
      const length = Buffer.byteLength(rows.ids)
      makeRoom(rows.size, length)
      isAscii &&= length === rows.ids.length
      const idEnds = length === rows.ids.length ? rows.idEnds : byteEnds(rows)
      for (let i = 0; i < rows.size; i++) {
        ends[size + i] = bytes + (idEnds[i] as number)
        purchases[size + i] = first + i
      }
      lines.set(rows.lines, size)
      text.write(rows.ids, bytes)
      bytes += length
      size += rows.size
    },
    take(count) {
      if (!sorted) {
        sorted = sort()
        return [] // this step has taken several ms already
      }
      const { places, keys, ids } = sorted
      const end = Math.min(taken + count, size)
      const entries: NewEntry[] = []
      let length = 0
      while (taken < end && length < TAKEN_BYTES) {
        const key = keys[taken++] as number
        const i = key - Math.floor(key / places) * places // the same as %, which is slower
        const [line, purchase] = [lines[i] as number, purchases[i] as number]
        length += (ends[i] as number) - startOf(i)
        entries.push({ transaction_id: idAt(i, ids), line, purchase })
      }
      if (taken === size) {
        size = taken = bytes = 0
        isAscii = true
        sorted = undefined
      }
      return entries
    },
  }
}

/** Where each id ends in the bytes of `ids`. */
function byteEnds({ ids, idEnds }: PackedRows): Numbers {
  let end = 0
  return idEnds.map((_, i) => {
    end += Buffer.byteLength(textAt(ids, idEnds, i))
    return end
  })
}

interface Sorted {
  readonly places: number
  readonly keys: Numbers
  /** The text of all ids, if it is ASCII. */
  readonly ids: string | undefined
}

/**
 * Computes a key for each id: a number for its first bytes, times `places`, plus the index of the id.
 * Each position takes only the values that occur there, so a key covers more bytes.
 */
function sortKeys(text: Uint8Array, ends: Numbers, places: number): Numbers {
  const keys = new Float64Array(ends.length)
  const ranges = rangesOf(text, ends, Number.MAX_SAFE_INTEGER / places)
  const positions = Int32Array.from(ranges, ({ position }) => position)
  const lowest = Int32Array.from(ranges, ({ lowest }) => lowest)
  const values = Int32Array.from(ranges, ({ values }) => values)
  let start = 0
  for (let i = 0; i < ends.length; i++) {
    const end = ends[i] as number
    let key = 0
    for (let range = 0; range < positions.length; range++) {
      const at = start + (positions[range] as number)
      const count = values[range] as number
      const value = at < end ? (text[at] as number) - (lowest[range] as number) : 0
      key = key * count + Math.min(Math.max(value, 0), count - 1)
    }
    keys[i] = key * places + i
    start = end
  }
  return keys
}

interface Range {
  readonly position: number
  /** The lowest byte, or 0 if an id has ended before. */
  readonly lowest: number
  readonly values: number
}

/** The maximum bytes of an id: 255 characters of 4 bytes. */
const BYTES = 1_020
/** More positions would take longer than they save. */
const MAX_RANGES = 16
/**
 * Only each 17th id is examined, to save time. A prime number, because the rows of several sources
 * may come in turn. Bytes outside the ranges count as the nearest value.
 */
const SAMPLE = 17

/** The ranges of the bytes at the first positions where bytes differ. */
function rangesOf(text: Uint8Array, ends: Numbers, maxCombinations: number): Range[] {
  const lowest = new Uint8Array(BYTES).fill(255)
  const highest = new Uint8Array(BYTES)
  for (let i = 0; i < ends.length; i += SAMPLE) {
    const start = i === 0 ? 0 : (ends[i - 1] as number)
    const length = Math.min((ends[i] as number) - start, BYTES)
    for (let at = 0; at < length; at++) {
      const byte = text[start + at] as number
      if (byte < (lowest[at] as number)) lowest[at] = byte
      if (byte > (highest[at] as number)) highest[at] = byte
    }
    if (length < BYTES) lowest[length] = 0
  }
  const ranges: Range[] = []
  let combinations = 1
  for (let position = 0; position < BYTES && ranges.length < MAX_RANGES; position++) {
    const low = lowest[position] as number
    const values = (highest[position] as number) - low + 1
    combinations *= Math.max(values, 1)
    if (combinations > maxCombinations) break
    if (values > 1) ranges.push({ position, lowest: low, values })
  }
  return ranges
}
