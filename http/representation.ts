import { createHash } from 'node:crypto'

/** A body as it is sent, with its strong validator (RFC 9110 section 8.8.3). */
export class Representation {
  /**
   * A short body is text, which Node writes together with the headers at once: 1.1 × (bench/read).
   */
  readonly content: Buffer | string
  readonly length: number
  readonly etag: string

  /**
   * `more` is what clients keep of it besides the body: a 304 must not leave them with an old one.
   */
  constructor(text: string, more = '') {
    const bytes = Buffer.from(text)
    this.content = bytes.length < 4096 ? text : bytes
    this.length = bytes.length
    this.etag = etagOf(more === '' ? bytes : text + more)
  }
}

const known = new WeakMap<object, Representation>()

/**
 * The representation of what `shape` makes of a record. While the library returns the same record,
 * which it does as long as nothing has changed, it is made once: JSON and hash of a hundred items
 * take longer than all the rest of their request (bench/list).
 */
export function represent<T extends object>(
  record: T,
  shape: (record: T) => object,
  more?: string,
): Representation {
  const made = known.get(record)
  if (made) return made
  const representation = new Representation(JSON.stringify(shape(record)), more)
  known.set(record, representation)
  return representation
}

/** A strong validator of whatever makes up a body. */
export function etagOf(content: Uint8Array | string): string {
  return `"${createHash('sha256').update(content).digest('base64url').slice(0, 22)}"`
}

/** Whether a client has what it asks for already (RFC 9110 section 13.1.2). */
export function isFresh(ifNoneMatch: string | null | undefined, etag: string): boolean {
  if (!ifNoneMatch) return false
  if (ifNoneMatch === etag || ifNoneMatch === '*') return true
  return ifNoneMatch.split(',').some((each) => each.trim().replace(/^W\//, '') === etag)
}
