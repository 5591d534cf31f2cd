import { maybe, type Row, type Table } from '../columns.ts'
import { recordPage } from '../pages.ts'
import type { Page, RecordPage } from '../port.ts'
import { all, find, type Program, type Value } from './program.ts'

/** The SQL for a page of rows after a `seq`. SQLite tables without a column `seq` use `rowid`. */
export function pageOf(
  { list, name }: { readonly list: string; readonly name: string },
  owner?: string,
  seq: 'seq' | 'rowid' = 'seq',
): string {
  const condition = owner === undefined ? '' : `${owner} = ? AND `
  return `SELECT ${seq} AS seq, ${list} FROM ${name}
    WHERE ${condition}${seq} > CAST(? AS bigint) ORDER BY ${seq} LIMIT ?`
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

export function* findRecord<R>(
  read: (row: Row) => R,
  sql: string,
  ...values: Value[]
): Program<R | undefined> {
  return maybe(read, yield* find(sql, ...values))
}
