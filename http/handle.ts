import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Till } from '../lib/index.ts'
import { clientAddress } from './address.ts'
import type { Cors } from './cors.ts'
import { readHeaders, type SentHeaders } from './headers.ts'
import { enter, type Lane, leave } from './lanes.ts'
import type { Limits } from './limits.ts'
import { createProblem, TransportFault } from './problems.ts'
import { charge } from './ratelimit.ts'
import { createRouter, methodsOf } from './router.ts'
import { type Answer, metricsRoute, type Route, routes } from './routes.ts'
import { createService, type HandlerOptions, type Service } from './service.ts'

export type RequestHandler = (request: IncomingMessage, response: ServerResponse) => void

type AnyRoute = Route<unknown, unknown>

/**
 * The ten endpoints and the operator's own as a listener for any `node:http` server. `service` is
 * what `serve` shares with it.
 *
 * @example
 * createServer(createHandler(till)).listen(3000)
 */
export function createHandler(
  till: Till,
  options: HandlerOptions = {},
  service: Service = createService(options),
): RequestHandler {
  const { limits, lanes, cors, keyLimit, addressLimit, trustProxy, record } = service
  const router = createRouter(service.metrics ? [...routes, metricsRoute] : routes)
  const isLimited = keyLimit !== undefined || addressLimit !== undefined

  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const started = record ? performance.now() : 0
    const sent = readHeaders(request)
    const request_id = requestIdOf(sent)
    response.setHeader('x-request-id', request_id)
    let route: AnyRoute | undefined
    let lane: Lane | undefined
    let failure: unknown
    try {
      assertHost(request, sent)
      const { path, query } = parseTarget(request.url ?? '/')
      if (request.method === 'OPTIONS') {
        answerOptions(request, response, router.on(path), sent, cors)
      } else {
        const match = router.find(request.method ?? 'GET', path)
        route = match.route
        const { credential } = route
        if (credential.isForBrowsers) cors?.expose(response, sent.origin)
        const address = isLimited ? clientAddress(request, sent, trustProxy) : ''
        if (addressLimit && credential.bucketOf) await charge(addressLimit, address, response)
        if (credential.bucketOf) lane = enter(lanes[route.lane])
        const who = await credential.judge(till, sent)
        if (keyLimit && credential.bucketOf) {
          await charge(keyLimit, credential.bucketOf(who, address), response)
        }
        const body = await route.readBody(request, limits)
        const { params } = match
        send(response, 200, await route.handler({ till, who, body, params, query, service }))
      }
    } catch (error) {
      failure = error
      const { status, headers, body } = createProblem(error, request_id)
      send(response, status, { headers, body }, 'application/problem+json')
    } finally {
      if (lane) leave(lane)
    }
    discardRest(request, limits)
    cutSlowReader(response, request.socket, limits)
    if (!record) return
    // The error of a request is its client hanging up, which is nothing to mend.
    const isFault = response.statusCode === 500 && failure !== request.errored
    record({
      method: request.method ?? '',
      route: route?.path ?? null,
      status: request.socket.destroyed ? 499 : response.statusCode,
      ms: performance.now() - started,
      request_id,
      fault: isFault ? failure : undefined,
    })
  }

  return (request, response) => {
    request.on('error', ignore) // a client that resets is no fault of ours
    response.on('error', ignore)
    answer(request, response).catch(() => request.socket.destroy())
  }
}

function ignore(): void {}

function requestIdOf({ request_id }: SentHeaders): string {
  return request_id && /^[\w-]{1,64}$/.test(request_id) ? request_id : randomUUID()
}

// RFC 9112 section 3.2
function assertHost({ httpVersion }: IncomingMessage, { host }: SentHeaders): void {
  if (typeof host === 'string' || (httpVersion === '1.0' && host === undefined)) return
  throw new TransportFault('malformed_request', 'A request of HTTP/1.1 needs one Host header')
}

// By hand: `new URL` throws for targets like "//", and what it repairs no route should see.
function parseTarget(target: string): { path: string; query: { [name: string]: string } } {
  const origin = /^https?:\/\/[^/?]*/i.exec(target)?.[0] ?? '' // RFC 9112 section 3.2.2
  const [path = '', ...rest] = target.slice(origin.length).split('?')
  const query: { [name: string]: string } = Object.create(null)
  for (const [name, value] of new URLSearchParams(rest.join('?'))) query[name] ??= value
  return { path: path || '/', query }
}

/** What a path takes, and, when a browser asks on behalf of a script, what that script may. */
function answerOptions(
  request: IncomingMessage,
  response: ServerResponse,
  onPath: readonly AnyRoute[],
  { origin }: SentHeaders,
  cors: Cors | undefined,
): void {
  response.setHeader('allow', methodsOf(onPath))
  const wanted = request.headers['access-control-request-method']
  const open = onPath.filter(({ credential }) => credential.isForBrowsers)
  // A browser lets a POST through whatever methods it is told: it must not hear of any.
  if (wanted && open.some(({ method }) => method === wanted || wanted === 'HEAD')) {
    cors?.permit(response, origin, methodsOf(open))
  }
  response.writeHead(204).end()
}

function send(
  response: ServerResponse,
  status: number,
  { body, headers }: Answer,
  type = 'application/json',
): void {
  const bytes = Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))
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
  if (response.writableFinished) return // the kernel has it all
  response.setTimeout(limits.answerTimeout, () => socket.destroy())
  // A request that came behind this one, on the same connection, may take longer.
  response.prependOnceListener('finish', () => socket.setTimeout(0))
}
