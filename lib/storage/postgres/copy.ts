import { once } from 'node:events'
import { finished } from 'node:stream/promises'
import type { PostgresClient, PostgresQuery } from './drivers.ts'

const CHUNK_CHARS = 64 * 1024

/** Copies lines of PostgreSQL's text format into a table. */
export async function copyInto(
  driver: PostgresClient,
  into: string,
  lines: Iterable<string>,
): Promise<void> {
  const query = driver.unsafe(`COPY ${into} FROM STDIN`)
  const refused = refusalOf(query)
  const stream = await query.writable()
  const done = Promise.race([finished(stream), refused])
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
 * Rejects with the server's refusal. postgres.js has given the stream as the query's answer by
 * then, so that its rejection goes nowhere, and the stream of a COPY refused after its end stays
 * open (3.4.9).
 */
function refusalOf(query: PostgresQuery): Promise<never> {
  const inner = query as PostgresQuery & { reject: (error: unknown) => void } // not documented
  const { reject } = inner
  const refused = new Promise<never>((_, refuse) => {
    inner.reject = (error) => {
      refuse(error)
      reject(error)
    }
  })
  refused.catch(() => {}) // also heard of as the query's own, before there is a stream
  return refused
}

/** A cell of the text format (postgresql.org/docs/current/sql-copy.html, "Text Format"). */
export function copyCell(text: string | null | undefined): string {
  if (text === null || text === undefined) return '\\N'
  return SPECIAL.test(text) ? text.replace(EACH_SPECIAL, (special) => ESCAPES[special] ?? '') : text
}

const SPECIAL = /[\\\t\n\r]/
const EACH_SPECIAL = /[\\\t\n\r]/g
const ESCAPES: Record<string, string> = { '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r' }
