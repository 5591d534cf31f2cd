import { once } from 'node:events'
import type { Worker } from 'node:worker_threads'
import { TillError } from '../../errors.ts'
import type { RowOutcomes } from '../records.ts'
import { sumOutcomes } from '../row-outcomes.ts'
import type { Lease } from '../sql/imports.ts'
import type { Connection } from './connection.ts'
import { translateSqliteError } from './drivers.ts'
import type { ImportAnswer, ImportStep, ImportThreadData } from './import-thread.ts'
import type { PackedRows } from './packed-rows.ts'
import { startFileThread } from './thread.ts'

export type ImportWriter = NonNullable<Awaited<ReturnType<typeof startImportWriter>>>

/** The maximum number of unanswered steps. Each has some 500 rows. */
const MAX_WAITING = 12
/** Each message has several steps, because waking the other thread takes 0.2 ms. */
const STEPS_A_MESSAGE = 4
const YOUNG_MB = 2

/** Further imports are written by the thread that runs them. More threads only wait for the lock. */
const MAX_THREADS = 4
/** The import threads that run. */
const threads = new WeakMap<Connection, Set<Worker>>()

/**
 * Starts a thread that adds the rows of one import, through a connection of its own. The first row
 * gets the `seq` `first_purchase`. Resolves to undefined where threads are not available, if many
 * run, and while the connection closes.
 */
export async function startImportWriter(
  db: Connection,
  { import: seq, store, owner }: Lease,
  first_purchase: number,
) {
  const { lockWanted } = db
  const running = threads.get(db) ?? new Set()
  if (db.isClosing || running.size >= MAX_THREADS) return undefined
  const data = { lockWanted, seq, store, owner, first_purchase }
  const worker = startFileThread(db, 'import-thread', YOUNG_MB, data satisfies ImportThreadData)
  if (!worker) return undefined
  threads.set(db, running.add(worker))
  const results: RowOutcomes[] = []
  let pending: ImportStep[] = []
  let unanswered = 1 // the first answer says that the thread is ready
  let failure: unknown
  let waits = 0
  const ending = new AbortController()
  const { signal } = ending

  const fail = (error: unknown) => {
    failure ??= errorOf(error)
    ending.abort()
  }
  worker.on('message', ({ steps, result }: ImportAnswer) => {
    unanswered -= steps
    results.push(result)
  })
  // Node 20 runs no TypeScript in threads, even with tsx. The thread then fails before it is ready.
  worker.on('error', fail)
  worker.on('exit', () => {
    running.delete(worker)
    fail(new TillError('storage_unavailable', 'The thread of the import has ended'))
  })

  /** Waits until at most this number of steps is unanswered. The process stays alive meanwhile. */
  const waitFor = async (most: number): Promise<RowOutcomes> => {
    if (waits++ === 0) worker.ref()
    while (failure === undefined && unanswered > most) {
      await once(worker, 'message', { signal }).catch(() => {}) // then there is a failure
    }
    if (--waits === 0 && !failure) worker.unref()
    if (failure) throw failure
    return sumOutcomes(results.splice(0))
  }

  const send = () => {
    unanswered += pending.length
    const buffers = pending.flatMap((step) => (step === 'finish' ? [] : [step.buffer]))
    worker.postMessage(pending, buffers)
    pending = []
  }

  try {
    await waitFor(0)
  } catch {
    return undefined
  }
  return {
    /** Sends rows to the thread. Waits if it is far behind. Resolves to earlier rows' outcome. */
    add(rows: PackedRows) {
      pending.push(rows)
      if (pending.length >= STEPS_A_MESSAGE) send()
      return waitFor(MAX_WAITING)
    },
    /** Resolves when all rows are added, to the outcomes that `add` did not report. */
    finish() {
      pending.push('finish')
      send()
      return waitFor(0)
    },
    /** Ends the thread. Rows that are not added yet are dropped. */
    async end() {
      fail(new TillError('storage_unavailable', 'The import has ended'))
      await terminate(worker)
    },
  }
}

/** Ends the threads of all imports on a connection. The imports fail. */
export async function endImportThreads(db: Connection): Promise<void> {
  await Promise.all([...(threads.get(db) ?? [])].map(terminate))
}

/** Ends a thread. Keeps the process alive until then. */
async function terminate(worker: Worker): Promise<void> {
  worker.ref()
  await worker.terminate()
}

/** Makes a `TillError` from an error that has lost its class on its way from the thread. */
function errorOf(error: unknown): unknown {
  const { code, message } = error as TillError
  return code === 'storage_unavailable' ? new TillError(code, message) : translateSqliteError(error)
}
