import { once } from 'node:events'
import { finished } from 'node:stream/promises'
import type { PostgresClient, PostgresQuery } from './drivers.ts'

const CHUNK_CHARS = 64 * 1024

/** Runs a COPY of lines in PostgreSQL's text format into a table. */
export async function sendLines(
  driver: PostgresClient,
  into: string,
  lines: Iterable<string>,
): Promise<void> {
  const query = driver.unsafe(`COPY ${into} FROM STDIN`)
  const failed = failureOf(query)
  const stream = await query.writable()
  const done = Promise.race([finished(stream), failed])
  let chunk = ''
  for (const line of lines) {
    chunk += line
    if (chunk.length < CHUNK_CHARS) continue
    if (!stream.write(chunk)) await Promise.race([once(stream, 'drain'), done])
    chunk = ''
  }
  stream.end(chunk)
  await done
}

/**
 * Rejects with the server's error for a COPY. In postgres.js (3.4.9), the promise of the query
 * resolves as soon as the stream opens, so it does not report later errors. The stream reports none
 * either if a COPY fails after the end of its input: it just stays open.
 */
function failureOf(query: PostgresQuery): Promise<never> {
  // postgres.js calls the undocumented method `reject` when the query fails.
  const inner = query as PostgresQuery & { reject: (error: unknown) => void }
  const { reject } = inner
  const failed = new Promise<never>((_, fail) => {
    inner.reject = (error) => {
      fail(error)
      reject(error)
    }
  })
  failed.catch(() => {}) // prevents an unhandled rejection if the stream never opens
  return failed
}

/** Formats a cell in the text format (postgresql.org/docs/current/sql-copy.html, "Text Format"). */
export function formatCell(text: string | null | undefined): string {
  if (text === null || text === undefined) return '\\N'
  return SPECIAL.test(text) ? text.replace(EACH_SPECIAL, (special) => ESCAPES[special] ?? '') : text
}

const SPECIAL = /[\\\t\n\r]/
const EACH_SPECIAL = /[\\\t\n\r]/g
const ESCAPES: Record<string, string> = { '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r' }
