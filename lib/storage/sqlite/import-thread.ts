// The thread that `import-writer.ts` starts. It stages the rows of imports through its own
// connection.
import { setImmediate } from 'node:timers/promises'
import { parentPort, workerData } from 'node:worker_threads'
import type { StagedRows } from '../records.ts'
import { sumStaged } from '../staged.ts'
import { connect } from './connection.ts'
import { openSqliteDriver } from './drivers.ts'
import { configure } from './file.ts'
import { assertOwned } from './leases.ts'
import type { PackedRows } from './packed-rows.ts'
import { createStaging, type Staging } from './staging.ts'
import type { ThreadData } from './thread.ts'

interface ImportThreadData extends ThreadData {
  /** Shared with the thread that started this one. Is 1 while a write there waits for the lock. */
  readonly lockWanted: Int32Array
}

/** The steps of an import, in this order. `stage` is repeated, and may be followed by `end`. */
export type ImportStep =
  | {
      readonly step: 'begin'
      readonly store: number
      readonly owner: string
      readonly first_purchase: number
    }
  | { readonly step: 'stage'; readonly slices: readonly PackedRows[] }
  | { readonly step: 'finish' }
  | { readonly step: 'end' }

/** `seq` is the key of the import in the table `imports`. */
export type ImportRequest = ImportStep & { readonly seq: number }

/** The answer to the `requests` oldest open requests of an import. A failure is the last answer. */
export type ImportAnswer = { readonly seq: number } & (
  | { readonly requests: number; readonly result: StagedRows }
  | { readonly failure: ThreadFailure }
)

/** The parts of an error that another thread needs. `cause` is the error of the driver. */
export interface ThreadFailure {
  readonly message: string
  readonly code?: unknown
  readonly cause?: { readonly message: string; readonly code: unknown; readonly errcode: unknown }
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

/** A slice of rows to stage. Without `rows`, the end of the import. */
interface Step {
  readonly seq: number
  readonly rows?: PackedRows
}

interface Import {
  readonly staging: Staging
  readonly owner: string
}

const { path, driver, lockWanted } = workerData as ImportThreadData
const imports = new Map<number, Import>()
const queue: Step[] = []
let isWorking = false

const connection = openSqliteDriver(path, driver)
const nothing = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT))
const db = connect(connection, path, () => {
  Atomics.wait(nothing, 0, 0, Math.random() * LOCK_PAUSE_MS) // no timer is that short
  return setImmediate()
})
await configure(db, connection)
db.exec(`PRAGMA wal_autocheckpoint = ${AUTOMATIC_FRAMES}`)

parentPort?.on('message', (request: ImportRequest) => {
  const { seq } = request
  if (request.step === 'begin') {
    const { store, owner, first_purchase } = request
    imports.set(seq, { staging: createStaging(db, store, seq, first_purchase), owner })
  } else if (request.step === 'end') {
    imports.delete(seq)
  } else {
    if (request.step === 'finish') queue.push({ seq })
    else for (const rows of request.slices) queue.push({ seq, rows })
    if (!isWorking) void work()
  }
})
parentPort?.postMessage('ready')

async function work(): Promise<void> {
  isWorking = true
  for (let next = queue[0]; next; next = queue[0]) {
    const { seq } = next
    const running = imports.get(seq)
    if (running) answer(seq, await runTransaction(seq, running))
    else queue.shift() // a step of an import that was aborted or has failed
    await setImmediate()
  }
  isWorking = false
}

async function runTransaction(seq: number, { staging, owner }: Import) {
  try {
    // A write that has given up leaves the 1.
    if (Atomics.wait(lockWanted, 0, 1, YIELD_MS) === 'timed-out') lockWanted[0] = 0
    return await db.lazyTransaction(() => {
      assertOwned(db, seq, owner)
      return stageRequests(seq, staging)
    })
  } catch (error) {
    imports.delete(seq)
    return { failure: failureOf(error) }
  }
}

/** Runs the next requests of an import, until another writer wants the lock. */
function stageRequests(seq: number, staging: Staging) {
  const end = performance.now() + TRANSACTION_MS
  const results: StagedRows[] = []
  let requests = 0
  do {
    const request = queue[0]
    if (request?.seq !== seq) break
    if (staging.isBlockFull || (!request.rows && staging.isWaiting)) {
      results.push(staging.indexSlice())
      continue
    }
    if (request.rows) results.push(staging.append(request.rows))
    queue.shift()
    requests++
  } while (Atomics.load(lockWanted, 0) === 0 && performance.now() < end)
  return { requests, result: sumStaged(results) }
}

function answer(seq: number, outcome: object): void {
  parentPort?.postMessage({ seq, ...outcome })
}

function failureOf(error: unknown): ThreadFailure {
  const { message, code, cause } = error as ThreadFailure
  if (cause === undefined) return { message, code }
  return {
    message,
    code,
    cause: { message: cause.message, code: cause.code, errcode: cause.errcode },
  }
}
