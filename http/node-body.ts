import type { IncomingMessage } from 'node:http'
import { assertSize, type BodyLimits, bodyAlreadyRead, type RequestBody, tooSlow } from './body.ts'
import { sendContinue } from './expect-continue.ts'

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
    if (this.isRead) throw bodyAlreadyRead()
    return receive(this.#request, limits, take)
  }
}

/** The value of a header. Node joins the values of a repeated header, or keeps the first. */
export function headerOf({ headers }: IncomingMessage, name: string): string | undefined {
  const value = headers[name]
  return Array.isArray(value) ? value.join() : value
}

/**
 * Passes each chunk of the body to `take`. While the promise of `take` is pending, the request is
 * paused. Rejects when `take` throws; the caller can then still discard the rest of the body. Uses
 * events, because an async iterator takes a quarter longer and destroys the request when a loop
 * ends early.
 */
function receive(
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

function hangUpError({ errored }: IncomingMessage): Error {
  return errored ?? new Error('the client hung up')
}
