import type { Table } from '../sql/columns.ts'

/** Replaces each `?` of a statement by `$1`, `$2` and so on, as PostgreSQL requires. */
export function numbered(sql: string): string {
  let place = 0
  return sql.replaceAll('?', () => `$${++place}`)
}

/**
 * The maximum number of statements to prepare. postgres.js and the server keep each as long as the
 * connection, with up to 200 KiB for its plan. Short statements have some 500 texts: 250 fixed ones,
 * and one for each set of conditions of a list of purchases.
 */
const MOST_PREPARED = 1_000

const prepared = new Map<string, { readonly text: string; readonly isPrepared: boolean }>()

/** The numbered text of a statement, and whether to prepare it. */
export function preparedText(sql: string) {
  const known = prepared.get(sql)
  if (known) return known
  const made = { text: numbered(sql), isPrepared: prepared.size < MOST_PREPARED }
  if (made.isPrepared) prepared.set(sql, made)
  return made
}

/**
 * The SQL to insert the records of a JSON array, in its order. If `under` names a subquery, the
 * records are inserted once for each of its rows.
 */
export function insertionOfMany<R>(table: Table<R>, { under = '' } = {}): string {
  const rows = `ROWS FROM (json_to_recordset(?) AS (${table.typedFields})) WITH ORDINALITY AS r`
  const source = `${under && `${under}, `}${rows} ORDER BY ordinality`
  return table.insertionFrom(source, (field) => `r.${field}`)
}
