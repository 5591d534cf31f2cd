import { createHash } from 'node:crypto'

/** A body as it is sent, with its strong validator (RFC 9110 section 8.8.3). */
export class Representation {
  /**
   * The body as text if it is short: Node writes it with the headers, 1.1 times as fast
   * (bench/read).
   */
  readonly content: Buffer | string
  readonly length: number
  readonly etag: string

  /** The etag is the hash of `text`, the body, and of `more`, such as the content of a header. */
  constructor(text: string, more = '') {
    const bytes = Buffer.from(text)
    this.content = bytes.length < 4096 ? text : bytes
    this.length = bytes.length
    this.etag = etagOf(more === '' ? bytes : text + more)
  }
}

/**
 * A body that is created in chunks while it is sent, with its strong validator. An answer without a
 * validator is sent with `Cache-Control: no-store`.
 */
export class StreamedBody {
  readonly chunks: AsyncGenerator<Buffer>
  readonly etag: string | undefined

  constructor(chunks: AsyncGenerator<Buffer>, etag?: string) {
    this.chunks = chunks
    this.etag = etag
  }
}

const cache = new WeakMap<object, Representation>()

/**
 * Returns the representation of `shape(record)`, and caches it by the record object. The library
 * returns the same object until the record changes. Formatting and hashing a hundred items as JSON
 * would take longer than the rest of the request (bench/list).
 */
export function represent<T extends object>(
  record: T,
  shape: (record: T) => object,
  more?: string,
): Representation {
  const cached = cache.get(record)
  if (cached) return cached
  const representation = new Representation(JSON.stringify(shape(record)), more)
  cache.set(record, representation)
  return representation
}

/** Creates a strong validator: the start of a SHA-256 hash. */
export function etagOf(content: Uint8Array | string): string {
  return `"${createHash('sha256').update(content).digest('base64url').slice(0, 22)}"`
}

/** Whether `If-None-Match` includes this etag (RFC 9110 section 13.1.2). */
export function isFresh(ifNoneMatch: string | null | undefined, etag: string): boolean {
  if (!ifNoneMatch) return false
  if (ifNoneMatch === etag || ifNoneMatch === '*') return true
  return ifNoneMatch.split(',').some((each) => each.trim().replace(/^W\//, '') === etag)
}
