import { startThread } from '../../threads.ts'
import type { Connection, Row } from './connection.ts'
import { type SqliteValue, translateSqliteError } from './drivers.ts'

/**
 * The latest query of each connection that runs in a thread. The next query of the connection in the
 * same queue waits for it.
 */
export type ThreadQueue = WeakMap<Connection, Promise<unknown>>

const scans: ThreadQueue = new WeakMap()

/**
 * Runs a query that takes long in a worker thread, with its own connection. Reads the rows here, in
 * batches. Without threads, and for a database in memory, runs the query here.
 */
export async function readInThread<T>(
  db: Connection,
  read: (row: Row) => T,
  sql: string,
  values: readonly SqliteValue[],
  queue = scans,
): Promise<T[]> {
  const before = queue.get(db)
  const result = (async () => {
    await before?.catch(() => {})
    db.assertInPlace()
    return (await tryThread(db, read, sql, values)) ?? db.all(sql, ...values).map(read)
  })()
  queue.set(db, result)
  return result
}

async function tryThread<T>(
  db: Connection,
  read: (row: Row) => T,
  sql: string,
  values: readonly SqliteValue[],
): Promise<T[] | undefined> {
  const path = db.find('PRAGMA database_list')?.file as string
  if (path === '') return undefined
  const worker = startThread(
    'storage/sqlite/reader',
    { path, driver: db.driver, sql, values },
    YOUNG_MB,
  )
  if (!worker) return undefined
  const found: T[] = []
  let hasBegun = false
  return new Promise((resolve, reject) => {
    worker.on('message', (rows: readonly Row[]) => {
      hasBegun = true
      for (const row of rows) found.push(read(row))
    })
    // Node 20 runs no TypeScript in threads, even with tsx. The query then runs in this thread.
    worker.on('error', (error) => {
      if (hasBegun) reject(translateSqliteError(error))
      else resolve(undefined)
    })
    worker.on('exit', () => resolve(found)) // has no effect after `reject`
  })
}

const YOUNG_MB = 4
