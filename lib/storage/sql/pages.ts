import { TillError } from '../../errors.ts'
import type { Row, Table } from './columns.ts'
import type { Dialect } from './dialect.ts'
import { type Program, some, type Value } from './program.ts'
import type { Page, RecordPage } from './records.ts'

/**
 * The most records that one page of a filtered list examines. SQLite needs about 40 ms for them.
 */
export const EXAMINED = 10_000

/**
 * A page ends once its records hold this much text, in characters or bytes depending on the
 * storage. An item, project or store may have 70 KiB. Without this limit, a page of 1,000 could
 * need 70 MiB for each read in flight. 1 MiB of short values would block the event loop for 50 ms.
 */
export const PAGE_TEXT = 512 * 1024

/** The same for projects and stores, whose secrets are removed by a copy. */
const CONFIG_TEXT = 128 * 1024

/**
 * Takes rows until there are `limit` of them or their text reaches `mostText`. If more rows follow,
 * `next` is the cursor of the last row taken. Reads at most one row more than it takes.
 */
export function fillPage<R>(
  rows: Iterable<R>,
  limit: number,
  textOf: (row: R) => number,
  cursorOf: (row: R) => unknown = (row) => (row as { readonly id?: unknown }).id,
  mostText = PAGE_TEXT,
): { readonly taken: R[]; readonly next?: string } {
  const taken: R[] = []
  let text = 0
  for (const row of rows) {
    if (taken.length === limit || text >= mostText) {
      return { taken, next: String(cursorOf(taken.at(-1) as R)) }
    }
    taken.push(row)
    text += textOf(row)
  }
  return { taken }
}

interface PageLimits extends Page {
  readonly mostText?: number | undefined
}

/** Makes a page of records from rows. Ends it early if they have a column `text`: see `lengthOf`. */
export function recordPage<T>(
  rows: Iterable<Row>,
  { limit, mostText }: PageLimits,
  record: (row: Row) => T,
  cursorOf: (row: Row) => unknown,
): RecordPage<T> {
  const { taken, next } = fillPage(rows, limit, ({ text }) => Number(text ?? 0), cursorOf, mostText)
  return { records: taken.map(record), ...(next === undefined ? {} : { next }) }
}

/** The error for listing a store that does not exist or is not in the given project. */
export function storeNotFound(): TillError {
  return new TillError('store_not_found', 'No store has this store_id')
}

/** The SQL for a page of rows after a `seq`. */
export function pageOf(
  { list, name }: { readonly list: string; readonly name: string },
  owner?: string,
): string {
  const condition = owner === undefined ? '' : `${owner} = ? AND `
  return `SELECT seq, ${list} FROM ${name}
    WHERE ${condition}seq > CAST(? AS bigint) ORDER BY seq LIMIT ?`
}

/** The SQL for a page of projects or stores: see `limitsOfConfigured`. */
export function pageOfConfigured(
  sql: Dialect,
  { list, name }: { readonly list: string; readonly name: string },
  config: string,
  owner: string,
): string {
  const measured = `seq AS place, ${list}, ${lengthOf(config)}`
  return sql.pageOfText(pageOf({ list: measured, name }, owner), 'ASC', CONFIG_TEXT)
}

/** The SQL of the column `text`, which has the length of a column with JSON. */
export function lengthOf(json: string): string {
  return `length(CAST(${json} AS text)) AS text`
}

/** Reads a page of records in order of their `seq`: see `recordPage`. */
export function* listBySeq<R>(
  { read }: Pick<Table<R>, 'read'>,
  sql: string,
  { limit, after = '0', mostText }: PageLimits,
  ...owner: readonly string[]
): Program<RecordPage<R>> {
  const take = (rows: Iterable<Row>) =>
    recordPage(rows, { limit, mostText }, read, ({ seq }) => seq)
  return yield* some(take, sql, ...owner, after, limit + 1)
}

/** The limits of a page of projects or stores: see `CONFIG_TEXT` and `mostConfigured`. */
export function limitsOfConfigured({ mostConfigured }: Dialect, page: Page): PageLimits {
  return { ...page, limit: Math.min(page.limit, mostConfigured), mostText: CONFIG_TEXT }
}

/** Reads the first row of a statement as a record. */
export function* findRecord<R>(
  read: (row: Row) => R,
  sql: string,
  ...values: Value[]
): Program<R | undefined> {
  const row = (yield { sql, values, returns: 'row' }) as Row | undefined
  return row && read(row)
}
