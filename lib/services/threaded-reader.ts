import { availableParallelism } from 'node:os'
import type { Worker } from 'node:worker_threads'
import type { Batch, BatchNotes } from '../csv/batches.ts'
import type { LayoutOptions } from '../csv/layout.ts'
import { type PackedRows, unpackRows } from '../csv/packed-rows.ts'
import type { PurchaseRules } from '../domain/purchase.ts'
import { startThread } from '../threads.ts'

/** Parses the bytes of a purchase file. Passes each batch of rows to `take`, in order. */
export interface FileReader {
  /** Resolves when the reader can take more bytes. Copies the chunk if it needs it later. */
  push(chunk: Uint8Array): Promise<void>
  /** Resolves to the SHA-256 of the file after the last batch was taken. */
  end(): Promise<string>
  close(): Promise<void>
}

/** The reader waits for the promise before it passes the next batch. */
export type TakeBatch = (batch: Batch) => Promise<void>

/** A chunk of the file, or its end. */
export type ToThread = Uint8Array | 'end'

/** The answer to a chunk. `sha256` is '' before the end of the file. */
export interface FromThread extends BatchNotes {
  readonly packed: PackedRows
  readonly sha256: string
}

/** The chunks that the thread has or has answered, and whose rows are not taken yet. */
const MAX_CHUNKS = 4
const YOUNG_MB = 24

let running = 0

/**
 * Starts a reader that parses in a thread, while this thread stores the rows of earlier chunks.
 * Both threads exchange buffers, which are moved instead of copied. Resolves to undefined if the
 * thread can not start, or if each processor but one already has such a thread.
 */
export async function startReadingThread(
  rules: PurchaseRules,
  options: LayoutOptions,
  take: TakeBatch,
): Promise<FileReader | undefined> {
  if (running >= availableParallelism() - 1) return undefined
  const worker = startThread('services/reading-thread', { rules, options }, YOUNG_MB)
  if (!worker) return undefined
  running++
  worker.on('exit', () => {
    running--
  })
  const nextAnswer = answersOf(worker)
  try {
    await nextAnswer() // 'ready'
  } catch {
    return undefined // Node 20 runs no TypeScript in threads, even with tsx
  }
  return createReader(worker, nextAnswer, take)
}

function createReader(
  worker: Worker,
  nextAnswer: () => Promise<FromThread>,
  take: TakeBatch,
): FileReader {
  let chunks = 0

  const takeNext = async (): Promise<string> => {
    const { packed, sha256, ...notes } = await nextAnswer()
    chunks--
    await take({ ...notes, rows: unpackRows(packed) })
    return sha256
  }

  return {
    async push(chunk) {
      const copy = new Uint8Array(chunk)
      worker.postMessage(copy satisfies ToThread, [copy.buffer])
      chunks++
      while (chunks >= MAX_CHUNKS) await takeNext()
    },
    async end() {
      worker.postMessage('end' satisfies ToThread)
      chunks++
      while (chunks > 1) await takeNext()
      return takeNext()
    },
    async close() {
      await worker.terminate()
    },
  }
}

/** Returns a function that waits for the next message. It rejects if the thread ends before. */
function answersOf(worker: Worker): () => Promise<FromThread> {
  const answers: FromThread[] = []
  let failure: unknown
  let wake = () => {}
  worker.on('message', (answer: FromThread) => {
    answers.push(answer)
    wake()
  })
  worker.on('error', (error) => {
    failure = error
    wake()
  })
  worker.on('exit', () => {
    failure ??= new Error('the thread that parses the file has ended')
    wake()
  })
  return async () => {
    while (answers.length === 0 && failure === undefined) {
      await new Promise<void>((resolve) => {
        wake = resolve
      })
    }
    const answer = answers.shift()
    if (answer === undefined) throw failure
    return answer
  }
}
