import type { Row, Table } from './columns.ts'
import type { Dialect } from './dialect.ts'
import { recordPage } from './lists.ts'
import { type Program, some, type Value } from './program.ts'
import type { Page, RecordPage } from './records.ts'

/** The SQL for a page of rows after a `seq`. */
export function pageOf(
  { list, name }: { readonly list: string; readonly name: string },
  owner?: string,
): string {
  const condition = owner === undefined ? '' : `${owner} = ? AND `
  return `SELECT seq, ${list} FROM ${name}
    WHERE ${condition}seq > CAST(? AS bigint) ORDER BY seq LIMIT ?`
}

/** The SQL of the column `text`, which has the length of a configuration. */
export function lengthOf(config: string): string {
  return `length(CAST(${config} AS text)) AS text`
}

/**
 * Reads a page of records in order of their `seq`. If the rows have a column `text` (see `lengthOf`),
 * the page ends early if their configurations are long.
 */
export function* listBySeq<R>(
  { read }: Pick<Table<R>, 'read'>,
  sql: string,
  { limit, after = '0' }: Page,
  ...owner: readonly string[]
): Program<RecordPage<R>> {
  const take = (rows: Iterable<Row>) =>
    recordPage(
      rows,
      { limit },
      read,
      ({ seq }) => seq,
      ({ text }) => Number(text ?? 0),
    )
  return yield* some(take, sql, ...owner, after, limit + 1)
}

/** A page of at most as many projects or stores as the database should send. */
export function mostConfigured({ mostConfigured }: Dialect, page: Page): Page {
  return { ...page, limit: Math.min(page.limit, mostConfigured) }
}

export function* findRecord<R>(
  read: (row: Row) => R,
  sql: string,
  ...values: Value[]
): Program<R | undefined> {
  const row = (yield { sql, values, returns: 'row' }) as Row | undefined
  return row && read(row)
}
