import { once } from 'node:events'
import { setTimeout } from 'node:timers/promises'
import type { TotalsWriter } from '../totalizer.ts'
import type { Connection } from './connection.ts'
import { startFileThread } from './thread.ts'
import { addToTotals } from './totals.ts'

/** A slice in a thread takes some 0.1 s, one in the main thread 10 ms. */
export const THREAD_ROWS = 20_000
const MAIN_ROWS = 1_000
const YOUNG_MB = 4

/** Opens a writer that works in a thread, or in this thread if no other one can be started. */
export async function openTotalsWriter(db: Connection): Promise<TotalsWriter> {
  const thread = await startWriter(db)
  return thread ?? { add: (store) => addHere(db, store), end: async () => {} }
}

/** Adds a slice in this thread, then pauses for as long as that took, to let other work run. */
async function addHere(db: Connection, store: number): Promise<boolean> {
  const start = performance.now()
  const isMore = await db.lazyTransaction(() => addToTotals(db, store, MAIN_ROWS))
  await setTimeout(performance.now() - start)
  return isMore
}

/** Starts `totals-thread.ts`. Resolves to undefined if it cannot run. */
async function startWriter(db: Connection): Promise<TotalsWriter | undefined> {
  const worker = startFileThread(db, 'totals-thread', YOUNG_MB)
  if (!worker) return undefined
  const ended = new AbortController()
  worker.on('error', () => {}) // also rejects `nextMessage`
  worker.on('exit', () => ended.abort())
  const nextMessage = async (): Promise<boolean> => {
    const [isMore] = await once(worker, 'message', { signal: ended.signal })
    return isMore
  }
  const ask = (store: number | 'end'): Promise<boolean> => {
    worker.postMessage(store)
    return nextMessage()
  }
  try {
    await nextMessage() // resolves when the thread is ready
  } catch {
    return undefined // Node 20 runs no TypeScript in threads, even with tsx
  }
  return {
    add: ask,
    async end() {
      await ask('end').catch(() => {})
      await worker.terminate()
    },
  }
}
