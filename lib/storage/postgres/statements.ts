import type { Table } from '../sql/columns.ts'
import { memoize } from '../sql/memoize.ts'

/** Replaces each `?` of a statement by `$1`, `$2` and so on, as PostgreSQL requires. */
export const numbered = memoize((sql: string) => {
  let place = 0
  return sql.replaceAll('?', () => `$${++place}`)
})

/**
 * The SQL to insert the records of a JSON array, in its order. If `under` names a subquery, the
 * records are inserted once for each of its rows.
 */
export function insertionOfMany<R>(table: Table<R>, { under = '' } = {}): string {
  const rows = `ROWS FROM (json_to_recordset(?) AS (${table.typedFields})) WITH ORDINALITY AS r`
  const source = `${under && `${under}, `}${rows} ORDER BY ordinality`
  return table.insertionFrom(source, (field) => `r.${field}`)
}
