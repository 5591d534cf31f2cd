import type { Worker } from 'node:worker_threads'
import { startThread } from '../../threads.ts'
import type { Connection } from './connection.ts'
import type { SqliteDriverName } from './drivers.ts'

/** The data that each thread gets: how to open a connection of its own. */
export interface ThreadData {
  readonly path: string
  readonly driver: SqliteDriverName
}

/**
 * Starts a module of this folder in a thread that opens the same file. Returns undefined for a
 * database in memory, which only one connection can use, and where threads are not available.
 */
export function startFileThread(
  { path, driver }: Connection,
  module: string,
  maxYoungGenerationSizeMb: number,
  data: object = {},
): Worker | undefined {
  if (path === undefined) return undefined
  const workerData = { ...data, path, driver } satisfies ThreadData
  return startThread(`storage/sqlite/${module}`, workerData, maxYoungGenerationSizeMb)
}
