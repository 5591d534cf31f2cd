import type { NewPurchase } from '../../domain/purchase.ts'
import type { StagedRows } from '../port.ts'
import type { Connection } from './connection.ts'
import type { SqliteValue } from './drivers.ts'
import { inOrderOfIds } from './order.ts'
import { type Entry, NOTHING_STAGED, settle, statusCode, sumStaged } from './repeats.ts'

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
  /** Indexes the next slice of ids that wait; undefined when none do. */
  indexSlice(): StagedRows | undefined
}

const BLOCK_ROWS = 40_000
const INDEXED_A_SLICE = 2_000

export function createStaging(
  db: Connection,
  store: number,
  seq: number,
  first_purchase: number,
): Staging {
  const itemOf = createItemLookup(db, store)
  let waiting: Entry[] = []
  let ordered: readonly Entry[] = []
  let taken = 0
  let next = first_purchase
  let lastId = ''

  const isWaiting = () => waiting.length > 0 || taken < ordered.length

  /** Whether the ids go on in order where those before them ended. */
  const ascend = (entries: readonly Entry[]): boolean =>
    entries.every(({ transaction_id }) => {
      const ascends = lastId < transaction_id
      lastId = transaction_id
      return ascends
    })

  return {
    append(rows) {
      const items = itemOf(rows)
      const good = rows.filter(({ sku }) => items.has(sku))
      // Numbered by hand: SQLite gives the numbers of rows anew that another import has taken back.
      const { last } = db.find('SELECT max(seq) AS last FROM purchases') as { last: number | null }
      const first = Math.max(next, (last ?? 0) + 1)
      next = first + good.length
      insertRows(db, seq, first, good, items)
      const entries = good.map(({ transaction_id, line }, i) => {
        return { transaction_id, line, purchase: first + i }
      })
      const unknown = rows.filter(({ sku }) => !items.has(sku)).map(({ line }) => line)
      if (!isWaiting() && ascend(entries)) {
        return { ...indexAppended(db, store, seq, entries), unknown }
      }
      for (const entry of entries) {
        waiting.push({ ...entry, transaction_id: detach(entry.transaction_id) })
      }
      return { ...NOTHING_STAGED, unknown }
    },
    get isBlockFull() {
      return waiting.length >= BLOCK_ROWS
    },
    get isWaiting() {
      return isWaiting()
    },
    indexSlice() {
      if (taken === ordered.length) {
        ordered = inOrderOfIds(waiting)
        waiting = []
        taken = 0
      }
      const entries = ordered.slice(taken, taken + INDEXED_A_SLICE)
      taken += entries.length
      return entries.length > 0 ? indexEntries(db, store, seq, entries) : undefined
    },
  }
}

// A cell is often a view that keeps the 64 KiB of text around it alive; 40,000 that wait would keep
// all of their files' text (bench/: 10 MiB).
function detach(text: string): string {
  return Buffer.from(text).toString()
}

const CACHED_ITEMS = 50_000

/** Finds the items that a slice names, asking the database once for each name. */
function createItemLookup(db: Connection, store: number) {
  let known = new Map<string, number>()
  return (rows: readonly NewPurchase[]): ReadonlyMap<string, number> => {
    const asked = new Set<string>()
    for (const { sku } of rows) if (!known.has(sku)) asked.add(sku)
    if (asked.size === 0) return known
    if (known.size > CACHED_ITEMS) {
      known = new Map()
      for (const { sku } of rows) asked.add(sku)
    }
    const found = db.all(
      'SELECT name, seq FROM items WHERE store = ? AND name IN (SELECT value FROM json_each(?))',
      store,
      JSON.stringify([...asked]),
    )
    for (const { name, seq } of found) known.set(name as string, seq as number)
    return known
  }
}

// Many rows a statement: crossing into the driver costs more than the row itself (bench/: 1.4×).
const ROWS_A_STATEMENT = 32

function insertRows(
  db: Connection,
  seq: number,
  first: number,
  rows: readonly NewPurchase[],
  items: ReadonlyMap<string, number>,
): void {
  for (let start = 0; start < rows.length; start += ROWS_A_STATEMENT) {
    const part = rows.slice(start, start + ROWS_A_STATEMENT)
    const values: SqliteValue[] = []
    let number = first + start
    for (const row of part) {
      values.push(
        number++,
        seq,
        row.transaction_id,
        items.get(row.sku) as number,
        row.purchased_at,
        row.user_id ?? null,
        row.quantity,
        row.price ?? null,
        row.currency ?? null,
        statusCode(row.status),
        metadataText(row),
      )
    }
    db.run(insertStatement(part.length), ...values)
  }
}

const COLUMNS =
  'seq, import, transaction_id, item, purchased_at, user_id, quantity, price, currency, status, metadata'
const PLACES = '(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)'

const insertStatement = perCount(
  (rows) => `INSERT INTO purchases (${COLUMNS}) VALUES ${Array(rows).fill(PLACES).join()}`,
)

/** The text of a statement for so many rows, written once for each number of them. */
function perCount(write: (rows: number) => string): (rows: number) => string {
  const written: string[] = []
  return (rows) => {
    written[rows] ??= write(rows)
    return written[rows]
  }
}

function metadataText({ metadata }: NewPurchase): string | null {
  for (const _ in metadata) return JSON.stringify(metadata)
  return null
}

/** Indexes rows just appended, straight from their table. */
function indexAppended(
  db: Connection,
  store: number,
  seq: number,
  entries: readonly Entry[],
): StagedRows {
  const first = entries[0]?.purchase ?? 0
  const added = db.run(
    `INSERT INTO transactions (store, transaction_id, purchase)
     SELECT ?, transaction_id, seq FROM purchases WHERE seq BETWEEN ? AND ? ON CONFLICT DO NOTHING`,
    store,
    first,
    first + entries.length - 1,
  )
  return settle(db, store, seq, entries, added)
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
