import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { TransportFault } from './problems.ts'

/** A header's value: undefined if the header is missing, null if it was sent more than once. */
export type HeaderValue = string | null | undefined

/** Sets headers of an answer before its status and body are known. */
export interface AnswerHeaders {
  getHeader(name: string): unknown
  setHeader(name: string, value: string): unknown
}

/** The request headers that the server uses, except those that describe the body. */
const NAMES = [
  ...(['host', 'x-request-id', 'x-public-project-key', 'x-account-key', 'authorization'] as const),
  ...(['if-none-match', 'idempotency-key', 'origin', 'x-forwarded-for'] as const),
] as const

/** The names, also with the capitals that most clients send: that takes half the time. */
const known = new Map<string, (typeof NAMES)[number]>(
  NAMES.flatMap((name) => {
    const capitalized = name.replaceAll(/\b[a-z]/g, (letter) => letter.toUpperCase())
    return [name, capitalized].map((each) => [each, name] as const)
  }),
)

export type RequestHeaders = { readonly [N in (typeof NAMES)[number]]?: HeaderValue }

/**
 * Reads the headers as the client sent them. A repeated header becomes null. Node would join its
 * values or keep the first, while a proxy in front may have checked another value. Only the values
 * of `X-Forwarded-For` are joined with a comma, because each proxy may add its own header.
 */
export function readHeaders({ rawHeaders }: IncomingMessage): RequestHeaders {
  const headers: { [name: string]: HeaderValue } = {}
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const sent = rawHeaders[i] as string
    const name = known.get(sent) ?? known.get(sent.toLowerCase())
    if (!name) continue
    const value = rawHeaders[i + 1] as string
    const before = headers[name]
    if (before === undefined) headers[name] = value
    else headers[name] = name === 'x-forwarded-for' ? `${before},${value}` : null
  }
  return headers
}

/**
 * Reads the headers of a request that middleware may have changed. A header that the client
 * repeated has the value null. HTTP/2 has `:authority` instead of `host`.
 */
export function readChangedHeaders(request: IncomingMessage): RequestHeaders {
  const sent = readHeaders(request)
  const { headers } = request
  const given: NodeJS.Dict<string | string[]> = {
    ...headers,
    host: headers.host ?? headers[':authority'],
  }
  return Object.fromEntries(NAMES.map((name) => [name, changed(sent[name], given[name])]))
}

/**
 * Reads the headers of a fetch `Request`, which joins the values of a repeated header with a comma.
 * A repeated credential is therefore refused, because no valid one contains a comma. An idempotency
 * key with a comma counts as repeated.
 */
export function readFetchHeaders(headers: Headers): RequestHeaders {
  const read = (name: string) => headers.get(name) ?? undefined
  const isRepeated = read('idempotency-key')?.includes(', ')
  return {
    ...Object.fromEntries(NAMES.map((name) => [name, read(name)])),
    ...(isRepeated && { 'idempotency-key': null }),
  }
}

function changed(sent: HeaderValue, value: string | string[] | undefined): HeaderValue {
  if (value === undefined) return undefined
  return sent === null || typeof value !== 'string' ? null : value
}

/** The client's request id if it sent a well-formed one, else a new id. */
export function requestIdOf({ 'x-request-id': request_id }: RequestHeaders): string {
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
