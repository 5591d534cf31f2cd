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
    let varying = sent.length < ROWS_A_STATEMENT ? ALL_COLUMNS : 0
    for (const own of values) {
      for (let i = 0; i < own.length; i++) {
        if (!isIn(varying, i) && own[i] !== example[i]) varying |= 1 << i
      }
    }
    const shared = example.filter((_, i) => !isIn(varying, i))
    const bound: SqliteValue[] = [seq, ...shared, first + start]
    for (let row = 0; row < sent.length; row++) {
      const { transaction_id, sku, purchased_at } = sent[row] as Entry
      const own = values[row] as Values
      bound.push(transaction_id, sku, purchased_at)
      for (let i = 0; i < own.length; i++) if (isIn(varying, i)) bound.push(own[i] as SqliteValue)
    }
    db.run(insertionOf(sent.length * (ALL_COLUMNS + 1) + varying), ...bound)
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

/** All bits of a set of columns. */
const ALL_COLUMNS = 2 ** COLUMNS.length - 1

function isIn(columns: number, place: number): boolean {
  return (columns & (1 << place)) !== 0
}

/** The statement for a number of rows, with the set of the columns that vary in its lower bits. */
const insertionOf = memoize((key: number) => {
  const rows = Math.floor(key / (ALL_COLUMNS + 1))
  let next = 5
  const selected = COLUMNS.map((_, i) => (isIn(key, i) ? `column${next++}` : '?'))
  const row = `${', ?'.repeat(next - 2)})`
  // If `seq` is NULL, SQLite uses the number after that of the previous row.
  const values = [`(?${row}`, ...Array(rows - 1).fill(`(NULL${row}`)]
  return `INSERT OR FAIL INTO purchases (import, ${COLUMNS.join()}, seq, transaction_id, item, purchased_at)
    SELECT ?, ${selected.join()}, column1, column2, column3, column4 FROM (VALUES ${values.join()})`
})
