// The program of the thread that `checkpoints.ts` starts: a connection of its own that checkpoints
// the WAL whenever it is asked to, and answers how many frames the WAL has.
import { parentPort, workerData } from 'node:worker_threads'
import { openSqliteDriver, type SqliteDriverName } from './drivers.ts'

const { path, driver } = workerData as { path: string; driver: SqliteDriverName }
const db = await openSqliteDriver(path, driver)
db.exec('PRAGMA busy_timeout = 100')

parentPort?.on('message', (isLast: boolean) => {
  // PASSIVE waits for nobody, and nobody for it.
  const { log } = db.prepare('PRAGMA wal_checkpoint(PASSIVE)').get() as { log: number }
  if (isLast) {
    // Nothing is left to write: no writer waits long for this one, after which the WAL takes no
    // room.
    db.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get()
    db.close()
    parentPort?.close()
  }
  parentPort?.postMessage(log)
})
