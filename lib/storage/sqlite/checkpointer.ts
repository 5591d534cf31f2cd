// Runs in the thread that `checkpoints.ts` starts. Checkpoints the WAL on request through its own
// connection. Answers with the number of frames in the WAL. `checkpoints.ts` also ends the thread
// after its last answer, because Deno's `parentPort` has no `close`.
import { parentPort, workerData } from 'node:worker_threads'
import { openSqliteDriver } from './drivers.ts'
import type { ThreadData } from './thread.ts'

const { path, driver } = workerData as ThreadData
const db = openSqliteDriver(path, driver)
db.exec('PRAGMA busy_timeout = 100')

parentPort?.on('message', (isLast: boolean) => {
  // A PASSIVE checkpoint blocks neither readers nor writers.
  const { log } = db.prepare('PRAGMA wal_checkpoint(PASSIVE)').get() as { log: number }
  if (isLast) {
    // TRUNCATE empties the WAL. It blocks writers only briefly, right after the PASSIVE checkpoint.
    db.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get()
    db.close()
  }
  parentPort?.postMessage(log)
})
