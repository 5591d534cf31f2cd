import type { NewPurchase } from '../../domain/purchase.ts'
import type { StagedRows } from '../port.ts'
import { NOTHING_STAGED, sumStaged } from '../staged.ts'
import { createBlock } from './block.ts'
import type { Connection } from './connection.ts'
import { createItemLookup } from './lookup.ts'
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
  /** Appends rows. Returns the outcome of the rows whose ids it indexes immediately. */
  append(rows: readonly NewPurchase[]): StagedRows
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
const INDEXED_A_SLICE = 1_000

export function createStaging(
  db: Connection,
  store: number,
  seq: number,
  first_purchase: number,
): Staging {
  const itemsOf = createItemLookup(db, store)
  let waiting = createBlock()
  let ordered = createBlock()
  const users = createUserBlock(db, store)
  let next = first_purchase
  let lastId = ''

  const waitingIds = () => waiting.size + ordered.size

  const ascend = (rows: readonly NewPurchase[]) => {
    let ascends = true
    for (const { transaction_id } of rows) {
      ascends &&= transaction_id > lastId
      lastId = transaction_id
    }
    return ascends
  }

  const addUsers = (rows: readonly NewPurchase[], first: number, areNew: boolean) => {
    let purchase = first
    for (const { user_id } of rows) users.add(user_id, purchase++)
    if (!areNew) users.verify()
  }

  return {
    append(rows) {
      const known = itemsOf(rows)
      const found = rows.map(({ sku }) => known.get(sku))
      const items = found.filter((item) => item !== undefined)
      const isWhole = items.length === rows.length
      const good = isWhole ? rows : rows.filter((_, i) => found[i] !== undefined)
      const bad = isWhole ? [] : rows.filter((_, i) => found[i] === undefined)
      const unknown = bad.map(({ line }) => line)
      // Chooses each `seq` here: SQLite would reuse those of rows that another import deleted.
      const { last } = db.find('SELECT max(seq) AS last FROM purchases') as { last: number | null }
      const first = Math.max(next, (last ?? 0) + 1)
      next = first + good.length
      insertRows(db, seq, first, good, items)
      let purchase = first
      if (ascend(good) && waitingIds() === 0) {
        const added = db.run(INDEX_APPENDED, store, first, first + good.length - 1)
        const entries = () => good.map(({ line }): Entry => ({ line, purchase: purchase++ }))
        const isNew = added === good.length
        const outcome = isNew
          ? { ...NOTHING_STAGED, added }
          : compareEntries(db, store, seq, entries(), added)
        if (added > 0) addUsers(good, first, isNew)
        return { ...outcome, unknown }
      }
      for (const { transaction_id, line } of good) waiting.add(transaction_id, line, purchase++)
      addUsers(good, first, true)
      return { ...NOTHING_STAGED, unknown }
    },
    get next() {
      return next
    },
    get isBlockFull() {
      return users.isFull || waitingIds() >= BLOCK_ROWS
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
      const outcome = indexEntries(db, store, seq, entries)
      if (outcome.added < entries.length) users.verify()
      return outcome
    },
  }
}

// OR FAIL avoids the statement journal, into which SQLite copies each page before a change (bench/:
// an import needs 0.95 of the CPU). After an error, the caller rolls back the whole transaction.
const INDEX_APPENDED = `
  INSERT OR FAIL INTO transactions (store, transaction_id, purchase)
  SELECT ?, transaction_id, seq FROM purchases WHERE seq BETWEEN ? AND ? ON CONFLICT DO NOTHING`

const ENTRIES_A_STATEMENT = 500

/** Indexes rows that were appended earlier, in the order of the entries. */
function indexEntries(
  db: Connection,
  store: number,
  seq: number,
  entries: readonly Entry[],
): StagedRows {
  const results: StagedRows[] = []
  for (let start = 0; start < entries.length; start += ENTRIES_A_STATEMENT) {
    const part = entries.slice(start, start + ENTRIES_A_STATEMENT)
    const purchases = part.map(({ purchase }) => purchase)
    const added = db.run(INDEX_ENTRIES, store, `[${purchases.join()}]`)
    results.push(compareEntries(db, store, seq, part, added))
  }
  return sumStaged(results)
}

// Reads the ids from `purchases`, because binding them takes longer. Of two rows with the same id,
// the first one is indexed.
const INDEX_ENTRIES = `
  INSERT OR FAIL INTO transactions (store, transaction_id, purchase)
  SELECT ?, p.transaction_id, p.seq FROM json_each(?) e CROSS JOIN purchases p
  WHERE p.seq = e.value ORDER BY p.transaction_id, p.seq ON CONFLICT DO NOTHING`
