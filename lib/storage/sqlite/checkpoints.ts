import type { Connection } from './connection.ts'
import { startFileThread } from './thread.ts'

/**
 * Keeps the WAL short during an import. A worker thread makes the checkpoints, which take 20 to 40
 * ms, while this thread continues. With a second core, an import takes 0.94 of the time (bench/).
 * If no thread can be started, SQLite makes the checkpoints in this thread.
 */
export interface Checkpoints {
  /** Call it after each transaction. Waits if the WAL is too long. */
  keepUp(): Promise<void>
  /** Makes a last checkpoint, and stops the thread. Call it after the last transaction. */
  end(): Promise<void>
}

/** The number of transactions between two checkpoints. A small import never starts the thread. */
const TRANSACTIONS = 32
/** The length of the WAL, 64 MiB, at which an import waits for a checkpoint, some 30 ms. */
const MAX_FRAMES = 16_000
/** The number of frames at which SQLite itself makes a checkpoint; SQLite's default. */
const AUTOMATIC_FRAMES = 1_000

/** The connections that have a checkpoint thread. Imports on one connection share the thread. */
const served = new WeakSet<Connection>()

export function createCheckpoints(db: Connection): Checkpoints {
  let transactions = 0
  let thread: Thread | undefined
  let latest: Promise<number> = Promise.resolve(0)

  return {
    async keepUp() {
      if (++transactions % TRANSACTIONS !== 0) return
      if (!served.has(db)) thread ??= startCheckpointer(db)
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
  /**
   * Makes a checkpoint. Resolves to the number of frames in the WAL, or to 0 after the end of the
   * thread. Call it again only after it has resolved.
   */
  checkpoint(): Promise<number>
  /** Makes a last checkpoint, and ends the thread. */
  end(): Promise<void>
}

const ENDED: Thread = { checkpoint: async () => 0, end: async () => {} }

function startCheckpointer(db: Connection): Thread {
  const worker = startFileThread(db, 'checkpointer', 1)
  if (!worker) return ENDED
  let answer = (_frames: number) => {}
  let hasEnded = false
  const ended = new Promise<void>((resolve) => {
    worker.on('exit', () => {
      hasEnded = true
      served.delete(db)
      setAutomatic(db, AUTOMATIC_FRAMES)
      answer(0)
      resolve()
    })
  })
  worker.on('error', () => {}) // ignored, because an 'exit' event follows
  worker.on('message', (frames: number) => {
    worker.unref()
    answer(frames)
  })
  served.add(db)
  setAutomatic(db, 2 * MAX_FRAMES)

  const ask = (isLast: boolean): Promise<number> =>
    new Promise((resolve) => {
      if (hasEnded) return resolve(0)
      answer = resolve
      worker.ref() // keeps the process alive until the answer
      worker.postMessage(isLast)
    })

  return {
    checkpoint: () => ask(false),
    async end() {
      await ask(true)
      void worker.terminate()
      await ended
    },
  }
}

// Ignores failures, because the connection may already be closed.
function setAutomatic(db: Connection, frames: number): void {
  try {
    db.exec(`PRAGMA wal_autocheckpoint = ${frames}`)
  } catch {}
}
