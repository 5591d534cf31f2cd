import type { Worker } from 'node:worker_threads'
import { TillError } from '../../errors.ts'
import type { StagedRows } from '../records.ts'
import { sumStaged } from '../staged.ts'
import type { Connection } from './connection.ts'
import { translateSqliteError } from './drivers.ts'
import type { ImportAnswer, ImportRequest, ImportStep, ThreadFailure } from './import-thread.ts'
import { type ImportRow, OWNER } from './leases.ts'
import type { PackedRows } from './packed-rows.ts'
import { startFileThread } from './thread.ts'

/** Stages the rows of one import in another thread, through a connection of its own. */
export interface ImportWriter {
  /** Whether the thread is ready. */
  readonly isReady: boolean
  /** Resolves to whether the thread has become ready. */
  readonly becomesReady: Promise<boolean>
  /** Call it once, when the thread is ready. The next row gets the `seq` `first_purchase`. */
  begin(first_purchase: number): void
  /** Sends rows to the thread. Waits if it is far behind. Resolves to earlier rows' outcome. */
  stage(rows: PackedRows): Promise<StagedRows>
  /** Resolves when all rows are staged, to the outcomes that `stage` did not report. */
  finish(): Promise<StagedRows>
  /**
   * Ends the import in the thread. Rows that are not staged yet are dropped. If no other import
   * uses the thread, ends the thread too, and resolves when its connection is closed.
   */
  end(): Promise<void>
}

/** The maximum number of unanswered requests. Each has some 500 rows. */
const MAX_WAITING = 12
/** Each message has several slices, because waking the other thread takes 0.2 ms. */
const SLICES_A_MESSAGE = 4
const YOUNG_MB = 2

/** The import threads that run. Imports on the same connection share one. */
const threads = new WeakMap<Connection, ImportThread>()

interface ImportThread {
  /** The worker thread; undefined where threads are not available. */
  readonly worker: Worker | undefined
  isReady: boolean
  readonly becomesReady: Promise<boolean>
  /** The number of promises that wait for the thread. The process stays alive for them. */
  waits: number
  /** The functions that receive the answers to an import, by the `seq` of the import. */
  readonly listeners: Map<number, (answer: ImportAnswer) => void>
}

/** Starts the thread unless it runs. Where threads are not available, it never becomes ready. */
export function createImportWriter(db: Connection, { seq, store }: ImportRow): ImportWriter {
  const thread = threads.get(db) ?? startImportThread(db)
  const results: StagedRows[] = []
  const pending: PackedRows[] = []
  let unanswered = 0
  let failure: Error | undefined
  let wakers: (() => void)[] = []
  const wake = () => {
    const woken = wakers
    wakers = []
    for (const each of woken) each()
  }

  thread.listeners.set(seq, (answer) => {
    if ('failure' in answer) {
      failure = errorOf(answer.failure)
    } else {
      unanswered -= answer.requests
      results.push(answer.result)
    }
    wake()
  })

  const send = (step: ImportStep, transfer: ArrayBuffer[] = []) =>
    thread.worker?.postMessage({ seq, ...step } satisfies ImportRequest, transfer)

  const sendRows = () => {
    const slices = pending.splice(0)
    unanswered += slices.length
    send(
      { step: 'stage', slices },
      slices.map(({ buffer }) => buffer),
    )
  }

  /** Waits until at most this number of requests is unanswered. */
  const waitFor = async (most: number): Promise<StagedRows> => {
    while (failure === undefined && unanswered > most) {
      await keepAlive(thread, new Promise<void>((resolve) => wakers.push(resolve)))
    }
    if (failure) throw failure
    return sumStaged(results.splice(0))
  }

  return {
    get isReady() {
      return thread.isReady
    },
    becomesReady: thread.becomesReady,
    begin: (first_purchase) => send({ step: 'begin', store, owner: OWNER, first_purchase }),
    stage(rows) {
      pending.push(rows)
      if (pending.length >= SLICES_A_MESSAGE) sendRows()
      return waitFor(MAX_WAITING)
    },
    finish() {
      sendRows()
      send({ step: 'finish' })
      unanswered++
      return waitFor(0)
    },
    async end() {
      failure ??= new TillError('storage_unavailable', 'The import has ended')
      wake()
      send({ step: 'end' })
      thread.listeners.delete(seq)
      if (thread.listeners.size > 0 || threads.get(db) !== thread) return
      threads.delete(db)
      await terminate(thread)
    },
  }
}

/** Keeps the process alive while the promise waits for the thread. */
async function keepAlive(thread: ImportThread, waiting: Promise<void>): Promise<void> {
  if (thread.waits++ === 0) thread.worker?.ref()
  await waiting
  if (--thread.waits === 0) thread.worker?.unref()
}

/** Ends the thread. Imports that use the thread fail. */
export async function endImportThread(db: Connection): Promise<void> {
  const thread = threads.get(db)
  if (thread) await terminate(thread)
}

async function terminate(thread: ImportThread): Promise<void> {
  thread.waits++ // never ends: a late message must not let the process exit before the thread ends
  await thread.worker?.terminate()
}

function startImportThread(db: Connection): ImportThread {
  const worker = startFileThread(db, 'import-thread', YOUNG_MB, { lockWanted: db.lockWanted })
  const listeners: ImportThread['listeners'] = new Map()
  const becomesReady = new Promise<boolean>((resolve) => {
    if (!worker) return resolve(false)
    worker.on('message', (message: 'ready' | ImportAnswer) => {
      if (message !== 'ready') return listeners.get(message.seq)?.(message)
      thread.isReady = true
      if (thread.waits === 0) worker.unref()
      resolve(true)
    })
    // Node 20 runs no TypeScript in threads, even with tsx. The thread then ends before `ready`.
    worker.on('error', () => {}) // ignored, because 'exit' follows
    worker.on('exit', () => {
      resolve(false)
      thread.isReady = false
      if (threads.get(db) === thread) threads.delete(db)
      const code = 'storage_unavailable'
      const failure = { code, message: 'The thread that stages imports has ended' }
      for (const [seq, listen] of listeners) listen({ seq, failure })
    })
  })
  const thread: ImportThread = { worker, isReady: false, becomesReady, waits: 0, listeners }
  threads.set(db, thread)
  return thread
}

function errorOf({ message, code, cause }: ThreadFailure): Error {
  if (cause) return translateSqliteError(Object.assign(new Error(cause.message), cause)) as Error
  return code === 'storage_unavailable' ? new TillError(code, message) : new Error(message)
}
