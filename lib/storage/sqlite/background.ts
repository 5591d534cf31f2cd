import { startThread } from '../../threads.ts'
import type { Connection, Row } from './connection.ts'
import { type SqliteDriverName, type SqliteValue, translateSqliteError } from './drivers.ts'

/** The query of a thread, and how to open a connection of its own. */
export interface ThreadQuery {
  readonly path: string
  readonly driver: SqliteDriverName
  readonly sql: string
  readonly values: readonly SqliteValue[]
}

/** For each connection, its latest query in a thread. The next one waits for it. */
export type ThreadQueue = WeakMap<Connection, Promise<unknown>>

/**
 * Runs a slow query in a worker thread, with its own connection, after those before it in `queue`.
 * The thread sends the rows to this thread in batches. Without worker threads, and for a database in
 * memory, runs the query in this thread.
 */
export async function readInThread(
  queue: ThreadQueue,
  db: Connection,
  sql: string,
  values: readonly SqliteValue[],
): Promise<Row[]> {
  const before = queue.get(db)
  const result = (async () => {
    await before?.catch(() => {})
    db.assertInPlace()
    return (await tryThread(db, sql, values)) ?? db.all(sql, ...values)
  })()
  queue.set(db, result)
  return result
}

async function tryThread(
  { path, driver }: Connection,
  sql: string,
  values: readonly SqliteValue[],
): Promise<Row[] | undefined> {
  if (path === undefined) return undefined
  const query = { path, driver, sql, values } satisfies ThreadQuery
  const worker = startThread('storage/sqlite/reader', query, YOUNG_MB)
  if (!worker) return undefined
  const found: Row[] = []
  let hasBegun = false
  return new Promise((resolve, reject) => {
    worker.on('message', (rows: readonly Row[]) => {
      hasBegun = true
      for (const row of rows) found.push(row)
    })
    // In Node 20, threads cannot run TypeScript, even with tsx: this thread then runs the query.
    worker.on('error', (error) => {
      if (hasBegun) reject(translateSqliteError(error))
      else resolve(undefined)
    })
    worker.on('exit', () => resolve(found)) // `resolve` has no effect after `reject`
  })
}

const YOUNG_MB = 4
