import type { IncomingMessage } from 'node:http'
import { TillError } from '../lib/index.ts'
import { sendContinue } from './expectation.ts'
import { countJsonValues } from './json-scan.ts'
import type { Limits } from './limits.ts'
import type { Reservation } from './memory-budget.ts'
import { TransportFault } from './problems.ts'
import { nextTurn } from './turns.ts'

/** Reads a request's body into what its handler takes, and reserves the memory that this takes. */
export type BodyReader<Body> = (
  request: IncomingMessage,
  limits: Limits,
  memory: Reservation,
) => Promise<Body> | Body

/** For routes that take no body; one that is sent anyway is thrown away. */
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
    await nextTurn(memory.account) // the largest takes 20 ms
    if (request.socket.destroyed) throw hangUp(request)
  }
  const values = countJsonValues(bytes, limits.jsonValues, limits.jsonDepth)
  if (values === 'too_many_values') {
    throw invalid(`The body may have at most ${limits.jsonValues} values, keys among them`)
  }
  if (values === 'too_deep') throw invalid(`The body may nest at most ${limits.jsonDepth} deep`)
  memory.reserve(values * VALUE_BYTES + bytes.length * TEXT_BYTES)
  const body = parseJson(bytes)
  if (typeof body === 'object' && body !== null && !Array.isArray(body)) return body as Body
  throw invalid('The body must be a JSON object')
}

/** The named fields of a body. The API ignores other fields; the library refuses them. */
export function pick<Body extends object, Name extends keyof Body>(
  body: Body,
  ...names: readonly Name[]
): Pick<Body, Name> {
  return Object.fromEntries(names.map((name) => [name, body[name]])) as Pick<Body, Name>
}

/** The most that a parsed value takes: an object with a key like no other (33,000 of them). */
const VALUE_BYTES = 70
/** A byte of text takes two in memory as soon as one letter is beyond Latin-1. */
const TEXT_BYTES = 2
/** Smaller bodies are parsed at once: in 0.2 ms at most. */
const LARGE_BYTES = 4 * 1024

/** Guards a body's type and coding. A missing Content-Type is taken for the one that is wanted. */
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

/** The bounds of a body: in all, and in milliseconds for all of it or from chunk to chunk. */
export interface BodyLimits {
  readonly bytes: number
  readonly timeout: number
  readonly isTimedByChunk?: boolean
}

/**
 * Gives the body's chunks to `take`, and holds the sender back while that works on one. Rejects
 * with what `take` throws; the rest of the body can then be discarded. By events: an async iterator
 * takes a quarter longer, and one that is left halfway keeps the request from flowing.
 */
export function receive(
  request: IncomingMessage,
  { bytes, timeout, isTimedByChunk = false }: BodyLimits,
  take: (chunk: Buffer) => Promise<void> | undefined,
): Promise<void> {
  assertSize(Number(request.headers['content-length'] ?? 0), bytes)
  if (request.destroyed) throw hangUp(request) // no event will come any more
  sendContinue(request)
  return new Promise((resolve, reject) => {
    let received = 0
    let isSettled = false
    let isTaking = false
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
        if (taking) holdBack(taking)
      } catch (error) {
        settle(error)
      }
    }
    const holdBack = async (taking: Promise<void>) => {
      isTaking = true
      request.pause()
      try {
        await taking
        isTaking = false
        if (isSettled) return
        timer.refresh()
        request.resume()
      } catch (error) {
        if (!isSettled) settle(error)
      }
    }
    const onClose = () => settle(hangUp(request))
    const onTimeout = () => {
      if (!isTaking) settle(tooSlow())
    }
    const timer = setTimeout(onTimeout, timeout)
    request.on('data', onData).on('end', settle).on('error', settle).on('close', onClose)
  })
}

/**
 * The whole body. What it reserves grows with the bytes that have come, not with what is announced.
 * Chunks after the first are copied into one buffer: a chunk of one byte takes 400 by itself.
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
  if (size > limit) throw tooLarge(limit)
}

function tooLarge(limit: number): TransportFault {
  return new TransportFault('body_too_large', `The body may have at most ${limit} bytes`)
}

function hangUp({ errored }: IncomingMessage): Error {
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

// V8's own message quotes the body; only the place is taken from it.
function positionOf(error: unknown): string {
  const position = /at position \d+/.exec((error as Error).message)
  return position ? `, ${position[0]}` : ''
}
