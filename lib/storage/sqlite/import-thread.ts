// The thread that `import-writer.ts` starts. It adds the rows of one import through its own
// connection.
import { setImmediate } from 'node:timers/promises'
import { parentPort, workerData } from 'node:worker_threads'
import type { RowOutcomes } from '../records.ts'
import { NO_ROWS, sumOutcomes } from '../row-outcomes.ts'
import { assertOwned } from '../sql/imports.ts'
import { connect } from './connection.ts'
import { openSqliteDriver } from './drivers.ts'
import { configure } from './file.ts'
import type { PackedRows } from './packed-rows.ts'
import { createRowWriter } from './row-writer.ts'
import { DIALECT, execute } from './sql.ts'
import type { ThreadData } from './thread.ts'

/** The import whose rows the thread adds. */
export interface ImportThreadData {
  readonly seq: number
  readonly store: number
  readonly owner: string
  readonly first_purchase: number
  /** Shared with the thread that started this one. Is 1 while a write there waits for the lock. */
  readonly lockWanted: Int32Array
}

/** Rows to add, or the end of the import. */
export type ImportStep = PackedRows | 'finish'

/** The answer to the `steps` oldest open steps. */
export interface ImportAnswer {
  readonly steps: number
  readonly result: RowOutcomes
}

/** A transaction ends after this time, to let other processes write. */
const TRANSACTION_MS = 10
/** The maximum time to wait until a write of the thread that started this one gets the lock. */
const YIELD_MS = 100
/** The length of the WAL, 16 MiB, at which a commit of this thread makes a checkpoint. */
const AUTOMATIC_FRAMES = 4_000
/**
 * The maximum pause before the next attempt to get the lock. Much shorter than that of other
 * writers, because a main thread that writes without pause leaves only short gaps.
 */
const LOCK_PAUSE_MS = 0.2

const { path, driver, lockWanted, seq, store, owner, first_purchase } = workerData as ThreadData &
  ImportThreadData
const queue: ImportStep[] = []
let isWorking = false

const nothing = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT))
const db = connect(openSqliteDriver(path, driver), path, () => {
  Atomics.wait(lockWanted, 0, 1, YIELD_MS) // a write of the other thread goes first
  Atomics.wait(nothing, 0, 0, Math.random() * LOCK_PAUSE_MS) // no timer is that short
  return setImmediate()
})
await configure(db)
db.exec(`PRAGMA wal_autocheckpoint = ${AUTOMATIC_FRAMES}`)
// For the ids that are sorted. Other connections need a file: with this, VACUUM fills the memory.
db.exec('PRAGMA temp_store = MEMORY')

const rowWriter = createRowWriter(db, store, seq, first_purchase)

parentPort?.on('message', (steps: readonly ImportStep[]) => {
  queue.push(...steps)
  // Another thread gets the properties of an error, but not its class and its cause.
  if (!isWorking) work().catch((error) => throwLater(error.cause ?? error))
})
answer({ steps: 1, result: NO_ROWS })

/** Runs the steps in the queue. An error ends the thread. */
async function work(): Promise<void> {
  isWorking = true
  while (queue.length > 0) {
    // A write that has given up leaves the 1.
    if (Atomics.wait(lockWanted, 0, 1, YIELD_MS) === 'timed-out') lockWanted[0] = 0
    if (isIndexDue()) rowWriter.sort()
    answer(await db.lazyTransaction(runSteps))
    await setImmediate()
  }
  isWorking = false
}

/** Whether ids or users must be indexed before the next step. */
function isIndexDue(): boolean {
  return rowWriter.isBlockFull || (queue[0] === 'finish' && rowWriter.isWaiting)
}

/** Runs the next steps, until another writer wants the lock. */
function runSteps(): ImportAnswer {
  execute(db, assertOwned(DIALECT, { import: seq, store, owner }))
  const end = performance.now() + TRANSACTION_MS
  const results: RowOutcomes[] = []
  let steps = 0
  do {
    const step = queue[0]
    if (!step) break
    if (isIndexDue()) {
      if (!rowWriter.isSorted) break
      results.push(rowWriter.indexSlice())
      continue
    }
    if (step !== 'finish') results.push(rowWriter.append(step))
    queue.shift()
    steps++
  } while (Atomics.load(lockWanted, 0) === 0 && performance.now() < end)
  return { steps, result: sumOutcomes(results) }
}

function answer(message: ImportAnswer): void {
  parentPort?.postMessage(message)
}

function throwLater(error: unknown): void {
  process.nextTick(() => {
    throw error
  })
}
