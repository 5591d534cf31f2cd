import { Worker } from 'node:worker_threads'
import type { Connection } from './connection.ts'

/**
 * Keeps the WAL short while an import fills it, from a thread of its own: a checkpoint takes 20 to
 * 40 ms of writing and syncing, in which this thread serves and imports on (bench/: 0.94 of the
 * time where a second core is free). When the thread can not be had, SQLite checkpoints in this one
 * as ever.
 */
export interface Checkpoints {
  /** To be called after each transaction: waits when the WAL has become too long. */
  keepUp(): Promise<void>
  /** To be called when no more transactions follow. */
  end(): Promise<void>
}

/** Of an import, from one checkpoint to the next: a small import never starts the thread. */
const TRANSACTIONS = 8
/** 64 MiB: each wait for an empty WAL costs an import some 30 ms. */
const MAX_FRAMES = 16_000
/** SQLite's own. */
const AUTOMATIC_FRAMES = 1_000

/** One import's thread serves all others of the same connection. */
const served = new WeakSet<Connection>()

export function createCheckpoints(db: Connection): Checkpoints {
  const path = db.find('PRAGMA database_list')?.file as string
  let transactions = 0
  let thread: Thread | undefined
  let latest: Promise<number> = Promise.resolve(0)

  return {
    async keepUp() {
      if (++transactions % TRANSACTIONS !== 0 || path === '') return
      if (!served.has(db)) thread ??= startThread(db, path)
      if (!thread) return
      const frames = await latest
      latest = thread.checkpoint()
      if (frames > MAX_FRAMES) await latest
    },
    async end() {
      await latest
      await thread?.end()
    },
  }
}

interface Thread {
  /** Resolves to the number of frames in the WAL, to 0 when the thread is gone. One at a time. */
  checkpoint(): Promise<number>
  /** The same once more; then the thread is gone. */
  end(): Promise<void>
}

const GONE: Thread = { checkpoint: async () => 0, end: async () => {} }

function startThread(db: Connection, path: string): Thread {
  const worker = tryWorker({ path, driver: db.driver })
  if (!worker) return GONE
  let answer = (_frames: number) => {}
  let isGone = false
  const gone = new Promise<void>((resolve) => {
    worker.on('exit', () => {
      isGone = true
      served.delete(db)
      setAutomatic(db, AUTOMATIC_FRAMES)
      answer(0)
      resolve()
    })
  })
  worker.on('error', () => {}) // an exit follows
  worker.on('message', (frames: number) => {
    worker.unref()
    answer(frames)
  })
  served.add(db)
  setAutomatic(db, 2 * MAX_FRAMES)

  const ask = (isLast: boolean): Promise<number> =>
    new Promise((resolve) => {
      if (isGone) return resolve(0)
      answer = resolve
      worker.ref() // while someone waits
      worker.postMessage(isLast)
    })

  return {
    checkpoint: () => ask(false),
    async end() {
      await ask(true)
      worker.ref()
      await gone
    },
  }
}

/**
 * A thread that runs `checkpointer.ts`, compiled or as it is; undefined where there may be none.
 */
function tryWorker(workerData: object): Worker | undefined {
  const extension = import.meta.url.slice(-3)
  try {
    return new Worker(new URL(`./checkpointer${extension}`, import.meta.url), {
      workerData,
      resourceLimits: { maxYoungGenerationSizeMb: 1 },
    })
  } catch {
    return undefined
  }
}

// The connection may be closed by now: then there is nothing to set.
function setAutomatic(db: Connection, frames: number): void {
  try {
    db.exec(`PRAGMA wal_autocheckpoint = ${frames}`)
  } catch {}
}
