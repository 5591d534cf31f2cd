import type { IncomingMessage } from 'node:http'
import { TillError } from '../lib/index.ts'
import { sendContinue } from './expect-continue.ts'
import { countJsonValues } from './json-scan.ts'
import type { Limits } from './limits.ts'
import type { Reservation } from './memory-budget.ts'
import { TransportFault } from './problems.ts'
import { waitForTurn } from './scheduler.ts'

/** Reads a request's body for its handler, and reserves the memory for it. */
export type BodyReader<Body> = (
  request: IncomingMessage,
  limits: Limits,
  memory: Reservation,
) => Promise<Body> | Body

/** The body reader for routes without a body. A body that is sent anyway is discarded. */
export const noBody: BodyReader<undefined> = () => undefined

/** Reads a JSON object. The library validates its fields. */
export async function json<Body>(
  request: IncomingMessage,
  limits: Limits,
  memory: Reservation,
): Promise<Body> {
  assertMediaType(request, 'application/json')
  const bytes = await collect(request, limits, memory)
  if (bytes.length > LARGE_BYTES) {
    await waitForTurn(memory.account) // parsing the largest body takes 20 ms
    if (request.socket.destroyed) throw hangUpError(request)
  }
  const values = countJsonValues(bytes, limits.jsonValues, limits.jsonDepth)
  if (values === 'too_many_values') {
    throw invalid(`The body may have at most ${limits.jsonValues} values, keys included`)
  }
  if (values === 'too_deep') throw invalid(`The body may nest at most ${limits.jsonDepth} deep`)
  memory.reserve(values * VALUE_BYTES + bytes.length * TEXT_BYTES)
  const body = parseJson(bytes)
  if (typeof body === 'object' && body !== null && !Array.isArray(body)) return body as Body
  throw invalid('The body must be a JSON object')
}

/** Picks the named fields of a body. The API ignores other fields, but the library rejects them. */
export function pick<Body extends object, Name extends keyof Body>(
  body: Body,
  ...names: readonly Name[]
): Pick<Body, Name> {
  return Object.fromEntries(names.map((name) => [name, body[name]])) as Pick<Body, Name>
}

/** The most bytes of memory for a parsed value, measured with 33,000 objects of different keys. */
const VALUE_BYTES = 70
/** The bytes of a character in V8, if the text has a character outside Latin-1. */
const TEXT_BYTES = 2
/** The size from which parsing waits for its turn. Smaller bodies are parsed within 0.2 ms. */
const LARGE_BYTES = 4 * 1024

/** Throws 415 for another Content-Type or a Content-Encoding. The Content-Type may be missing. */
export function assertMediaType(request: IncomingMessage, wanted: string): void {
  const { 'content-type': type, 'content-encoding': coding = 'identity' } = request.headers
  const essence = type?.split(';', 1)[0]?.trim().toLowerCase()
  if (essence !== undefined && essence !== wanted) {
    throw new TransportFault('unsupported_media_type', `The Content-Type must be ${wanted}`)
  }
  if (coding.toLowerCase() !== 'identity') {
    throw new TransportFault('unsupported_media_type', 'The body must have no Content-Encoding')
  }
}

/** `timeout`, in milliseconds, is for the whole body, or between chunks if `isTimedByChunk`. */
export interface BodyLimits {
  readonly bytes: number
  readonly timeout: number
  readonly isTimedByChunk?: boolean
}

/**
 * Passes each chunk of the body to `take`. While the promise of `take` is pending, the request is
 * paused. Rejects when `take` throws; the caller can then still discard the rest of the body. Uses
 * events, because an async iterator takes a quarter longer and destroys the request when a loop
 * ends early.
 */
export function receive(
  request: IncomingMessage,
  { bytes, timeout, isTimedByChunk = false }: BodyLimits,
  take: (chunk: Buffer) => Promise<void> | undefined,
): Promise<void> {
  assertSize(Number(request.headers['content-length'] ?? 0), bytes)
  if (request.destroyed) throw hangUpError(request) // a destroyed request emits no more events
  sendContinue(request)
  return new Promise((resolve, reject) => {
    let received = 0
    let isSettled = false
    let isPaused = false
    const settle = (error?: unknown) => {
      isSettled = true
      clearTimeout(timer)
      request.off('data', onData).off('end', settle).off('error', settle).off('close', onClose)
      if (error) reject(error)
      else resolve()
    }
    const onData = (chunk: Buffer) => {
      received += chunk.length
      if (isTimedByChunk) timer.refresh()
      try {
        assertSize(received, bytes)
        const taking = take(chunk)
        if (taking) pauseFor(taking)
      } catch (error) {
        settle(error)
      }
    }
    const pauseFor = async (taking: Promise<void>) => {
      isPaused = true
      request.pause()
      try {
        await taking
        isPaused = false
        if (isSettled) return
        timer.refresh()
        request.resume()
      } catch (error) {
        if (!isSettled) settle(error)
      }
    }
    const onClose = () => settle(hangUpError(request))
    const onTimeout = () => {
      if (!isPaused) settle(tooSlow())
    }
    const timer = setTimeout(onTimeout, timeout)
    request.on('data', onData).on('end', settle).on('error', settle).on('close', onClose)
  })
}

/**
 * Reads the whole body. Reserves memory as bytes arrive, not by the Content-Length. Copies the
 * chunks after the first into one buffer: a chunk of one byte would take 400 bytes of memory.
 */
async function collect(
  request: IncomingMessage,
  { jsonBytes, jsonTimeout }: Limits,
  memory: Reservation,
): Promise<Buffer> {
  let buffer: Buffer = Buffer.alloc(0)
  let length = 0
  const take = (chunk: Buffer) => {
    const size = length + chunk.length
    if (size > buffer.length) {
      const capacity = length === 0 ? size : Math.min(2 * size, jsonBytes)
      memory.reserve(capacity - buffer.length)
      buffer = length === 0 ? chunk : grow(buffer, length, capacity)
    }
    if (buffer !== chunk) chunk.copy(buffer, length)
    length = size
    return undefined
  }
  await receive(request, { bytes: jsonBytes, timeout: jsonTimeout }, take)
  return buffer.subarray(0, length)
}

function grow(buffer: Buffer, length: number, capacity: number): Buffer {
  const grown = Buffer.allocUnsafeSlow(capacity)
  buffer.copy(grown, 0, 0, length)
  return grown
}

function assertSize(size: number, limit: number): void {
  if (size <= limit) return
  throw new TransportFault('body_too_large', `The body may have at most ${limit} bytes`)
}

function hangUpError({ errored }: IncomingMessage): Error {
  return errored ?? new Error('the client hung up')
}

function tooSlow(): TransportFault {
  return new TransportFault('request_timeout', 'The body took too long to arrive')
}

function invalid(message: string): TillError {
  return new TillError('invalid_request', message)
}

const utf8 = new TextDecoder('utf-8', { fatal: true })

function parseJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(utf8.decode(bytes))
  } catch (error) {
    throw invalid(`The body is not JSON in UTF-8${positionOf(error)}`)
  }
}

// Returns only the position of a syntax error, because V8's message quotes the body.
function positionOf(error: unknown): string {
  const position = /at position \d+/.exec((error as Error).message)
  return position ? `, ${position[0]}` : ''
}
