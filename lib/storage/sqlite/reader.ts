// The thread that `background.ts` starts. It runs one query through its own connection, and sends
// the rows in batches.
import { parentPort, workerData } from 'node:worker_threads'
import type { ThreadQuery } from './background.ts'
import { openSqliteDriver } from './drivers.ts'

const { path, driver, sql, values } = workerData as ThreadQuery
const BATCH = 200

const db = openSqliteDriver(path, driver)
try {
  db.exec('PRAGMA busy_timeout = 5000')
  let batch: unknown[] = []
  for (const row of db.prepare(sql).iterate(...values)) {
    if (batch.push(row) < BATCH) continue
    parentPort?.postMessage(batch)
    batch = []
  }
  parentPort?.postMessage(batch)
} finally {
  db.close()
}
