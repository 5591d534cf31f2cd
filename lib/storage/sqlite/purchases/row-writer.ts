import type { RepeatRules } from '../../../domain/repeat.ts'
import type { Entry } from '../../sql/purchases/entries.ts'
import type { Lease } from '../../sql/purchases/imports.ts'
import type { RowOutcomes } from '../../sql/purchases/records.ts'
import { NO_ROWS } from '../../sql/purchases/row-outcomes.ts'
import { createSeenRows } from '../../sql/purchases/seen-rows.ts'
import type { Connection } from '../connection.ts'
import { compareAppended } from './repeats.ts'
import { insertRows } from './rows.ts'
import { createUserBlock } from './user-index.ts'

const BLOCK_ROWS = 40_000
/** Limits the memory that long ids take. */
const BLOCK_CHARS = 2 ** 21
const SLICE_ROWS = 1_000
/**
 * The most characters of ids in a slice. A page of the index has room for four of the longest ids
 * only, and indexing 1,000 of them in one step took over 100 ms.
 */
const SLICE_CHARS = 2 ** 16

/**
 * Writes the rows of one import. Appends rows as they arrive. Indexes ascending transaction ids at
 * once. Other ids wait, and are sorted in blocks. Without blocks, each id in random order would
 * change another page of the index, and nearly ascending ids would split full pages. With blocks, a
 * whole import of random ids has 0.92 of the speed of the sqlite3 shell's `.import` (bench/import).
 */
export function createRowWriter(db: Connection, lease: Lease, first_purchase: number) {
  const { import: seq, store } = lease
  db.exec('CREATE TEMP TABLE IF NOT EXISTS sorted_ids (purchase INTEGER, transaction_id TEXT)')
  const users = createUserBlock(db, store)
  /** Rows whose ids are not sorted yet. */
  let waiting: Waiting = { chunks: [], rows: 0, chars: 0 }
  /** The rows of the latest block, and where its ids that are not indexed yet lie in `sorted_ids`. */
  let block = { ...waiting, first: 1, last: 0 }
  let next = first_purchase
  let lastId = ''
  let rules: RepeatRules = {}
  const seenRows = createSeenRows()

  const waitingIds = () => waiting.rows + block.last - block.first + 1

  const isSorted = () => block.first <= block.last || waiting.rows === 0

  /** Compares rows of the chunks, of which only `added` had new ids. */
  const compare = (chunks: readonly Chunk[], purchases: readonly number[], added: number) => {
    users.verify(seq)
    const lineOf = (purchase: number) => {
      const chunk = chunks.findLast(({ first }) => first <= purchase) as Chunk
      return chunk.lines[purchase - chunk.first] as number
    }
    return compareAppended(db, lease, purchases, added, { rules, seenRows, lineOf })
  }

  const indexSlice = (): RowOutcomes => {
    const { chunks, rows, chars, first } = block
    const most = Math.min(SLICE_ROWS, Math.ceil((SLICE_CHARS * rows) / chars))
    const last = Math.min(first + most - 1, block.last)
    block.first = last + 1
    const added = db.run(INDEX_SORTED, store, first, last)
    const isNew = added === last - first + 1
    const slice = isNew ? [] : db.all(FIND_SLICE, first, last)
    db.run(DELETE_SORTED, first, last)
    if (isNew) return { ...NO_ROWS, added }
    const purchases = slice.map(({ purchase }) => purchase as number)
    return compare(chunks, purchases, added)
  }

  return {
    /** Appends rows. Returns the outcome of the rows whose ids it indexes immediately. */
    append(rows: readonly Entry[], given: RepeatRules = {}): RowOutcomes {
      rules = given
      // Chooses each `seq` here: SQLite would reuse those of rows that another import deleted.
      const { last } = db.find('SELECT max(seq) AS last FROM purchases') as { last: number | null }
      const first = Math.max(next, (last ?? 0) + 1)
      next = first + rows.length
      insertRows(db, seq, first, rows)
      const chunk = { first, lines: rows.map(({ line }) => line) }
      let isAscending = waitingIds() === 0
      let chars = 0
      for (const { transaction_id } of rows) {
        isAscending &&= transaction_id > lastId
        lastId = transaction_id
        chars += transaction_id.length
      }
      if (!isAscending) {
        waiting.chunks.push(chunk)
        waiting.rows += rows.length
        waiting.chars += chars
        users.addRows(rows, first)
        return NO_ROWS
      }
      const added = db.run(INDEX_APPENDED, store, first, next - 1)
      if (added > 0) users.addRows(rows, first)
      if (added === rows.length) return { ...NO_ROWS, added }
      const purchases = rows.map((_, i) => first + i)
      return compare([chunk], purchases, added)
    },
    /** Whether there are enough pending ids for a full block. */
    get isBlockFull() {
      return users.isFull || waitingIds() >= BLOCK_ROWS || waiting.chars >= BLOCK_CHARS
    },
    /** Whether ids wait to be indexed. Duplicates among them are not detected yet. */
    get isWaiting() {
      return waitingIds() > 0 || users.size > 0
    },
    /** Whether `indexSlice` can go on. */
    get isSorted() {
      return isSorted()
    },
    /** Sorts the waiting ids if no sorted ids are left. Takes some 40 ms, without the write lock. */
    sort() {
      if (isSorted()) return
      const last = db.find('SELECT max(rowid) AS last FROM sorted_ids')?.last as number | null
      const rows = db.run(SORT_IDS, (waiting.chunks[0] as Chunk).first, next - 1, seq)
      block = { ...waiting, first: (last ?? 0) + 1, last: (last ?? 0) + rows }
      waiting = { chunks: [], rows: 0, chars: 0 }
    },
    /** Indexes the next slice of sorted ids, or of users. */
    indexSlice(): RowOutcomes {
      if (block.first <= block.last) return indexSlice()
      users.writeSlice()
      return NO_ROWS
    },
    /** Deletes the ids that are not indexed yet. */
    discard() {
      db.run(DELETE_SORTED, block.first, block.last)
    },
  }
}

/** The lines of rows whose purchases are numbered from `first`. */
interface Chunk {
  readonly first: number
  readonly lines: readonly number[]
}

interface Waiting {
  readonly chunks: Chunk[]
  rows: number
  /** The characters of all ids. */
  chars: number
}

/** Of two rows with the same id, the first one comes first. */
const SORT_IDS = `
  INSERT INTO sorted_ids SELECT seq, transaction_id FROM purchases
  WHERE seq BETWEEN ? AND ? AND import = ? ORDER BY transaction_id, seq`
const FIND_SLICE = 'SELECT purchase FROM sorted_ids WHERE rowid BETWEEN ? AND ?'
const DELETE_SORTED = 'DELETE FROM sorted_ids WHERE rowid BETWEEN ? AND ?'

// OR FAIL avoids the statement journal, into which SQLite copies each page before a change (bench/:
// an import needs 0.95 of the CPU). After an error, the caller rolls back the whole transaction.
const INDEX_APPENDED = `
  INSERT OR FAIL INTO transactions (store, transaction_id, purchase)
  SELECT ?, transaction_id, seq FROM purchases WHERE seq BETWEEN ? AND ? ON CONFLICT DO NOTHING`

const INDEX_SORTED = `
  INSERT OR FAIL INTO transactions (store, transaction_id, purchase)
  SELECT ?, transaction_id, purchase FROM sorted_ids WHERE rowid BETWEEN ? AND ?
  ON CONFLICT DO NOTHING`
