import type { Table } from '../columns.ts'
import { memoize } from '../memoize.ts'

/** Replaces each `?` of a statement by `$1`, `$2` and so on, as PostgreSQL requires. */
export const numbered = memoize((sql: string) => {
  let place = 0
  return sql.replaceAll('?', () => `$${++place}`)
})

/**
 * The SQL for a JSON value that is passed as text. Without the cast, the driver would encode the
 * text again, as a JSON string.
 */
export const JSON_TEXT = 'CAST(? AS text)::json'

/** The SQL after FROM for the rows `r` of a JSON array, in its order. */
export function rowsInOrder<R>({ typedFields }: Table<R>, array = '?', under = ''): string {
  const rows = `ROWS FROM (json_to_recordset(${array}) AS (${typedFields})) WITH ORDINALITY AS r`
  return `${under && `${under}, `}${rows} ORDER BY ordinality`
}

/**
 * The SQL to insert the records of a JSON array, in its order. If `under` names a subquery, the
 * records are inserted once for each of its rows.
 */
export function insertionOfMany<R>(table: Table<R>, { under = '' } = {}): string {
  return table.insertionFrom(rowsInOrder(table, '?', under), (field) => `r.${field}`)
}
