import type { IncomingMessage } from 'node:http'
import { TillError } from '../lib/index.ts'
import { sendContinue } from './expectation.ts'
import type { Limits } from './limits.ts'
import { TransportFault } from './problems.ts'

/** Reads a request's body into what its handler takes. */
export type BodyReader<Body> = (request: IncomingMessage, limits: Limits) => Promise<Body> | Body

/** For routes that take no body; one that is sent anyway is thrown away. */
export const noBody: BodyReader<undefined> = () => undefined

/** JSON that should be a `Body`: whether it is one is the library's to judge. */
export async function json<Body>(request: IncomingMessage, limits: Limits): Promise<Body> {
  assertMediaType(request, 'application/json')
  const bytes = await collect(request, limits.jsonBytes, limits.jsonTimeout)
  return parseJson(bytes) as Body
}

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

/**
 * The body's chunks, at most `bytes` of them together, each within `timeout` ms of the one before.
 * A sender who hangs up ends it with an error that is no fault of ours.
 */
export async function* chunksOf(
  request: IncomingMessage,
  bytes: number,
  timeout: number,
): AsyncGenerator<Buffer> {
  assertSize(Number(request.headers['content-length'] ?? 0), bytes)
  sendContinue(request)
  // Never returned from: that would end the stream, and its sender would get no answer.
  const chunks = request[Symbol.asyncIterator]()
  let received = 0
  while (true) {
    const { value, done } = await within(timeout, chunks.next())
    if (done) return
    received += value.length
    assertSize(received, bytes)
    yield value
  }
}

/**
 * The whole body, within `timeout` ms. By events: a request takes a quarter less than by
 * `chunksOf`.
 */
function collect(request: IncomingMessage, bytes: number, timeout: number): Promise<Buffer> {
  assertSize(Number(request.headers['content-length'] ?? 0), bytes)
  if (request.destroyed) throw hangUp(request) // no event will come any more
  sendContinue(request)
  return new Promise((resolve, reject) => {
    const chunks: Uint8Array[] = []
    let received = 0
    const settle = (error?: Error) => {
      clearTimeout(timer)
      request.off('data', take).off('end', settle).off('error', settle).off('close', end)
      if (error) reject(error)
      else resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks))
    }
    const take = (chunk: Buffer) => {
      received += chunk.length
      if (received > bytes) settle(tooLarge(bytes))
      else gather(chunks, chunk)
    }
    const end = () => settle(hangUp(request))
    const timer = setTimeout(() => settle(tooSlow()), timeout)
    request.on('data', take).on('end', settle).on('error', settle).on('close', end)
  })
}

/** More chunks than an honest sender's body comes in. */
const MANY_CHUNKS = 1024

/**
 * Adds a chunk to those before, and makes them one when they are many: a chunk of one byte takes
 * 400, and a body that comes in such chunks would take a hundred times its size.
 */
export function gather(chunks: Uint8Array[], chunk: Uint8Array): void {
  chunks.push(chunk)
  if (chunks.length > MANY_CHUNKS) chunks.splice(0, chunks.length, Buffer.concat(chunks))
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

async function within<T>(milliseconds: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(tooSlow()), milliseconds)
  })
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
    work.catch(() => {}) // what it says after the time is up concerns nobody
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true })

function parseJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(utf8.decode(bytes))
  } catch (error) {
    throw new TillError('invalid_request', `The body is not JSON in UTF-8${positionOf(error)}`)
  }
}

// V8's own message quotes the body; only the place is taken from it.
function positionOf(error: unknown): string {
  const position = /at position \d+/.exec((error as Error).message)
  return position ? `, ${position[0]}` : ''
}
