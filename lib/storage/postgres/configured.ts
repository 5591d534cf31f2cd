import type { Table } from '../columns.ts'
import { PAGE_TEXT, recordPage } from '../pages.ts'
import type { Page, RecordPage } from '../port.ts'
import type { Database } from './connection.ts'

/**
 * The maximum number of records on a page. PostgreSQL has to read a whole configuration to measure
 * its length.
 */
const MEASURED = 32

/**
 * The SQL for a page of an owner's records, and for one more record, which shows that another page
 * follows. `text_before` leaves out the text of the record itself and of the one directly before
 * it. The query therefore also selects the record after a full page.
 */
export function configuredQuery<R>(table: Table<R>, owner: string, config: string): string {
  return `SELECT * FROM (
      SELECT *, sum(text) OVER (
        ORDER BY seq ROWS BETWEEN UNBOUNDED PRECEDING AND 2 PRECEDING) AS text_before
      FROM (
        SELECT seq, ${table.list}, octet_length(${config}::text) AS text FROM ${table.name}
        WHERE ${owner} = ? AND seq > CAST(? AS bigint) ORDER BY seq LIMIT ?) candidates) rows
    WHERE coalesce(text_before, 0) < ${PAGE_TEXT}
    ORDER BY seq`
}

/** Lists a page of projects or stores. */
export async function listConfigured<R>(
  db: Database,
  { read }: Table<R>,
  sql: string,
  owner: string,
  { limit, after = '0' }: Page,
): Promise<RecordPage<R>> {
  const page = { limit: Math.min(limit, MEASURED) }
  const rows = await db.all(sql, owner, after, page.limit + 1)
  return recordPage(
    rows,
    page,
    read,
    ({ seq }) => seq,
    ({ text }) => text as number,
  )
}
