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

/**
 * The SQL to insert the records of a JSON array, in its order. `array` is the SQL of the array. If
 * `under` names a subquery, the records are inserted once for each of its rows.
 */
export function insertionOfMany<R>(table: Table<R>, { under = '', array = '?' } = {}): string {
  const rows = `ROWS FROM (json_to_recordset(${array}) AS (${table.typedFields})) WITH ORDINALITY AS r`
  const source = under === '' ? rows : `${under}, ${rows}`
  return table.insertionFrom(`${source} ORDER BY ordinality`, (field) => `r.${field}`)
}
