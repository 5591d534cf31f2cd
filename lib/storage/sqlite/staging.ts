import type { NewPurchase } from '../../domain/purchase.ts'
import type { StagedRows } from '../port.ts'
import { NOTHING_STAGED, sumStaged } from '../staged.ts'
import { createBlock } from './block.ts'
import type { Connection } from './connection.ts'
import type { SqliteValue } from './drivers.ts'
import { type Entry, settle } from './repeats.ts'
import { insertRows } from './rows.ts'

/**
 * The rows of one import on their way in. Rows are appended as they come. Their transaction ids, on
 * which uniqueness rests, are indexed with them while they ascend; others wait for a block to sort,
 * because ids in random order would each dirty another page of the index in every slice (0.4 of the
 * speed of the shell's loader; in blocks 1.1: bench/).
 */
export interface Staging {
  /** Appends rows, and tells what became of those that need not wait. */
  append(rows: readonly NewPurchase[]): StagedRows
  /** Whether enough ids wait to be indexed. */
  readonly isBlockFull: boolean
  /** Whether any id waits: the rows staged are then not known to be unique. */
  readonly isWaiting: boolean
  /** Indexes the next slice of ids that wait. */
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
  let next = first_purchase
  let lastId = ''

  const waitingIds = () => waiting.size + ordered.size

  /** Whether the ids go on in order where those before them ended. */
  const ascend = (rows: readonly NewPurchase[]): boolean => {
    let ascends = true
    for (const { transaction_id } of rows) {
      if (lastId >= transaction_id) ascends = false
      lastId = transaction_id
    }
    return ascends
  }

  return {
    append(rows) {
      const found = itemsOf(rows)
      const items = found.filter((item) => item !== undefined)
      const isWhole = items.length === rows.length
      const good = isWhole ? rows : rows.filter((_, i) => found[i] !== undefined)
      const bad = isWhole ? [] : rows.filter((_, i) => found[i] === undefined)
      const unknown = bad.map(({ line }) => line)
      // Numbered by hand: SQLite gives the numbers of rows anew that another import has taken back.
      const { last } = db.find('SELECT max(seq) AS last FROM purchases') as { last: number | null }
      const first = Math.max(next, (last ?? 0) + 1)
      next = first + good.length
      insertRows(db, seq, first, good, items)
      const entryOf = ({ transaction_id, line }: NewPurchase, i: number): Entry => {
        return { transaction_id, line, purchase: first + i }
      }
      if (waitingIds() === 0 && ascend(good)) {
        const added = indexAppended(db, store, first, good.length)
        const isNew = added === good.length
        const settled = isNew
          ? { ...NOTHING_STAGED, added }
          : settle(db, store, seq, good.map(entryOf), added)
        return { ...settled, unknown }
      }
      good.map(entryOf).forEach(waiting.add)
      return { ...NOTHING_STAGED, unknown }
    },
    get isBlockFull() {
      return waitingIds() >= BLOCK_ROWS || waiting.bytes + ordered.bytes >= BLOCK_BYTES
    },
    get isWaiting() {
      return waitingIds() > 0
    },
    indexSlice() {
      if (ordered.size === 0) [ordered, waiting] = [waiting, ordered]
      const entries = ordered.take(INDEXED_A_SLICE)
      return indexEntries(db, store, seq, entries)
    },
  }
}

const CACHED_ITEMS = 50_000

/** Finds the item that each row names, asking the database once for each name. */
function createItemLookup(db: Connection, store: number) {
  let known = new Map<string, number>()
  const look = (rows: readonly NewPurchase[]) => rows.map(({ sku }) => known.get(sku))

  return (rows: readonly NewPurchase[]): (number | undefined)[] => {
    const items = look(rows)
    if (!items.includes(undefined)) return items
    if (known.size > CACHED_ITEMS) known = new Map()
    const asked = new Set(rows.map(({ sku }) => sku).filter((sku) => !known.has(sku)))
    const found = db.all(
      'SELECT name, seq FROM items WHERE store = ? AND name IN (SELECT value FROM json_each(?))',
      store,
      JSON.stringify([...asked]),
    )
    for (const { name, seq } of found) known.set(name as string, seq as number)
    return look(rows)
  }
}

/** The text of a statement for so many rows, written once for each number of them. */
function perCount(write: (rows: number) => string): (rows: number) => string {
  const written: string[] = []
  return (rows) => {
    written[rows] ??= write(rows)
    return written[rows]
  }
}

/**
 * Indexes rows just appended, straight from their table; the number of those that are no repeats.
 */
function indexAppended(db: Connection, store: number, first: number, count: number): number {
  return db.run(
    `INSERT INTO transactions (store, transaction_id, purchase)
     SELECT ?, transaction_id, seq FROM purchases WHERE seq BETWEEN ? AND ? ON CONFLICT DO NOTHING`,
    store,
    first,
    first + count - 1,
  )
}

const ENTRIES_A_STATEMENT = 64

/** Indexes rows appended before, in the order that the entries have now. */
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
    results.push(settle(db, store, seq, part, db.run(indexStatement(part.length), ...values)))
  }
  return sumStaged(results)
}

const indexStatement = perCount(
  (entries) => `INSERT INTO transactions (store, transaction_id, purchase)
    VALUES ${Array(entries).fill('(?, ?, ?)').join()} ON CONFLICT DO NOTHING`,
)
