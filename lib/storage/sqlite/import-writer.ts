import type { Worker } from 'node:worker_threads'
import { TillError } from '../../errors.ts'
import type { StagedRows } from '../records.ts'
import { sumStaged } from '../staged.ts'
import type { Connection } from './connection.ts'
import { translateSqliteError } from './drivers.ts'
import type { ImportAnswer, ImportStep, ImportThreadData, ThreadFailure } from './import-thread.ts'
import { type ImportRow, OWNER } from './leases.ts'
import type { PackedRows } from './packed-rows.ts'
import { startFileThread } from './thread.ts'

/** Stages the rows of one import in a thread of its own, through a connection of its own. */
export interface ImportWriter {
  /** Sends rows to the thread. Waits if it is far behind. Resolves to earlier rows' outcome. */
  stage(rows: PackedRows): Promise<StagedRows>
  /** Resolves when all rows are staged, to the outcomes that `stage` did not report. */
  finish(): Promise<StagedRows>
  /** Ends the thread. Rows that are not staged yet are dropped. */
  end(): Promise<void>
}

/** The maximum number of unanswered steps. Each has some 500 rows. */
const MAX_WAITING = 12
/** Each message has several steps, because waking the other thread takes 0.2 ms. */
const STEPS_A_MESSAGE = 4
const YOUNG_MB = 2

/** Further imports are staged by the thread that runs them. More threads only wait for the lock. */
const MAX_THREADS = 4
/** The import threads that run. */
const threads = new WeakMap<Connection, Set<Worker>>()

/**
 * Starts the thread of an import. Its first row gets the `seq` `first_purchase`. Resolves to
 * undefined where threads are not available, if many run, and while the connection closes.
 */
export async function startImportWriter(
  db: Connection,
  { seq, store }: ImportRow,
  first_purchase: number,
): Promise<ImportWriter | undefined> {
  const { lockWanted } = db
  const running = threads.get(db) ?? new Set()
  if (db.isClosing || running.size >= MAX_THREADS) return undefined
  const data = { lockWanted, seq, store, owner: OWNER, first_purchase }
  const worker = startFileThread(db, 'import-thread', YOUNG_MB, data satisfies ImportThreadData)
  if (!worker) return undefined
  threads.set(db, running.add(worker))
  const results: StagedRows[] = []
  let pending: ImportStep[] = []
  let unanswered = 1 // the first answer says that the thread is ready
  let failure: Error | undefined
  let wakers: (() => void)[] = []
  let waits = 0

  const wake = () => {
    const woken = wakers
    wakers = []
    for (const each of woken) each()
  }
  const fail = (error: Error) => {
    failure ??= error
    wake()
  }
  worker.on('message', (answer: ImportAnswer) => {
    if ('failure' in answer) return fail(errorOf(answer.failure))
    unanswered -= answer.steps
    results.push(answer.result)
    wake()
  })
  // Node 20 runs no TypeScript in threads, even with tsx. The thread then ends before it is ready.
  worker.on('error', () => {}) // ignored, because 'exit' follows
  worker.on('exit', () => {
    running.delete(worker)
    fail(new TillError('storage_unavailable', 'The thread that stages the import has ended'))
  })

  /** Waits until at most this number of steps is unanswered. The process stays alive meanwhile. */
  const waitFor = async (most: number): Promise<StagedRows> => {
    if (waits++ === 0) worker.ref()
    while (failure === undefined && unanswered > most) {
      await new Promise<void>((resolve) => wakers.push(resolve))
    }
    if (--waits === 0 && !failure) worker.unref()
    if (failure) throw failure
    return sumStaged(results.splice(0))
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
    stage(rows) {
      pending.push(rows)
      if (pending.length >= STEPS_A_MESSAGE) send()
      return waitFor(MAX_WAITING)
    },
    finish() {
      pending.push('finish')
      send()
      return waitFor(0)
    },
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

function errorOf({ message, code, cause }: ThreadFailure): Error {
  if (cause) return translateSqliteError(Object.assign(new Error(cause.message), cause)) as Error
  return code === 'storage_unavailable' ? new TillError(code, message) : new Error(message)
}
