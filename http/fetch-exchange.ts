import { Readable } from 'node:stream'
import type { Together } from '../lib/index.ts'
import type { Exchange } from './exchange.ts'
import { below, forwardedAddress, parseTarget, readFetchHeaders, requestIdOf } from './head.ts'
import type { Limits } from './limits.ts'

/** A fetch `Request`. `client` is the address of the connection. */
export class FetchExchange implements Exchange {
  readonly request: Request
  readonly answer = createAnswerHeaders()
  readonly method: Exchange['method']
  readonly target: Exchange['target']
  readonly headers: Exchange['headers']
  readonly request_id: string
  readonly together: Together
  readonly client: string
  route: Exchange['route'] = undefined
  account_id: string | undefined = undefined
  project_id: string | undefined = undefined
  #stream: Readable | undefined
  #hangUp: Error | undefined

  constructor(request: Request, together: Together, client = '', basePath = '', trustProxy = 0) {
    this.request = request
    this.together = together
    this.method = request.method
    this.target = below(basePath, parseTarget(request.url.replace(/#.*/s, '')))
    this.headers = readFetchHeaders(request.headers)
    this.request_id = requestIdOf(this.headers)
    this.client = forwardedAddress(this.headers, trustProxy) ?? client
  }

  header(name: string): string | undefined {
    return this.request.headers.get(name) ?? undefined
  }

  get isBodyRead(): boolean {
    return this.request.bodyUsed
  }

  get parsedBody(): undefined {
    return undefined // a `Request` does not keep its parsed body
  }

  get hangUp(): Error | undefined {
    if (this.request.signal.aborted) this.#hangUp ??= new Error('the client hung up')
    return this.#stream?.errored ?? this.#hangUp
  }

  get signal(): AbortSignal {
    return this.request.signal
  }

  openBody(): Readable | undefined {
    const { body } = this.request
    this.#stream = body ? createStream(body).on('error', () => {}) : undefined
    return this.#stream
  }

  /**
   * Reads and discards the rest of a partly read body, so that the client gets the answer. If no
   * part of the body was read, does nothing: the runtime then handles the body.
   */
  discardRest({ discardBytes, discardTimeout }: Limits): void {
    const stream = this.#stream
    if (!stream || stream.readableEnded || stream.destroyed) return
    const timer = setTimeout(() => stream.destroy(), discardTimeout).unref()
    let bytesLeft = discardBytes
    stream
      .once('close', () => clearTimeout(timer))
      .on('data', (chunk: Buffer) => {
        bytesLeft -= chunk.length
        if (bytesLeft < 0) stream.destroy()
      })
      .resume()
  }
}

/** The headers that are set before there is a `Response`. */
function createAnswerHeaders() {
  const headers = new Headers()
  return {
    headers,
    getHeader: (name: string) => headers.get(name) ?? undefined,
    setHeader: (name: string, value: string) => headers.set(name, value),
  }
}

/** The maximum bytes of a chunk. A form is parsed with a copy of a chunk for each of its parts. */
const CHUNK_BYTES = 64 * 1024

/**
 * Creates a Node stream of a fetch body. Uses only the methods that a polyfill has too, and reads
 * nothing ahead. `Readable.fromWeb` does neither.
 */
function createStream(body: ReadableStream<Uint8Array>): Readable {
  const reader = body.getReader()
  return new Readable({
    highWaterMark: 0,
    async read() {
      try {
        const { value } = await reader.read()
        if (!value) return void this.push(null)
        let at = 0
        do {
          this.push(value.subarray(at, at + CHUNK_BYTES))
          at += CHUNK_BYTES
        } while (at < value.length)
      } catch (cause) {
        this.destroy(new Error('the client hung up', { cause }))
      }
    },
    destroy(error, done) {
      reader.cancel().catch(() => {})
      done(error)
    },
  })
}
