import type { NewPurchase } from '../../domain/purchase.ts'
import type { Connection } from './connection.ts'
import type { SqliteValue } from './drivers.ts'
import { isEmpty } from './packed-rows.ts'
import { statusCode } from './repeats.ts'

// Inserts many rows per statement, because each call of the driver takes 1.4 times as long as
// writing a row (bench/).
const ROWS_A_STATEMENT = 32

/**
 * Inserts an import's rows with the `seq` of their items. The first row gets the `seq` `first`,
 * which must be higher than that of each stored row.
 */
export function insertRows(
  db: Connection,
  seq: number,
  first: number,
  rows: readonly NewPurchase[],
  items: readonly number[],
): void {
  for (let start = 0; start < rows.length; start += ROWS_A_STATEMENT) {
    const part = rows.slice(start, start + ROWS_A_STATEMENT)
    const varying = part.length < ROWS_A_STATEMENT ? ALL : varyingColumns(part)
    const values: SqliteValue[] = [seq]
    pushColumns(values, part[0] as NewPurchase, ALL & ~varying)
    values.push(first + start)
    part.forEach((row, i) => {
      values.push(row.transaction_id, items[start + i] as number, row.purchased_at)
      pushColumns(values, row, varying)
    })
    db.run(insertStatement(varying, part.length), ...values)
  }
}

// Binds a value only once if all rows of a statement share it. Binding a value takes as long as
// storing it: with five such columns, an insertion takes 0.7 of the time (bench/). A statement with
// fewer rows binds every value, which limits the number of different statements.
const COLUMNS = ['user_id', 'quantity', 'price', 'currency', 'status', 'metadata']
const [USER, QUANTITY, PRICE, CURRENCY, STATUS, METADATA, END] = [1, 2, 4, 8, 16, 32, 64] as const
const ALL = END - 1

function varyingColumns(rows: readonly NewPurchase[]): number {
  const first = rows[0] as NewPurchase
  let varying = 0
  for (const row of rows) {
    if (row.user_id !== first.user_id) varying |= USER
    if (row.quantity !== first.quantity) varying |= QUANTITY
    if (row.price !== first.price) varying |= PRICE
    if (row.currency !== first.currency) varying |= CURRENCY
    if (row.status !== first.status) varying |= STATUS
    if (!isEmpty(row.metadata)) varying |= METADATA
  }
  return varying
}

function pushColumns(values: SqliteValue[], row: NewPurchase, columns: number): void {
  if (columns & USER) values.push(row.user_id ?? null)
  if (columns & QUANTITY) values.push(row.quantity)
  if (columns & PRICE) values.push(row.price ?? null)
  if (columns & CURRENCY) values.push(row.currency ?? null)
  if (columns & STATUS) values.push(statusCode(row.status))
  if (columns & METADATA) values.push(isEmpty(row.metadata) ? null : JSON.stringify(row.metadata))
}

const statements = new Map<number, string>()

function insertStatement(varying: number, rows: number): string {
  const key = rows * END + varying
  const known = statements.get(key)
  if (known) return known
  const made = writeStatement(varying, rows)
  statements.set(key, made)
  return made
}

function writeStatement(varying: number, rows: number): string {
  let place = 4
  const selected = COLUMNS.map((_, i) => (varying & (1 << i) ? `column${++place}` : '?'))
  const row = `${', ?'.repeat(place - 1)})`
  // If `seq` is NULL, SQLite uses the number after that of the previous row.
  const values = [`(?${row}`, ...Array(rows - 1).fill(`(NULL${row}`)]
  return `INSERT OR FAIL INTO purchases (import, ${COLUMNS.join()}, seq, transaction_id, item, purchased_at)
    SELECT ?, ${selected.join()}, column1, column2, column3, column4 FROM (VALUES ${values.join()})`
}
