import { excerpt, MAX_LAYOUT_BYTES, MAX_SKUS_BYTES, TillError } from '../lib/index.ts'
import { assertMediaType, type BodyReader, type RequestBody, receiveBody } from './body.ts'
import type { Limits } from './limits.ts'
import { createMultipartParser, MultipartError, parseBoundary } from './multipart.ts'
import { TransportFault } from './problems.ts'
import { createTemporaryFile, type TemporaryFile } from './temporary-file.ts'

/** A received multipart form. */
export interface Upload {
  /** The parts other than `file`, as text. */
  readonly fields: ReadonlyMap<string, string>
  /** The content of the part `file`; undefined if the form has none. */
  readonly file: AsyncIterable<Uint8Array> | undefined
  /** The file name as the client sent it; undefined if it sent none. */
  readonly fileName: string | undefined
  /** Deletes the temporary file; must be called. */
  discard(): Promise<void>
}

/**
 * Reads a whole `multipart/form-data` body, and writes the part `file` to a temporary file. The
 * import begins only after the body has arrived and is well-formed. The parts may therefore come in
 * any order, and a slow sender keeps no import open. Pauses the request while the disk is slower
 * than the client.
 */
export const form: BodyReader<Upload> = async (body, limits, memory) => {
  assertMediaType(body, 'multipart/form-data')
  const boundary = parseBoundary(body.header('content-type'))
  if (!boundary) throw new TransportFault('malformed_request', 'The Content-Type has no boundary')
  memory.reserve(limits.uploadMemory)
  const file = await createTemporaryFile()
  try {
    return await readParts(body, boundary, file, limits)
  } catch (error) {
    await file.discard()
    throw error instanceof MultipartError
      ? new TransportFault('malformed_request', error.message)
      : error
  }
}

interface Part {
  readonly name: string
  /** Whether the client sent it with a file name. */
  readonly isFile: boolean
  readonly chunks: Uint8Array[]
  size: number
}

async function readParts(
  body: RequestBody,
  boundary: string,
  file: TemporaryFile,
  limits: Limits,
): Promise<Upload> {
  const fields = new Map<string, string>()
  let files = 0
  let fileName: string | undefined
  let part: Part = { name: '', isFile: false, chunks: [], size: 0 }
  let arrived: Uint8Array[] = []

  const parser = createMultipartParser(
    boundary,
    {
      part({ name, filename }) {
        if (name === 'file' && ++files > 1) throw repeated('file')
        if (name === 'file') fileName = filename
        if (fields.has(name)) throw repeated(name)
        part = { name, isFile: filename !== undefined, chunks: [], size: 0 }
      },
      data(chunk) {
        part.size += chunk.length
        if (part.name === 'file') arrived.push(chunk)
        else if (part.size <= bytesOf(part.name, limits))
          // Copies the chunk: as a view, it would keep a larger buffer in memory.
          part.chunks.push(Buffer.from(chunk))
        else throw fieldTooLarge(part, bytesOf(part.name, limits))
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
  await receiveBody(body, bounds, (chunk) => {
    arrived = []
    parser.push(chunk)
    return file.write(arrived)
  })
  parser.end()
  await file.flush()
  return { fields, file: files > 0 ? file.read() : undefined, fileName, discard: file.discard }
}

function repeated(name: string): TillError {
  return invalidPart(name, 'repeated', 'may be sent only once')
}

function invalidPart(name: string, code: string, message: string): TillError {
  const field = excerpt(name)
  return new TillError('invalid_request', `The part ${field} ${message}`, [
    { field, code, message },
  ])
}

/** The parts that are files themselves, and their maximum bytes. */
const SMALL_FILES = new Map([
  ['layout', MAX_LAYOUT_BYTES],
  ['skus', MAX_SKUS_BYTES],
])

function bytesOf(name: string, limits: Limits): number {
  return SMALL_FILES.get(name) ?? limits.fieldBytes
}

function fieldTooLarge(part: Part, limit: number): TransportFault {
  const message = `The part ${excerpt(part.name)} may have at most ${limit} bytes${hintOn(part)}`
  return new TransportFault('body_too_large', message)
}

function decodeField(part: Part): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(part.chunks))
  } catch {
    throw invalidPart(part.name, 'invalid', `must be text in UTF-8${hintOn(part)}`)
  }
}

/** Helps a client that sends the purchase file as a part with another name. */
function hintOn({ name, isFile }: Part): string {
  return isFile && !SMALL_FILES.has(name) ? ': send the purchase file as the part file' : ''
}
