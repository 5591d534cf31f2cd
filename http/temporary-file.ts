import { randomUUID } from 'node:crypto'
import { open, unlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { spareBytes } from '../lib/disk-space.ts'
import { TillError } from '../lib/index.ts'

/** The temporary file of an upload. Call `flush` after the last `write`, before `read`. */
export type TemporaryFile = Awaited<ReturnType<typeof createTemporaryFile>>

const WRITE_BYTES = 512 * 1024
const READ_BYTES = 256 * 1024

/**
 * Creates a temporary file. Unlinks it at once: then not even `kill -9` leaves it behind. Leaves the
 * reserve of the disk free, because the database may be on the same one.
 */
export async function createTemporaryFile() {
  const path = join(tmpdir(), `tillkit-${randomUUID()}`)
  const file = await asUnavailable(open(path, 'wx+', 0o600))
  // Windows cannot unlink an open file; there, `discard` unlinks it.
  const unlinked = await unlink(path).then(
    () => true,
    () => false,
  )
  let size = 0
  let pending: Uint8Array[] = []
  let pendingBytes = 0
  let writing: Promise<unknown> = Promise.resolve()

  const flush = async () => {
    await writing
    if (pending.length === 0) return
    if (spareBytes(tmpdir()) < pendingBytes) throw noRoom()
    writing = asUnavailable(file.writev(pending, size))
    writing.catch(() => {}) // avoids an unhandled rejection: the next `await writing` rejects
    size += pendingBytes
    pending = []
    pendingBytes = 0
  }

  return {
    /**
     * Writes chunks. Keeps references to them, so the caller must not change them. Await the promise
     * before the next call. Returns before the data is written: the next chunks arrive meanwhile.
     */
    write(chunks: readonly Uint8Array[]): Promise<void> | undefined {
      for (const chunk of chunks) {
        addChunk(pending, chunk)
        pendingBytes += chunk.length
      }
      return pendingBytes >= WRITE_BYTES ? flush() : undefined
    },
    /** Resolves when all chunks have been written to the file. */
    async flush() {
      await flush()
      await writing
    },
    read: () => file.createReadStream({ start: 0, autoClose: false, highWaterMark: READ_BYTES }),
    async discard() {
      await file.close()
      if (!unlinked) await unlink(path)
    },
  }
}

/** Turns a full disk or too many open files into 503: the client can try again later. */
async function asUnavailable<T>(work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    const { code } = error as { code?: string }
    if (code !== 'ENOSPC' && code !== 'EDQUOT' && code !== 'EMFILE') throw error
    throw noRoom()
  }
}

function noRoom(): TillError {
  return new TillError('storage_unavailable', 'There is no room for the upload right now')
}

/** The maximum number of unwritten chunks. Chunks of 512 bytes or more never reach it. */
const MAX_CHUNKS = 1024

/**
 * Adds a chunk. Joins more than `MAX_CHUNKS` into one, because even a chunk of one byte takes 400
 * bytes of memory.
 */
function addChunk(chunks: Uint8Array[], chunk: Uint8Array): void {
  chunks.push(chunk)
  if (chunks.length > MAX_CHUNKS) chunks.splice(0, chunks.length, Buffer.concat(chunks))
}
