// The thread that `checkpoints.ts` starts. It checkpoints the WAL on request, through its own
// connection, and answers with the number of frames in the WAL.
import { parentPort, workerData } from 'node:worker_threads'
import { openSqliteDriver, type SqliteDriverName } from './drivers.ts'

const { path, driver } = workerData as { path: string; driver: SqliteDriverName }
const db = await openSqliteDriver(path, driver)
db.exec('PRAGMA busy_timeout = 100')

parentPort?.on('message', (isLast: boolean) => {
  // PASSIVE blocks neither readers nor writers.
  const { log } = db.prepare('PRAGMA wal_checkpoint(PASSIVE)').get() as { log: number }
  if (isLast) {
    // TRUNCATE blocks writers, but only briefly after the checkpoint before. It empties the WAL.
    db.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get()
    db.close()
    parentPort?.close()
  }
  parentPort?.postMessage(log)
})
