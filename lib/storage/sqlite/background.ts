import { existsSync } from 'node:fs'
import type { Worker } from 'node:worker_threads'
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
 * memory, runs the query in this thread. `signal` ends the thread, if the query calls `is_wanted`.
 */
export async function readInThread(
  queue: ThreadQueue,
  db: Connection,
  sql: string,
  values: readonly SqliteValue[],
  signal?: AbortSignal,
): Promise<Row[]> {
  const before = queue.get(db)
  const result = (async () => {
    await before?.catch(() => {})
    signal?.throwIfAborted()
    db.assertInPlace()
    return (await tryThread(db, sql, values, signal)) ?? db.all(sql, ...values)
  })()
  queue.set(db, result)
  return result
}

async function tryThread(
  { path, driver }: Connection,
  sql: string,
  values: readonly SqliteValue[],
  signal: AbortSignal | undefined,
): Promise<Row[] | undefined> {
  const worker = path && startReader({ path, driver, sql, values })
  if (!worker) return undefined
  const found: Row[] = []
  return new Promise((resolve, reject) => {
    worker.on('message', (rows: readonly Row[]) => {
      for (const row of rows) found.push(row)
    })
    worker.on('error', (error) => reject(translateSqliteError(error)))
    const end = () => {
      reject(signal?.reason)
      worker.terminate()
    }
    signal?.addEventListener('abort', end)
    worker.on('exit', () => {
      signal?.removeEventListener('abort', end)
      resolve(found) // has no effect after `reject`
    })
  })
}

/**
 * Starts the thread. Returns undefined if threads are not permitted, if this Node runs no TypeScript
 * in them, or if `reader` does not exist, as in a bundle of another program.
 */
function startReader(workerData: ThreadQuery): Worker | undefined {
  try {
    const { url } = import.meta // undefined in a CommonJS bundle
    const type = url.slice(-3)
    const file = new URL(`./reader${type}`, url)
    if (!existsSync(file) || (type === '.ts' && !process.features.typescript)) return undefined
    const { Worker } = process.getBuiltinModule('node:worker_threads') // takes 2 ms to load
    return new Worker(file, { workerData, resourceLimits: { maxYoungGenerationSizeMb: 4 } })
  } catch {
    return undefined
  }
}
