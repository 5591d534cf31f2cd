import { memoize } from '../memoize.ts'
import type { Connection } from './connection.ts'
import type { SqliteValue } from './drivers.ts'
import { NONE, type Numbers, type PackedRows, textAt } from './packed-rows.ts'

// Inserts many rows per statement, because each call of the driver takes 1.4 times as long as
// writing a row (bench/).
const ROWS_A_STATEMENT = 32

/**
 * Inserts an import's rows. The first row gets the `seq` `first`, which must be higher than that of
 * each stored row.
 */
export function insertRows(db: Connection, seq: number, first: number, rows: PackedRows): void {
  for (let start = 0; start < rows.size; start += ROWS_A_STATEMENT) {
    const end = Math.min(start + ROWS_A_STATEMENT, rows.size)
    const varying = end - start < ROWS_A_STATEMENT ? ALL : varyingColumns(rows, start, end)
    const values: SqliteValue[] = [seq]
    pushColumns(values, rows, start, ALL & ~varying)
    values.push(first + start)
    for (let i = start; i < end; i++) {
      values.push(textAt(rows.ids, rows.idEnds, i), at(rows.items, i), at(rows.times, i))
      pushColumns(values, rows, i, varying)
    }
    db.run(insertionOf((end - start) * END + varying), ...values)
  }
}

// Binds a value only once if all rows of a statement share it. Binding a value takes as long as
// storing it: with five such columns, an insertion takes 0.7 of the time (bench/). A statement with
// fewer rows binds every value, which limits the number of different statements.
const COLUMNS = ['user_id', 'quantity', 'price', 'currency', 'status', 'metadata', 'expires_at']
const [USER, QUANTITY, PRICE, CURRENCY, STATUS, METADATA, EXPIRES, END] = [
  1, 2, 4, 8, 16, 32, 64, 128,
] as const
const ALL = END - 1

function varyingColumns(rows: PackedRows, start: number, end: number): number {
  let varying = 0
  const compare = (numbers: Numbers, column: number) => {
    const first = numbers[start]
    for (let i = start + 1; i < end; i++) if (numbers[i] !== first) varying |= column
  }
  if (rows.users !== '') varying |= USER
  compare(rows.quantities, QUANTITY)
  compare(rows.prices, PRICE)
  compare(rows.currencyIndexes, CURRENCY)
  compare(rows.statuses, STATUS)
  compare(rows.ends, EXPIRES)
  if (rows.metadataEnds[end - 1] !== (rows.metadataEnds[start - 1] ?? 0)) varying |= METADATA
  return varying
}

function pushColumns(values: SqliteValue[], rows: PackedRows, i: number, columns: number): void {
  if (columns & USER)
    values.push(rows.userKeys[i] === NONE ? null : textAt(rows.users, rows.userEnds, i))
  if (columns & QUANTITY) values.push(at(rows.quantities, i))
  if (columns & PRICE) values.push(rows.prices[i] === NONE ? null : at(rows.prices, i))
  if (columns & CURRENCY) values.push(rows.currencies[at(rows.currencyIndexes, i)] as string | null)
  if (columns & STATUS) values.push(at(rows.statuses, i))
  if (columns & METADATA) values.push(textAt(rows.metadata, rows.metadataEnds, i) || null)
  if (columns & EXPIRES) values.push(rows.ends[i] === NONE ? null : at(rows.ends, i))
}

const at = (numbers: Numbers, i: number) => numbers[i] as number

/** The statement for the key `rows * END + varying`. */
const insertionOf = memoize((key: number) => {
  const varying = key % END
  const rows = Math.floor(key / END)
  let place = 4
  const selected = COLUMNS.map((_, i) => (varying & (1 << i) ? `column${++place}` : '?'))
  const row = `${', ?'.repeat(place - 1)})`
  // If `seq` is NULL, SQLite uses the number after that of the previous row.
  const values = [`(?${row}`, ...Array(rows - 1).fill(`(NULL${row}`)]
  return `INSERT OR FAIL INTO purchases (import, ${COLUMNS.join()}, seq, transaction_id, item, purchased_at)
    SELECT ?, ${selected.join()}, column1, column2, column3, column4 FROM (VALUES ${values.join()})`
})
