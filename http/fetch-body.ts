import { Readable } from 'node:stream'
import { assertSize, type BodyLimits, bodyAlreadyRead, type RequestBody } from './body.ts'
import type { Limits } from './limits.ts'
import { receiveChunks } from './node-body.ts'

/** The body of a fetch `Request`. */
export class FetchBody implements RequestBody {
  readonly #request: Request
  #stream: Readable | undefined
  #hangUp: Error | undefined

  constructor(request: Request) {
    this.#request = request
  }

  header(name: string): string | undefined {
    return this.#request.headers.get(name) ?? undefined
  }

  get isRead(): boolean {
    return this.#request.bodyUsed
  }

  get parsed(): undefined {
    return undefined // a `Request` does not keep its parsed body
  }

  get hangUp(): Error | undefined {
    if (this.#request.signal.aborted) this.#hangUp ??= new Error('the client hung up')
    return this.#stream?.errored ?? this.#hangUp
  }

  /**
   * Passes each chunk to `take`. While the promise of `take` is pending, reads no chunk: only the
   * runtime can then time out the client.
   */
  async receive(
    limits: BodyLimits,
    take: (chunk: Buffer) => Promise<void> | undefined,
  ): Promise<void> {
    assertSize(Number(this.header('content-length') ?? 0), limits.bytes)
    if (this.isRead) throw bodyAlreadyRead()
    const { body } = this.#request
    if (!body) return
    this.#stream = createStream(body).on('error', () => {})
    await receiveChunks(this.#stream, limits, take)
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
