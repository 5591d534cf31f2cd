import { type PackedRows, textAt } from './packed-rows.ts'
import type { Entry } from './repeats.ts'

export type Block = ReturnType<typeof createBlock>

export interface NewEntry extends Entry {
  readonly transaction_id: string
}

/**
 * `take` ends after this many characters of ids. A page of the index has room for four of the longest
 * ids only, and indexing 1,000 of them in one step took over 100 ms.
 */
const TAKEN_CHARS = 2 ** 16

/**
 * Collects the transaction ids of rows, and returns them sorted. Entries with the same id keep their
 * order. Sorted ids fill the pages of an index one after the other.
 */
export function createBlock() {
  let entries: NewEntry[] = []
  let chars = 0
  let taken = 0
  let isSorted = false

  return {
    /** The number of entries that are not taken yet. */
    get size() {
      return entries.length - taken
    },
    /** The characters of all ids, including those that are taken. 0 when all are taken. */
    get chars() {
      return chars
    },
    /**
     * Adds the ids of rows whose purchases are numbered from `first`. After the first `take`, call it
     * again only when all entries are taken.
     */
    add({ ids, idEnds, lines }: PackedRows, first: number) {
      for (let i = 0; i < lines.length; i++) {
        const [transaction_id, line] = [textAt(ids, idEnds, i), lines[i] as number]
        entries.push({ transaction_id, line, purchase: first + i })
      }
      chars += ids.length
    },
    /**
     * Takes the next entries: `count` at most, and fewer if the ids are long. The first call only
     * sorts, and returns none.
     */
    take(count: number): NewEntry[] {
      if (!isSorted) {
        entries.sort(byId)
        isSorted = true
        return [] // this step has taken several ms already
      }
      const start = taken
      const end = Math.min(start + count, entries.length)
      for (let length = 0; taken < end && length < TAKEN_CHARS; taken++) {
        length += entries[taken]?.transaction_id.length ?? 0
      }
      const part = entries.slice(start, taken)
      if (taken === entries.length) {
        entries = []
        taken = chars = 0
        isSorted = false
      }
      return part
    },
  }
}

function byId({ transaction_id: a }: NewEntry, { transaction_id: b }: NewEntry): number {
  return a < b ? -1 : Number(a > b)
}
