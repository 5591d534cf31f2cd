import type { NewPurchase } from '../../domain/purchase.ts'
import type { StagedRows } from '../port.ts'
import { NOTHING_STAGED, sumStaged } from '../staged.ts'
import { createBlock } from './block.ts'
import type { Connection } from './connection.ts'
import type { SqliteValue } from './drivers.ts'
import { createItemLookup } from './lookup.ts'
import { createOrderFinder, type IdOrder } from './order.ts'
import { compareEntries, type Entry } from './repeats.ts'
import { insertRows } from './rows.ts'
import { createUserBlock } from './users.ts'

/**
 * Writes the rows of one import. Appends rows as they arrive. While transaction ids ascend, or
 * nearly do, indexes them at once. Other ids wait in a block and are sorted first: in random order,
 * each id would change another page of the index. Compared with `.import` of the sqlite3 shell,
 * writing in random order has 0.4 of the speed, and writing in sorted blocks 1.1 (bench/).
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
}

const BLOCK_ROWS = 40_000
const BLOCK_BYTES = 2 * 1024 * 1024
const INDEXED_A_SLICE = 2_000

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
  const orderOf = createOrderFinder()

  const waitingIds = () => waiting.size + ordered.size

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
      // Chooses the numbers here: SQLite would reuse numbers of rows that another import deleted.
      const { last } = db.find('SELECT max(seq) AS last FROM purchases') as { last: number | null }
      const first = Math.max(next, (last ?? 0) + 1)
      next = first + good.length
      insertRows(db, seq, first, good, items)
      const entryOf = ({ transaction_id, line }: NewPurchase, i: number): Entry => {
        return { transaction_id, line, purchase: first + i }
      }
      const order = orderOf(good)
      if (waitingIds() === 0 && order !== 'random') {
        const added = indexAppended(db, store, first, good.length, order)
        const isNew = added === good.length
        const outcome = isNew
          ? { ...NOTHING_STAGED, added }
          : compareEntries(db, store, seq, good.map(entryOf), added)
        if (added > 0) addUsers(good, first, isNew)
        return { ...outcome, unknown }
      }
      good.map(entryOf).forEach(waiting.add)
      addUsers(good, first, true)
      return { ...NOTHING_STAGED, unknown }
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
      const outcome = indexEntries(db, store, seq, entries)
      if (outcome.added < entries.length) users.verify()
      return outcome
    },
  }
}

/** Caches the SQL of a statement by its number of rows. */
function perCount(write: (rows: number) => string): (rows: number) => string {
  const written: string[] = []
  return (rows) => {
    written[rows] ??= write(rows)
    return written[rows]
  }
}

/**
 * Indexes rows that were just appended. Returns the number of rows whose transaction ids are new.
 */
function indexAppended(
  db: Connection,
  store: number,
  first: number,
  count: number,
  order: IdOrder,
): number {
  const sql = order === 'ascending' ? INDEX_APPENDED : INDEX_SORTED
  return db.run(`${sql} ON CONFLICT DO NOTHING`, store, first, first + count - 1)
}

const INDEX_APPENDED = `
  INSERT INTO transactions (store, transaction_id, purchase)
  SELECT ?, transaction_id, seq FROM purchases WHERE seq BETWEEN ? AND ?`
// Of two rows with the same id, the first one is stored.
const INDEX_SORTED = `${INDEX_APPENDED} ORDER BY transaction_id, seq`

const ENTRIES_A_STATEMENT = 64

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
    const values: SqliteValue[] = []
    for (const { transaction_id, purchase } of part) values.push(store, transaction_id, purchase)
    const added = db.run(indexStatement(part.length), ...values)
    results.push(compareEntries(db, store, seq, part, added))
  }
  return sumStaged(results)
}

const indexStatement = perCount(
  (entries) => `INSERT INTO transactions (store, transaction_id, purchase)
    VALUES ${Array(entries).fill('(?, ?, ?)').join()} ON CONFLICT DO NOTHING`,
)
