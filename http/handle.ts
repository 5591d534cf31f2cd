import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Till } from '../lib/index.ts'
import { limits as defaultLimits, type Limits } from './limits.ts'
import { createProblem, TransportFault } from './problems.ts'
import { createRouter, type Match } from './router.ts'
import { type Answer, type Route, routes } from './routes.ts'

/** One line of the log. Never holds a key, a token or a body. */
export interface LogEntry {
  /** ISO 8601, UTC. */
  readonly time: string
  readonly level: 'info' | 'error'
  readonly method: string
  /** The route's path with its parameters' names; null for a path that no route has. */
  readonly route: string | null
  /** 499 when the client hung up before its answer. */
  readonly status: number
  readonly ms: number
  readonly request_id: string
  /** What went wrong, for a 500. */
  readonly error?: string
}

export interface HandlerOptions {
  /** Takes a line for each request; without it nothing is logged. */
  readonly log?: (entry: LogEntry) => void
  readonly limits?: Partial<Limits>
}

export type RequestHandler = (request: IncomingMessage, response: ServerResponse) => void

/**
 * The ten endpoints and `/healthz` as a listener for any `node:http` server.
 *
 * @example
 * createServer(createHandler(till)).listen(3000)
 */
export function createHandler(till: Till, options: HandlerOptions = {}): RequestHandler {
  const limits = { ...defaultLimits, ...options.limits }
  const findRoute = createRouter(routes)

  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const started = performance.now()
    const request_id = requestIdOf(request)
    response.setHeader('x-request-id', request_id)
    let match: Match<Route<unknown, unknown>> | undefined
    let failure: unknown
    try {
      assertHost(request)
      const { path, query } = parseTarget(request.url ?? '/')
      match = findRoute(request.method ?? 'GET', path)
      const { route, params } = match
      const who = await route.credential(till, request)
      const body = await route.readBody(request, limits)
      send(response, 200, await route.handler({ till, who, body, params, query }))
    } catch (error) {
      failure = error
      const { status, headers, body } = createProblem(error, request_id)
      send(response, status, { headers, body }, 'application/problem+json')
    }
    discardRest(request, limits)
    cutSlowReader(response, request.socket, limits)
    // The error of a request is its client hanging up, which is nothing to mend.
    const isFault = response.statusCode === 500 && failure !== request.errored
    options.log?.({
      time: new Date().toISOString(),
      level: isFault ? 'error' : 'info',
      method: request.method ?? '',
      route: match?.route.path ?? null,
      status: request.socket.destroyed ? 499 : response.statusCode,
      ms: Math.round((performance.now() - started) * 10) / 10,
      request_id,
      ...(isFault ? { error: stackOf(failure) } : {}),
    })
  }

  return (request, response) => {
    request.on('error', () => {}) // a client that resets is no fault of ours
    response.on('error', () => {})
    answer(request, response).catch(() => request.socket.destroy())
  }
}

function stackOf(failure: unknown): string {
  return failure instanceof Error ? (failure.stack ?? failure.message) : String(failure)
}

function requestIdOf(request: IncomingMessage): string {
  const sent = request.headers['x-request-id']
  return typeof sent === 'string' && /^[\w-]{1,64}$/.test(sent) ? sent : randomUUID()
}

// RFC 9112 section 3.2
function assertHost({ httpVersion, headers }: IncomingMessage): void {
  if (httpVersion === '1.0' || headers.host !== undefined) return
  throw new TransportFault('malformed_request', 'A request of HTTP/1.1 needs a Host header')
}

// By hand: `new URL` throws for targets like "//", and what it repairs no route should see.
function parseTarget(target: string): { path: string; query: { [name: string]: string } } {
  const origin = /^https?:\/\/[^/?]*/i.exec(target)?.[0] ?? '' // RFC 9112 section 3.2.2
  const [path = '', ...rest] = target.slice(origin.length).split('?')
  const query: { [name: string]: string } = Object.create(null)
  for (const [name, value] of new URLSearchParams(rest.join('?'))) query[name] ??= value
  return { path: path || '/', query }
}

function send(
  response: ServerResponse,
  status: number,
  { body, headers }: Answer,
  type = 'application/json',
): void {
  const bytes = Buffer.from(JSON.stringify(body))
  response.writeHead(status, {
    'content-type': type,
    'content-length': bytes.length,
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    ...headers,
  })
  response.end(bytes)
}

/**
 * Reads on, for a while, what is left of a body that was not wanted: closing the connection with
 * bytes unread makes the kernel reset it, and the client would lose the answer.
 */
function discardRest(request: IncomingMessage, limits: Limits): void {
  if (request.complete || request.destroyed) return
  let left = limits.discardBytes
  const giveUp = () => request.socket.destroy()
  const timer = setTimeout(giveUp, limits.discardTimeout).unref()
  request.on('data', (chunk: Buffer) => {
    left -= chunk.length
    if (left < 0) giveUp()
  })
  request.on('close', () => clearTimeout(timer))
  request.resume()
}

/** Without this, a client that takes nothing of a large answer would keep it in memory for ever. */
function cutSlowReader(response: ServerResponse, socket: Socket, limits: Limits): void {
  response.setTimeout(limits.answerTimeout, () => socket.destroy())
  // A request that came behind this one, on the same connection, may take longer.
  response.prependOnceListener('finish', () => socket.setTimeout(0))
}
