import type { Row, Table } from '../columns.ts'
import { recordPage } from '../pages.ts'
import type { Page, RecordPage } from '../records.ts'
import type { Dialect } from './dialect.ts'
import { all, type Program, some, type Value } from './program.ts'

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

/** Reads a page of the records that a statement of `pageOf` selects. */
export function* listBySeq<R>(
  { read }: Pick<Table<R>, 'read'>,
  sql: string,
  page: Page,
  ...owner: readonly string[]
): Program<RecordPage<R>> {
  const rows = yield* all(sql, ...owner, page.after ?? '0', page.limit + 1)
  return recordPage(rows, page, read, ({ seq }) => seq)
}

/** Reads a page of projects or stores. It ends early if their configurations are long. */
export function* listConfigured<R>(
  { mostConfigured }: Dialect,
  { read }: Pick<Table<R>, 'read'>,
  sql: string,
  owner: string,
  { limit, after = '0' }: Page,
): Program<RecordPage<R>> {
  const page = { limit: Math.min(limit, mostConfigured) }
  const take = (rows: Iterable<Row>) =>
    recordPage(
      rows,
      page,
      read,
      ({ seq }) => seq,
      ({ text }) => text as number,
    )
  return yield* some(take, sql, owner, after, page.limit + 1)
}

export function* findRecord<R>(
  read: (row: Row) => R,
  sql: string,
  ...values: Value[]
): Program<R | undefined> {
  const row = (yield { sql, values, returns: 'row' }) as Row | undefined
  return row && read(row)
}
