import type { Readable } from 'node:stream'
import { TillError } from '../lib/index.ts'
import { mainThread } from '../lib/turns.ts'
import type { Reservation } from './in-flight.ts'
import { countJsonValues, tooDeep } from './json-scan.ts'
import type { Limits } from './limits.ts'
import { TransportFault } from './problems.ts'

/** A request with its body, of `node:http` or of fetch. */
export interface RequestBody {
  header(name: string): string | undefined
  /** Whether other code, such as middleware, has read the body, completely or in part. */
  readonly isBodyRead: boolean
  /** The body as parsed by earlier middleware; undefined unless that has read the whole body. */
  readonly parsedBody: unknown
  /** The error that reports that the client disconnected; undefined while it is connected. */
  readonly hangUp: Error | undefined
  /** The stream of the body; undefined if there is none. Tells a waiting client to send the body. */
  openBody(): Readable | undefined
}

/**
 * The limits of a body. `timeout` is in milliseconds. It covers the whole body or, with
 * `isTimedByChunk`, the wait for each chunk.
 */
interface BodyLimits {
  readonly bytes: number
  readonly timeout: number
  readonly isTimedByChunk?: boolean
}

/** Reads a request's body for its handler, and reserves the memory for it. */
export type BodyReader<Body> = (
  body: RequestBody,
  limits: Limits,
  memory: Reservation,
) => Promise<Body> | Body

/** The body reader for routes without a body. A body that is sent anyway is discarded. */
export const noBody: BodyReader<undefined> = () => undefined

/** Reads a JSON object. The library validates its fields. */
export async function json<Body>(
  body: RequestBody,
  limits: Limits,
  memory: Reservation,
  isOptional = false,
): Promise<Body> {
  assertMediaType(body, 'application/json')
  if (body.isBodyRead) return parsedByHost(body, limits, memory) as Body
  const bytes = await collect(body, limits, memory)
  if (isOptional && bytes.length === 0) return {} as Body
  if (bytes.length <= LARGE_BYTES) return parseBytes(bytes, limits, memory) as Body
  return mainThread.run(memory.account, async () => {
    if (body.hangUp) throw body.hangUp
    return parseBytes(bytes, limits, memory) as Body // takes up to 20 ms
  })
}

/** Reads a JSON object. An empty body counts as an object without fields. */
export const optionalJson: BodyReader<object> = (...args) => json(...args, true)

/**
 * Returns the body that earlier middleware has parsed, if it is within the limits of JSON bodies.
 */
function parsedByHost(
  { parsedBody: parsed }: RequestBody,
  limits: Limits,
  memory: Reservation,
): object {
  if (parsed === undefined) throw alreadyRead()
  const bytes = parsed instanceof Uint8Array ? parsed : Buffer.from(textOf(parsed, limits))
  assertSize(bytes.length, limits.jsonBytes)
  return parseBytes(bytes, limits, memory)
}

function textOf(parsed: unknown, limits: Limits): string {
  if (typeof parsed === 'string') return parsed
  try {
    return JSON.stringify(parsed) ?? 'null' // undefined for a function or a symbol
  } catch (error) {
    // JSON.stringify overflows the stack when the body is nested too deeply.
    throw error instanceof RangeError ? tooDeep(limits) : notAnObject()
  }
}

function parseBytes(bytes: Uint8Array, limits: Limits, memory: Reservation): object {
  const values = countJsonValues(bytes, limits)
  memory.reserve(values * VALUE_BYTES + bytes.length * TEXT_BYTES)
  const body = parseJson(bytes)
  if (typeof body === 'object' && body !== null && !Array.isArray(body)) return body
  throw notAnObject()
}

function notAnObject(): TillError {
  return invalid('The body must be a JSON object')
}

/** The most bytes of memory that one parsed value takes, measured with 33,000 different objects. */
const VALUE_BYTES = 70
/** The bytes that V8 uses for each character of a text that does not fit into Latin-1. */
const TEXT_BYTES = 2
/**
 * Bodies of at least this size wait for a turn to be parsed. A smaller one takes at most 0.2 ms.
 */
const LARGE_BYTES = 4 * 1024

/**
 * Throws 415 if the Content-Type is not `wanted`, or if the body is compressed. The Content-Type may
 * be missing unless `isRequired`.
 */
export function assertMediaType(body: RequestBody, wanted: string, isRequired = false): void {
  const type = body.header('content-type')
  const coding = body.header('content-encoding') ?? 'identity'
  const essence = type?.split(';', 1)[0]?.trim().toLowerCase()
  if (essence !== wanted && (isRequired || essence !== undefined)) {
    throw new TransportFault('unsupported_media_type', `The Content-Type must be ${wanted}`)
  }
  if (coding.toLowerCase() !== 'identity') {
    throw new TransportFault('unsupported_media_type', 'The body must have no Content-Encoding')
  }
}

/**
 * Passes each chunk of a body to `take`. While the promise of `take` is pending, the stream is
 * paused. Rejects when `take` throws, when a limit is exceeded, and when the client hangs up; the
 * caller can then still discard the rest of the body. Uses events, because an async iterator takes a
 * quarter longer and destroys the stream when a loop ends early.
 */
export async function receiveBody(
  body: RequestBody,
  { bytes, timeout, isTimedByChunk = false }: BodyLimits,
  take: (chunk: Buffer) => Promise<void> | undefined,
): Promise<void> {
  if (body.isBodyRead) throw alreadyRead()
  assertSize(Number(body.header('content-length') ?? 0), bytes)
  const stream = body.openBody()
  if (!stream) return
  if (stream.destroyed) throw hangUpError(stream) // a destroyed stream emits no more events
  return new Promise((resolve, reject) => {
    let received = 0
    let isSettled = false
    let isPaused = false
    const stop = () => {
      isSettled = true
      clearTimeout(timer)
      stream.off('data', onData).off('end', onEnd).off('error', fail).off('close', onClose)
    }
    const fail = (error: unknown) => {
      if (isSettled) return
      stop()
      stream.pause() // the rest waits until the caller discards it
      reject(error)
    }
    const resume = () => {
      if (isSettled) return
      isPaused = false
      timer.refresh()
      stream.resume()
    }
    const onData = (chunk: Buffer) => {
      received += chunk.length
      if (isTimedByChunk) timer.refresh()
      try {
        assertSize(received, bytes)
        const taking = take(chunk)
        if (!taking) return
        isPaused = true
        stream.pause()
        taking.then(resume, fail)
      } catch (error) {
        fail(error)
      }
    }
    const onEnd = () => {
      stop()
      resolve()
    }
    const onClose = () => fail(hangUpError(stream))
    const onTimeout = () => {
      if (isPaused) return
      fail(new TransportFault('request_timeout', 'The body took too long to arrive'))
    }
    const timer = setTimeout(onTimeout, timeout)
    stream.on('data', onData).on('end', onEnd).on('error', fail).on('close', onClose)
  })
}

/** The error of a stream that a client has ended too early. */
export function hangUpError({ errored }: Readable): Error {
  return errored ?? new Error('the client hung up')
}

/**
 * Reads the whole body. Reserves memory as bytes arrive, not by the Content-Length. Joins the
 * chunks in one buffer, because a separate chunk of one byte takes 400 bytes of memory.
 */
async function collect(
  body: RequestBody,
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
  await receiveBody(body, { bytes: jsonBytes, timeout: jsonTimeout }, take)
  return buffer.subarray(0, length)
}

function grow(buffer: Buffer, length: number, capacity: number): Buffer {
  const grown = Buffer.allocUnsafeSlow(capacity)
  buffer.copy(grown, 0, 0, length)
  return grown
}

function alreadyRead(): TransportFault {
  const message = 'A middleware has read the body: mount tillkit before body parsers'
  return new TransportFault('body_already_read', message)
}

/** Throws 413 if a body has too many bytes. */
function assertSize(size: number, limit: number): void {
  if (size <= limit) return
  throw new TransportFault('body_too_large', `The body may have at most ${limit} bytes`)
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
