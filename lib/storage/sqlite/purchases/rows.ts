import { PURCHASE_STATUSES } from '../../../domain/purchase.ts'
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
    const stored = sent.map(valuesOf)
    const [example = []] = stored
    const varies = (place: number) => stored.some((values) => values[place] !== example[place])
    const varying = sent.length < ROWS_A_STATEMENT ? PLACES : PLACES.filter(varies)
    const shared = PLACES.filter((place) => !varying.includes(place))
    const values: SqliteValue[] = [seq]
    pushValues(values, example, shared)
    values.push(first + start)
    for (const [i, { transaction_id, sku, purchased_at }] of sent.entries()) {
      values.push(transaction_id, sku, purchased_at)
      pushValues(values, stored[i] as SqliteValue[], varying)
    }
    db.run(insertionOf([sent.length, ...varying].join()), ...values)
  }
}

// Binds a value only once if all rows of a statement share it. Binding a value takes as long as
// storing it: with five such columns, an insertion takes 0.7 of the time (bench/). A statement with
// fewer rows binds every value, which limits the number of different statements.
const COLUMNS = ['user_id', 'quantity', 'price', 'currency', 'status', 'metadata', 'expires_at']
const PLACES = [...COLUMNS.keys()]

/** The values of `COLUMNS`. */
function valuesOf(row: Entry): SqliteValue[] {
  const { user_id, quantity, price, currency, status, metadata, expires_at } = row
  const code = PURCHASE_STATUSES.indexOf(status)
  return [
    user_id ?? null,
    quantity,
    price ?? null,
    currency ?? null,
    code,
    metadata,
    expires_at ?? null,
  ]
}

function pushValues(
  values: SqliteValue[],
  row: readonly SqliteValue[],
  places: readonly number[],
): void {
  for (const place of places) values.push(row[place] ?? null)
}

/** The statement for a key of the number of rows, and the places of the columns that vary. */
const insertionOf = memoize((key: string) => {
  const [rows = 0, ...varying] = key.split(',').map(Number)
  const selected = COLUMNS.map(() => '?')
  for (const [i, place] of varying.entries()) selected[place] = `column${5 + i}`
  const row = `${', ?'.repeat(3 + varying.length)})`
  // If `seq` is NULL, SQLite uses the number after that of the previous row.
  const values = [`(?${row}`, ...Array(rows - 1).fill(`(NULL${row}`)]
  return `INSERT OR FAIL INTO purchases (import, ${COLUMNS.join()}, seq, transaction_id, item, purchased_at)
    SELECT ?, ${selected.join()}, column1, column2, column3, column4 FROM (VALUES ${values.join()})`
})
