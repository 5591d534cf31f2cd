import { randomUUID } from 'node:crypto'
import { type FileHandle, open, unlink } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { excerpt, TillError } from '../lib/index.ts'
import { assertMediaType, type BodyReader, receive } from './body.ts'
import type { Limits } from './limits.ts'
import { createMultipartParser, MultipartError, parseBoundary } from './multipart.ts'
import { TransportFault } from './problems.ts'

/** A form with one part named `file`, read to its end. */
export interface Upload {
  /** The other parts, as text. */
  readonly fields: ReadonlyMap<string, string>
  /** The bytes of the part named `file`; undefined when there was none. */
  readonly file: AsyncIterable<Uint8Array> | undefined
  /** Frees what the file takes; must be called. */
  discard(): Promise<void>
}

/**
 * Reads a `multipart/form-data` body. The file goes to a nameless temporary file: so parts may come
 * in any order, a body that turns out malformed has done nothing yet, and a slow sender holds no
 * more than a file descriptor. Its bytes are waited for chunk by chunk, which holds the sender
 * back.
 */
export const form: BodyReader<Upload> = async (request, limits, memory) => {
  assertMediaType(request, 'multipart/form-data')
  const boundary = parseBoundary(request.headers['content-type'])
  if (!boundary) throw new TransportFault('malformed_request', 'The Content-Type has no boundary')
  memory.reserve(limits.uploadMemory)
  const spool = await createSpool()
  try {
    return await readParts(request, boundary, spool, limits)
  } catch (error) {
    await spool.discard()
    throw error instanceof MultipartError
      ? new TransportFault('malformed_request', error.message)
      : error
  }
}

async function readParts(
  request: IncomingMessage,
  boundary: string,
  spool: Spool,
  limits: Limits,
): Promise<Upload> {
  const fields = new Map<string, string>()
  let files = 0
  let part = { name: '', chunks: [] as Uint8Array[], size: 0 }
  let arrived: Uint8Array[] = []

  const parser = createMultipartParser(
    boundary,
    {
      part({ name }) {
        if (name === 'file' && ++files > 1) throw repeated('file')
        if (fields.has(name)) throw repeated(name)
        part = { name, chunks: [], size: 0 }
      },
      data(chunk) {
        part.size += chunk.length
        if (part.name === 'file') arrived.push(chunk)
        else if (part.size <= limits.fieldBytes)
          part.chunks.push(Buffer.from(chunk)) // a copy: it is a view of far more
        else throw fieldTooLarge(limits.fieldBytes)
      },
      partEnd() {
        if (part.name !== 'file') fields.set(part.name, decodeField(part))
      },
    },
    { maxParts: limits.formParts },
  )

  const bounds = {
    bytes: limits.uploadBytes,
    timeout: limits.uploadIdleTimeout,
    isTimedByChunk: true,
  }
  await receive(request, bounds, (chunk) => {
    arrived = []
    parser.push(chunk)
    return spool.write(arrived)
  })
  parser.end()
  await spool.flush()
  return { fields, file: files > 0 ? spool.read() : undefined, discard: spool.discard }
}

function repeated(name: string): TillError {
  const field = excerpt(name)
  const details = [{ field, code: 'repeated', message: 'may be sent only once' }]
  return new TillError('invalid_request', `The part ${field} may be sent only once`, details)
}

function fieldTooLarge(limit: number): TransportFault {
  const message = `A part that is not named file may have at most ${limit} bytes`
  return new TransportFault('body_too_large', message)
}

function decodeField({ name, chunks }: { name: string; chunks: Uint8Array[] }): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks))
  } catch {
    const field = excerpt(name)
    const details = [{ field, code: 'invalid', message: 'must be text in UTF-8' }]
    throw new TillError('invalid_request', `The part ${field} must be text in UTF-8`, details)
  }
}

/** More chunks than an honest sender's body comes in. */
const MANY_CHUNKS = 1024

/**
 * Adds a chunk to those before, and makes them one when they are many: a chunk of one byte takes
 * 400, and a body that comes in such chunks would take a hundred times its size.
 */
function gather(chunks: Uint8Array[], chunk: Uint8Array): void {
  chunks.push(chunk)
  if (chunks.length > MANY_CHUNKS) chunks.splice(0, chunks.length, Buffer.concat(chunks))
}

interface Spool {
  /**
   * Takes chunks, which are then its own. What it returns is to be waited for: the disk is slower
   * than they come.
   */
  write(chunks: readonly Uint8Array[]): Promise<void> | undefined
  /** Resolves when all that was taken is in the file. */
  flush(): Promise<void>
  read(): AsyncIterable<Uint8Array>
  discard(): Promise<void>
}

const WRITE_BYTES = 512 * 1024
const READ_BYTES = 256 * 1024

/** A temporary file without a name, so that not even `kill -9` leaves it behind. */
async function createSpool(): Promise<Spool> {
  const path = join(tmpdir(), `tillkit-${randomUUID()}`)
  const file = await storageFault(open(path, 'wx+', 0o600))
  // Windows keeps a name as long as the file is open; there it goes when the file is closed.
  const unlinked = await unlink(path).then(
    () => true,
    () => false,
  )
  let size = 0
  let gathered: Uint8Array[] = []
  let gatheredBytes = 0
  let writing: Promise<unknown> = Promise.resolve()

  const flush = async () => {
    await writing
    if (gathered.length === 0) return
    writing = storageFault(file.writev(gathered, size))
    writing.catch(() => {}) // whoever waits for it next is told
    size += gatheredBytes
    gathered = []
    gatheredBytes = 0
  }

  return {
    // The next bytes arrive while these are written.
    write(chunks) {
      for (const chunk of chunks) {
        gather(gathered, chunk)
        gatheredBytes += chunk.length
      }
      return gatheredBytes >= WRITE_BYTES ? flush() : undefined
    },
    async flush() {
      await flush()
      await writing
    },
    // Two buffers: one is read into while the other is used. Each chunk is good until the next one
    // is asked for.
    async *read() {
      const length = Math.min(READ_BYTES, size)
      const buffers = [Buffer.allocUnsafe(length), Buffer.allocUnsafe(length)] as const
      const load = (position: number) => {
        const buffer = buffers[(position / READ_BYTES) % 2 === 0 ? 0 : 1]
        const chunk = buffer.subarray(0, Math.max(0, Math.min(length, size - position)))
        const loaded = fill(chunk, file, position)
        loaded.catch(() => {})
        return loaded
      }
      let loading = load(0)
      for (let position = 0; position < size; position += READ_BYTES) {
        const chunk = await loading
        loading = load(position + READ_BYTES)
        yield chunk
      }
    },
    async discard() {
      await file.close()
      if (!unlinked) await unlink(path)
    },
  }
}

async function fill(chunk: Buffer, file: FileHandle, position: number): Promise<Buffer> {
  for (let read = 0; read < chunk.length; ) {
    const { bytesRead } = await file.read(chunk, read, chunk.length - read, position + read)
    if (bytesRead === 0) throw new Error('the temporary file became shorter')
    read += bytesRead
  }
  return chunk
}

/**
 * A full disk is the operator's to mend and the client's to wait for, not a fault in the program.
 */
async function storageFault<T>(work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    const { code } = error as { code?: string }
    if (code !== 'ENOSPC' && code !== 'EDQUOT' && code !== 'EMFILE') throw error
    throw new TillError('storage_unavailable', 'There is no room for the upload right now')
  }
}
