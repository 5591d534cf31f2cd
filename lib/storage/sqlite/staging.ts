import type { Comparison } from '../../domain/purchase.ts'
import { memoize } from '../memoize.ts'
import type { StagedRows } from '../records.ts'
import { NOTHING_STAGED } from '../staged.ts'
import { createBlock, type NewEntry } from './block.ts'
import type { Connection } from './connection.ts'
import type { SqliteValue } from './drivers.ts'
import { type PackedRows, textAt } from './packed-rows.ts'
import { compareEntries, type Entry } from './repeats.ts'
import { insertRows } from './rows.ts'
import { createUserBlock } from './users.ts'

/**
 * Writes the rows of one import. Appends rows as they arrive. Indexes ascending transaction ids at
 * once. Other ids wait, and are sorted in blocks. Without blocks, each id in random order would
 * change another page of the index, and nearly ascending ids would split full pages. Random order
 * has 0.4 of the speed of the sqlite3 shell's `.import`; blocks have 1.1 (bench/).
 */
export interface Staging {
  /** Appends at least one row. Returns the outcome of the rows whose ids it indexes immediately. */
  append(rows: PackedRows): StagedRows
  /** Whether there are enough pending ids for a full block. */
  readonly isBlockFull: boolean
  /** Whether ids wait to be indexed. Duplicates among them are not detected yet. */
  readonly isWaiting: boolean
  /** Indexes the next slice of waiting ids. */
  indexSlice(): StagedRows
  /** The `seq` for the next row. No row has this or a higher `seq`. */
  readonly next: number
}

const BLOCK_ROWS = 40_000
/** Limits the memory that long ids take. */
const BLOCK_BYTES = 2 ** 21
const INDEXED_A_SLICE = 1_000

export function createStaging(
  db: Connection,
  store: number,
  seq: number,
  first_purchase: number,
): Staging {
  let waiting = createBlock()
  let ordered = createBlock()
  const users = createUserBlock(db)
  let next = first_purchase
  let lastId = ''
  let comparison: Comparison = 'all'

  const waitingIds = () => waiting.size + ordered.size

  return {
    append(rows) {
      // Chooses each `seq` here: SQLite would reuse those of rows that another import deleted.
      const { last } = db.find('SELECT max(seq) AS last FROM purchases') as { last: number | null }
      const first = Math.max(next, (last ?? 0) + 1)
      next = first + rows.size
      insertRows(db, seq, first, rows)
      const isAscending = rows.isAscending && textAt(rows.ids, rows.idEnds, 0) > lastId
      lastId = textAt(rows.ids, rows.idEnds, rows.size - 1)
      comparison = rows.comparison
      if (!isAscending || waitingIds() > 0) {
        waiting.add(rows, first)
        users.addRows(rows, first)
        return NOTHING_STAGED
      }
      const added = db.run(INDEX_APPENDED, store, first, next - 1)
      if (added > 0) users.addRows(rows, first)
      if (added === rows.size) return { ...NOTHING_STAGED, added }
      if (added > 0) users.verify(seq)
      const entries = Array.from(rows.lines, (line, i): Entry => ({ line, purchase: first + i }))
      return compareEntries(db, store, seq, entries, added, comparison)
    },
    get next() {
      return next
    },
    get isBlockFull() {
      return (
        users.isFull || waitingIds() >= BLOCK_ROWS || waiting.bytes + ordered.bytes >= BLOCK_BYTES
      )
    },
    get isWaiting() {
      return waitingIds() > 0 || users.size > 0
    },
    indexSlice() {
      if (waitingIds() === 0) {
        users.writeSlice()
        return NOTHING_STAGED
      }
      if (ordered.size === 0) [ordered, waiting] = [waiting, ordered]
      const entries = ordered.take(INDEXED_A_SLICE)
      const outcome = indexEntries(db, store, seq, entries, comparison)
      if (outcome.added < entries.length) users.verify(seq)
      return outcome
    },
  }
}

// OR FAIL avoids the statement journal, into which SQLite copies each page before a change (bench/:
// an import needs 0.95 of the CPU). After an error, the caller rolls back the whole transaction.
const INDEX_APPENDED = `
  INSERT OR FAIL INTO transactions (store, transaction_id, purchase)
  SELECT ?, transaction_id, seq FROM purchases WHERE seq BETWEEN ? AND ? ON CONFLICT DO NOTHING`

const ENTRIES_A_STATEMENT = 50

/** Indexes rows that were appended earlier. Of two rows with the same id, indexes the first one. */
function indexEntries(
  db: Connection,
  store: number,
  seq: number,
  entries: readonly NewEntry[],
  comparison: Comparison,
): StagedRows {
  let added = 0
  for (let start = 0; start < entries.length; start += ENTRIES_A_STATEMENT) {
    const part = entries.slice(start, start + ENTRIES_A_STATEMENT)
    const values: SqliteValue[] = [store]
    for (const { transaction_id, purchase } of part) values.push(transaction_id, purchase)
    added += db.run(insertionOf(part.length), ...values)
  }
  return compareEntries(db, store, seq, entries, added, comparison)
}

const insertionOf = memoize(
  (entries: number) => `
    INSERT OR FAIL INTO transactions (store, transaction_id, purchase)
    SELECT ?, column1, column2 FROM (VALUES ${Array(entries).fill('(?, ?)').join()})
    WHERE true ON CONFLICT DO NOTHING`,
)
