import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Readable } from 'node:stream'
import { assertSize, type BodyLimits, bodyAlreadyRead, type RequestBody, tooSlow } from './body.ts'
import type { Limits } from './limits.ts'

/**
 * The body of a `node:http` request, or of an object that imitates one, such as Fastify's `inject`.
 */
export class NodeBody implements RequestBody {
  readonly #request: IncomingMessage & { readonly body?: unknown }

  constructor(request: IncomingMessage) {
    this.#request = request
  }

  header(name: string): string | undefined {
    return headerOf(this.#request, name)
  }

  get isRead(): boolean {
    return this.#request.readableDidRead || this.#request.readableEnded
  }

  get parsed(): unknown {
    return this.#request.readableEnded ? this.#request.body : undefined
  }

  get hangUp(): Error | undefined {
    return this.#request.socket.destroyed ? hangUpError(this.#request) : undefined
  }

  receive(limits: BodyLimits, take: (chunk: Buffer) => Promise<void> | undefined): Promise<void> {
    const request = this.#request
    if (this.isRead) throw bodyAlreadyRead()
    assertSize(Number(request.headers['content-length'] ?? 0), limits.bytes)
    if (request.destroyed) throw hangUpError(request) // a destroyed request emits no more events
    sendContinue(request)
    return receiveChunks(request, limits, take)
  }
}

/** The value of a header. Node joins the values of a repeated header, or keeps the first. */
export function headerOf({ headers }: IncomingMessage, name: string): string | undefined {
  const value = headers[name]
  return Array.isArray(value) ? value.join() : value
}

/**
 * Passes each chunk of a body to `take`. While the promise of `take` is pending, the stream is
 * paused. Rejects when `take` throws; the caller can then still discard the rest of the body. Uses
 * events, because an async iterator takes a quarter longer and destroys the stream when a loop ends
 * early.
 */
export function receiveChunks(
  stream: Readable,
  { bytes, timeout, isTimedByChunk = false }: BodyLimits,
  take: (chunk: Buffer) => Promise<void> | undefined,
): Promise<void> {
  return new Promise((resolve, reject) => {
    let received = 0
    let isSettled = false
    let isPaused = false
    const settle = (error?: unknown) => {
      isSettled = true
      clearTimeout(timer)
      stream.off('data', onData).off('end', settle).off('error', settle).off('close', onClose)
      if (!error) return resolve()
      stream.pause() // the rest waits until the caller discards it
      reject(error)
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
      stream.pause()
      try {
        await taking
        isPaused = false
        if (isSettled) return
        timer.refresh()
        stream.resume()
      } catch (error) {
        if (!isSettled) settle(error)
      }
    }
    const onClose = () => settle(hangUpError(stream))
    const onTimeout = () => {
      if (!isPaused) settle(tooSlow())
    }
    const timer = setTimeout(onTimeout, timeout)
    stream.on('data', onData).on('end', settle).on('error', settle).on('close', onClose)
  })
}

function hangUpError({ errored }: Readable): Error {
  return errored ?? new Error('the client hung up')
}

interface Deferred {
  readonly response: ServerResponse
  readonly shouldKeepAlive: boolean
}

const deferred = new WeakMap<IncomingMessage, Deferred>()

/**
 * Delays `100 Continue` (RFC 9110 section 10.1.1) until a handler reads the body. If the handler
 * answers without reading the body, the connection closes after the answer. Some clients, such as
 * Caddy, send the body anyway, and the server could take it for the next request.
 */
export function deferContinue(request: IncomingMessage, response: ServerResponse): void {
  deferred.set(request, { response, shouldKeepAlive: response.shouldKeepAlive })
  response.shouldKeepAlive = false
}

/** Whether the client still waits for `100 Continue`. */
function isWaitingToContinue(request: IncomingMessage): boolean {
  return deferred.has(request)
}

/** Sends `100 Continue` when the client waits for it. */
function sendContinue(request: IncomingMessage): void {
  const waiting = deferred.get(request)
  if (!waiting) return
  deferred.delete(request)
  waiting.response.shouldKeepAlive = waiting.shouldKeepAlive
  waiting.response.writeContinue()
}

/**
 * Whether an answer must not end before the request's body is read. Ending an answer that has
 * `Connection: close` closes the connection. If unread bytes are left, the kernel resets the
 * connection, and the client loses the answer.
 */
export function mustEndLater(request: IncomingMessage, response: ServerResponse): boolean {
  const { shouldKeepAlive } = response
  if (shouldKeepAlive !== false || request.method === 'HEAD') return false
  return !request.complete && !request.destroyed
}

/**
 * Reads and discards the rest of a request's body. The client can then read the answer and send its
 * next request. After reading `discardBytes`, ends the server's side of the connection. Disconnects
 * a client whose body is incomplete after `discardTimeout`. If the client waits for `100 Continue`,
 * ends the server's side at once. No answer is lost, because `pipelining.ts` has sent all earlier
 * ones.
 */
export function discardRest(
  request: IncomingMessage,
  response: ServerResponse,
  limits: Limits,
): void {
  if (request.destroyed || request.readableEnded) return
  if (request.complete) {
    if (request.isPaused()) request.resume() // what has arrived would stay in memory
    return
  }
  const { socket } = request
  let bytesLeft = limits.discardBytes
  const count = (chunk: Buffer) => {
    bytesLeft -= chunk.length
    if (bytesLeft >= 0) return
    request.off('data', count).pause()
    socket.end?.()
  }
  const giveUp = () => {
    if (!request.complete) socket.destroy?.()
  }
  const timer = setTimeout(giveUp, limits.discardTimeout).unref()
  request.on('data', count)
  request.once('end', () => {
    if (!response.writableEnded) response.end()
  })
  request.once('close', () => clearTimeout(timer))
  if (isWaitingToContinue(request)) socket.end?.()
  request.resume()
}
