import { PURCHASE_FIELDS, PURCHASE_STATUSES } from '../../../domain/purchase.ts'
import { memoize } from '../../sql/memoize.ts'
import type { Entry } from '../../sql/purchases/entries.ts'
import type { Connection } from '../connection.ts'
import type { SqliteValue } from '../drivers.ts'

// Inserts many rows per statement, because each call of the driver takes 1.4 times as long as
// writing a row (bench/).
const ROWS_A_STATEMENT = 32

/**
 * Inserts an import's rows. The first row gets the `seq` `first`, which must be higher than that of
 * each stored row.
 */
export function insertRows(
  db: Connection,
  seq: number,
  first: number,
  rows: readonly Entry[],
): void {
  for (let start = 0; start < rows.length; start += ROWS_A_STATEMENT) {
    const sent = rows.slice(start, start + ROWS_A_STATEMENT)
    const [example] = sent as [Entry]
    const varies = (column: Column) => sent.some((row) => row[column] !== example[column])
    const varying = sent.length < ROWS_A_STATEMENT ? COLUMNS : COLUMNS.filter(varies)
    const values: SqliteValue[] = [seq]
    for (const column of COLUMNS) {
      if (!varying.includes(column)) values.push(sqlValue(example, column))
    }
    values.push(first + start)
    for (const row of sent) {
      values.push(row.transaction_id, row.sku, row.purchased_at)
      for (const column of varying) values.push(sqlValue(row, column))
    }
    db.run(insertionOf([sent.length, ...varying].join()), ...values)
  }
}

// Binds a value only once if all rows of a statement share it. Binding a value takes as long as
// storing it: with five such columns, an insertion takes 0.7 of the time (bench/). A statement with
// fewer rows binds every value, which limits the number of different statements. The first three
// fields differ in each row.
const [_id, _sku, _time, ...COLUMNS] = PURCHASE_FIELDS
type Column = (typeof COLUMNS)[number]

function sqlValue(row: Entry, column: Column): SqliteValue {
  return column === 'status' ? PURCHASE_STATUSES.indexOf(row.status) : (row[column] ?? null)
}

/** The statement for a key of the number of rows, and the columns that vary. */
const insertionOf = memoize((key: string) => {
  const [rows, ...varying] = key.split(',')
  const selected = COLUMNS.map((column) => {
    const place = varying.indexOf(column)
    return place < 0 ? '?' : `column${5 + place}`
  })
  const row = `${', ?'.repeat(3 + varying.length)})`
  // If `seq` is NULL, SQLite uses the number after that of the previous row.
  const values = [`(?${row}`, ...Array(Number(rows) - 1).fill(`(NULL${row}`)]
  return `INSERT OR FAIL INTO purchases (import, ${COLUMNS.join()}, seq, transaction_id, item, purchased_at)
    SELECT ?, ${selected.join()}, column1, column2, column3, column4 FROM (VALUES ${values.join()})`
})
