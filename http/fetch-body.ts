import { assertSize, type BodyLimits, bodyAlreadyRead, type RequestBody, tooSlow } from './body.ts'
import type { Limits } from './limits.ts'

/** The body of a fetch `Request`. */
export class FetchBody implements RequestBody {
  readonly #request: Request
  #reader: ReadableStreamDefaultReader<Uint8Array> | undefined
  #hangUp: Error | undefined
  #isAtEnd = false

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
    return this.#hangUp
  }

  /**
   * Passes each chunk to `take`. While the promise of `take` is pending, reads no chunk: only the
   * runtime can then time out the client.
   */
  async receive(
    { bytes, timeout, isTimedByChunk = false }: BodyLimits,
    take: (chunk: Buffer) => Promise<void> | undefined,
  ): Promise<void> {
    assertSize(Number(this.header('content-length') ?? 0), bytes)
    if (this.isRead) throw bodyAlreadyRead()
    const { body } = this.#request
    if (!body) return
    this.#reader = body.getReader()
    let expire = () => {}
    const timer = setTimeout(() => expire(), timeout)
    const next = (reader: ReadableStreamDefaultReader<Uint8Array>) =>
      new Promise<Uint8Array | undefined>((resolve, reject) => {
        expire = () => reject(tooSlow())
        this.#read(reader).then(resolve, reject)
      })
    try {
      let received = 0
      for (;;) {
        const chunk = await next(this.#reader)
        if (!chunk) return
        received += chunk.length
        assertSize(received, bytes)
        const { buffer, byteOffset, byteLength } = chunk
        const taking = take(Buffer.from(buffer, byteOffset, byteLength))
        if (taking) await taking
        if (isTimedByChunk) timer.refresh()
      }
    } finally {
      clearTimeout(timer)
    }
  }

  async #read(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<Uint8Array | undefined> {
    try {
      const { value } = await reader.read()
      this.#isAtEnd = value === undefined
      return value
    } catch (error) {
      this.#hangUp = new Error('the client hung up', { cause: error })
      throw this.#hangUp
    }
  }

  /**
   * Reads and discards the rest of a partly read body, so that the client gets the answer. If no
   * part of the body was read, does nothing: the runtime then handles the body.
   */
  async discardRest({ discardBytes, discardTimeout }: Limits): Promise<void> {
    const reader = this.#reader
    if (!reader || this.#isAtEnd || this.#hangUp) return
    const cancel = () => void reader.cancel().catch(() => {})
    const timer = setTimeout(cancel, discardTimeout).unref()
    try {
      let bytesLeft = discardBytes
      while (!this.#isAtEnd && bytesLeft >= 0) bytesLeft -= (await this.#read(reader))?.length ?? 0
      if (!this.#isAtEnd) cancel()
    } catch {
      // Ignores the error: the client has disconnected.
    } finally {
      clearTimeout(timer)
    }
  }
}
