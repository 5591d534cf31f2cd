// Runs in the thread that `totals-writer.ts` starts. Adds slices of purchases to the totals on request,
// through its own connection. Answers whether more may be left.
import { parentPort, workerData } from 'node:worker_threads'
import { connect } from './connection.ts'
import { openSqliteDriver } from './drivers.ts'
import type { ThreadData } from './thread.ts'
import { addToTotals } from './totals.ts'
import { THREAD_ROWS } from './totals-writer.ts'

const { path, driver } = workerData as ThreadData
const db = connect(openSqliteDriver(path, driver), path)

parentPort?.on('message', async (store: number | 'end') => {
  const isMore =
    store === 'end'
      ? await db.close()
      : await db.lazyTransaction(() => addToTotals(db, store, THREAD_ROWS))
  parentPort?.postMessage(isMore === true)
})
parentPort?.postMessage(true)
