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
    const values = sent.map(valuesOf)
    const [example] = values as [Values]
    const isFull = sent.length === ROWS_A_STATEMENT
    const varies = example.map((shared, i) => !isFull || values.some((own) => own[i] !== shared))
    const bound: SqliteValue[] = [seq, ...example.filter((_, i) => !varies[i]), first + start]
    for (let i = 0; i < sent.length; i++) {
      const { transaction_id, sku, purchased_at } = sent[i] as Entry
      const own = values[i] as Values
      bound.push(transaction_id, sku, purchased_at)
      for (let column = 0; column < own.length; column++) {
        if (varies[column]) bound.push(own[column] as SqliteValue)
      }
    }
    const varying = COLUMNS.filter((_, i) => varies[i])
    db.run(insertionOf([sent.length, ...varying].join()), ...bound)
  }
}

// Binds a value only once if all rows of a statement share it. Binding a value takes as long as
// storing it: with five such columns, an insertion takes 0.7 of the time (bench/). A statement with
// fewer rows binds every value, which limits the number of different statements. The first three
// fields differ in each row.
const [_id, _sku, _time, ...COLUMNS] = PURCHASE_FIELDS
type ValuesOf<Columns> = { readonly [Place in keyof Columns]: SqliteValue }
type Values = ValuesOf<typeof COLUMNS>

/** The values of `COLUMNS`. Names each field: `row[column]` makes an import take 1.03 of the time. */
function valuesOf(row: Entry): Values {
  const { user_id = null, quantity, price = null, currency = null } = row
  const { status, metadata, expires_at = null } = row
  const place = PURCHASE_STATUSES.indexOf(status)
  return [user_id, quantity, price, currency, place, metadata, expires_at]
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
