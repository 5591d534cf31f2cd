import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { isIP, type Socket } from 'node:net'
import { BoundedMap } from '../lib/bounded-map.ts'
import { TransportFault } from './problems.ts'

/** A parsed request target. */
export interface Target {
  /** The path under which the handler is mounted; '' at the root. */
  readonly prefix: string
  /** The path below the prefix; '' for a request outside of the base path. */
  readonly path: string
  /** The first value of each query parameter. */
  readonly query: { readonly [name: string]: string }
  /** The names of the query parameters that were sent more than once. */
  readonly repeated: readonly string[]
}

/** A request, with the properties that Express and Connect add below a prefix. */
interface MountedRequest {
  readonly url?: string | undefined
  readonly originalUrl?: unknown
  readonly baseUrl?: unknown
}

/**
 * Parses the target of a request. Express and Connect may have removed a prefix from `url`. Throws a
 * TypeError if Express has removed a prefix, and there is a base path too.
 */
export function targetOf(request: MountedRequest, basePath: string): Target {
  const { url = '/', originalUrl, baseUrl } = request
  if (basePath !== '' && baseUrl) {
    throw new TypeError(`Express has removed ${baseUrl} from the path: omit the option basePath`)
  }
  const target = below(basePath, parseTarget(url))
  if (typeof originalUrl !== 'string') return target
  // Express adds a slash to the path of the prefix alone.
  const kept = originalUrl.endsWith(url) ? url : url.slice(1)
  if (!originalUrl.endsWith(kept)) return target
  // The client can choose parts of the prefix, and the `Link` header contains it.
  const removed = originalUrl.slice(0, originalUrl.length - kept.length)
  return PATH.test(removed) ? { ...target, prefix: removed + basePath } : target
}

/** The target below the base path. The target `*` of OPTIONS is below every path. */
export function below(basePath: string, { path, ...rest }: Target): Target {
  const isBelow = path.startsWith(basePath) && (path[basePath.length] ?? '/') === '/'
  if (isBelow) return { ...rest, prefix: basePath, path: path.slice(basePath.length) || '/' }
  return { ...rest, prefix: basePath, path: path === '*' ? path : '' }
}

/** Parses a target without `new URL`, which throws for "//" and normalizes other targets. */
export function parseTarget(target: string): Target {
  const origin = target.startsWith('/') ? '' : originOf(target)
  const mark = target.indexOf('?', origin.length)
  const path = target.slice(origin.length, mark < 0 ? undefined : mark) || '/'
  return { prefix: '', path, ...(mark < 0 ? noQuery : parseQuery(target.slice(mark + 1))) }
}

const PATH = /^(?:\/(?!\.{1,2}(?:\/|$))[\w.~!$&'()*+,;=:@%-]+)+$/

/** Whether a base path is empty or a path like `/shop`. */
export function isBasePath(value: unknown): boolean {
  return typeof value === 'string' && (value === '' || PATH.test(value))
}

type Query = Pick<Target, 'query' | 'repeated'>

const noQuery: Query = { query: Object.freeze(Object.create(null)), repeated: [] }

// The origin of a target in absolute form (RFC 9112 section 3.2.2); '' if there is none.
function originOf(target: string): string {
  return /^https?:\/\/[^/?]*/i.exec(target)?.[0] ?? ''
}

/** Parses the query. Handles a single plain parameter itself: URLSearchParams takes 1.5 µs. */
function parseQuery(text: string): Query {
  const query: { [name: string]: string } = Object.create(null)
  const repeated: string[] = []
  const plain = /^([\w-]+)=([\w.-]*)$/.exec(text)
  if (plain) query[plain[1] as string] = plain[2] as string
  else {
    for (const [name, value] of new URLSearchParams(text)) {
      if (query[name] === undefined) query[name] = value
      else repeated.push(name)
    }
  }
  return { query, repeated }
}

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
export function readHeaders({ rawHeaders }: Pick<IncomingMessage, 'rawHeaders'>): RequestHeaders {
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
  return Object.fromEntries(
    NAMES.map((name) => {
      const value = given[name]
      const isRepeated = value !== undefined && (sent[name] === null || typeof value !== 'string')
      return [name, isRepeated ? null : value]
    }),
  )
}

/**
 * Reads the headers of a fetch `Request`, which joins the values of a repeated header with a comma.
 * A repeated credential is therefore refused, because no valid one contains a comma. An idempotency
 * key with a comma counts as repeated.
 */
export function readFetchHeaders(headers: Headers): RequestHeaders {
  const read = readHeaders({ rawHeaders: [...headers].flat() })
  const isRepeated = read['idempotency-key']?.includes(', ')
  return isRepeated ? { ...read, 'idempotency-key': null } : read
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

/**
 * The client's address from X-Forwarded-For; undefined without that header or trusted proxies. Each
 * of `hops` trusted proxies appends an entry, so the client's address is entry number `hops` from
 * the right. A client can forge the entries further left. If there are fewer entries, the first one
 * is used.
 */
export function forwardedAddress(
  { 'x-forwarded-for': forwarded }: RequestHeaders,
  hops: number,
): string | undefined {
  if (hops === 0 || !forwarded) return undefined
  let end = forwarded.length
  let start = forwarded.lastIndexOf(',')
  for (let hop = 1; hop < hops && start >= 0; hop++) {
    end = start
    start = end > 0 ? forwarded.lastIndexOf(',', end - 1) : -1
  }
  const hop = forwarded.slice(start + 1, end).trim()
  // Removes the port that some proxies append to an address, as in `[2001:db8::1]:4711`.
  const address = hop.replace(/^\[(.*)\](:\d+)?$/, '$1').replace(/^([\d.]+):\d+$/, '$1')
  // Copies the address. A slice would keep the whole header in memory as long as a rate limit holds
  // the address.
  return isIP(address) ? unmapped(Buffer.from(address).toString('latin1')) : undefined
}

/** The remote address of a connection. */
export function connectionAddress({ remoteAddress = '' }: Socket): string {
  return unmapped(remoteAddress)
}

/** Converts an IPv4-mapped IPv6 address to the IPv4 address. Returns other addresses unchanged. */
function unmapped(address: string): string {
  if (!address.startsWith('::')) return address
  return /^::ffff:([\d.]+)$/i.exec(address)?.[1] ?? address
}

/** The network of each IPv6 address, because parsing one takes 2 µs. */
const networks = new BoundedMap<string>(10_000)

/**
 * The key under which rate limits and concurrency limits count an address: the IPv4 address, or the
 * /64 network of an IPv6 address.
 */
export function networkOf(address: string): string {
  if (!address.includes(':')) return address
  let network = networks.get(address)
  if (network === undefined) {
    network = `${groupsOf(address).slice(0, 4).join(':')}::/64`
    networks.set(address, network)
  }
  return network
}

/** The eight groups of an IPv6 address, without leading zeros. */
function groupsOf(address: string): string[] {
  const [head = '', tail] = address.toLowerCase().replace(/%.*$/, '').split('::')
  const before = head === '' ? [] : head.split(':')
  const after = tail ? tail.split(':') : []
  const zeros = new Array<string>(Math.max(0, 8 - before.length - after.length)).fill('0')
  return [...before, ...zeros, ...after].map((group) => group.replace(/^0+(?=.)/, ''))
}
