import { PAGE_TEXT, recordPage } from '../pages.ts'
import type { Page, RecordPage } from '../port.ts'
import type { Database } from './connection.ts'
import type { Row } from './drivers.ts'

/** PostgreSQL reads a configuration whole to measure it: a page measures no more than these. */
const MEASURED = 32

/**
 * The rows of an owner that fill a page, and one more: they end where the text of those before the
 * one before fills it.
 */
export function configuredQuery(table: string, owner: string, config: string): string {
  return `SELECT * FROM (
      SELECT *, sum(text) OVER (
        ORDER BY seq ROWS BETWEEN UNBOUNDED PRECEDING AND 2 PRECEDING) AS text_before
      FROM (
        SELECT *, octet_length(${config}::text) AS text FROM ${table}
        WHERE ${owner} = $1 AND seq > $2::bigint ORDER BY seq LIMIT $3) candidates) rows
    WHERE coalesce(text_before, 0) < ${PAGE_TEXT}
    ORDER BY seq`
}

/** A page of records that each have a configuration. */
export async function listConfigured<T>(
  db: Database,
  sql: string,
  owner: string,
  { limit, after = '0' }: Page,
  record: (row: Row) => T,
): Promise<RecordPage<T>> {
  const page = { limit: Math.min(limit, MEASURED) }
  const rows = await db.all(sql, owner, after, page.limit + 1)
  return recordPage(
    rows,
    page,
    record,
    ({ seq }) => seq,
    ({ text }) => text as number,
  )
}
