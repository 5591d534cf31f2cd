import { createHash } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import { createBatchParser } from '../csv/batches.ts'
import type { LayoutOptions } from '../csv/layout.ts'
import type { PurchaseRules } from '../domain/purchase.ts'
import { type FileReader, startReadingThread, type TakeBatch } from './threaded-reader.ts'

const CHUNK_BYTES = 32 * 1024
// 32 KiB may hold 11,000 bad rows. After a batch with many of them, the reader yields to the event
// loop and reads smaller chunks.
const MANY_BAD_ROWS = 100
const BAD_CHUNK_BYTES = 2 * 1024

/**
 * Creates a reader. It parses a small file in this thread. It holds the first `threadBytes` bytes;
 * if the file has more, it starts a thread.
 */
export function createFileReader(
  rules: PurchaseRules,
  options: LayoutOptions,
  threadBytes: number,
  take: TakeBatch,
): FileReader {
  let chunkBytes = CHUNK_BYTES
  let held = new Uint8Array()
  let heldBytes = 0

  const takeBatch: TakeBatch = async (batch) => {
    await take(batch)
    const isMostlyBad = batch.faults.length + batch.passedOver >= MANY_BAD_ROWS
    if (isMostlyBad) await setImmediate()
    chunkBytes = isMostlyBad ? BAD_CHUNK_BYTES : CHUNK_BYTES
  }

  const startHere = () => createReader(rules, options, takeBatch)
  let reader = threadBytes === Number.POSITIVE_INFINITY ? startHere() : undefined

  const feed = async (target: FileReader, bytes: Uint8Array) => {
    for (let start = 0; start < bytes.length; ) {
      const chunk = bytes.subarray(start, start + chunkBytes)
      await target.push(chunk)
      start += chunk.length
    }
  }

  const start = async (isLarge: boolean): Promise<FileReader> => {
    const thread = isLarge ? await startReadingThread(rules, options, takeBatch) : undefined
    reader = thread ?? startHere()
    await feed(reader, held.subarray(0, heldBytes))
    held = new Uint8Array()
    return reader
  }

  return {
    async push(chunk) {
      if (reader) return feed(reader, chunk)
      if (heldBytes + chunk.length > threadBytes) return feed(await start(true), chunk)
      if (held.length === 0) held = new Uint8Array(threadBytes)
      held.set(chunk, heldBytes)
      heldBytes += chunk.length
    },
    async end() {
      const last = reader ?? (await start(false))
      return last.end()
    },
    async close() {
      await reader?.close()
    },
  }
}

/** Creates a reader that parses in this thread. */
function createReader(rules: PurchaseRules, options: LayoutOptions, take: TakeBatch): FileReader {
  const parser = createBatchParser(rules, options)
  const hash = createHash('sha256')
  return {
    push(chunk) {
      hash.update(chunk)
      return take(parser.push(chunk))
    },
    async end() {
      await take(parser.end())
      return hash.digest('hex')
    },
    async close() {},
  }
}
