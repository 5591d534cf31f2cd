import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Till } from '../lib/index.ts'
import { clientAddress } from './address.ts'
import type { Cors } from './cors.ts'
import { readHeaders, type Sent, type SentHeaders } from './headers.ts'
import { enter, type Lane, leave } from './lanes.ts'
import { createProblem, TransportFault } from './problems.ts'
import { charge } from './ratelimit.ts'
import { createRouter, methodsOf } from './router.ts'
import { metricsRoute, type Route, routes } from './routes.ts'
import { cutSlowReader, discardRest, sendAnswer, sendText } from './send.ts'
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
    let route: AnyRoute | undefined
    let lane: Lane | undefined
    let failure: unknown
    try {
      assertHost(request, sent)
      const { path, query } = parseTarget(request.url ?? '/')
      if (request.method === 'OPTIONS') {
        answerOptions(request, response, router.on(path), sent, cors, request_id)
      } else {
        const match = router.find(request.method ?? 'GET', path)
        route = match.route
        const { credential } = route
        if (credential.isForBrowsers) cors?.expose(response, sent.origin)
        const address = isLimited ? clientAddress(request, sent, trustProxy) : ''
        if (addressLimit && credential.bucketOf) charge(addressLimit, address, response)
        if (credential.bucketOf) lane = enter(lanes[route.lane])
        const who = await credential.judge(till, sent)
        if (keyLimit && credential.bucketOf) {
          charge(keyLimit, credential.bucketOf(who, address), response)
        }
        const body = await route.readBody(request, limits)
        const { params } = match
        const options = { request_id, idempotency_key: singleOf(sent.idempotency_key) }
        const call = { till, who, body, params, query, options, service }
        const made = await route.handler(call)
        // What is left goes at the client's pace, and a slow one should take no room from others.
        if (lane) leave(lane)
        lane = undefined
        const sending = { request_id, ifNoneMatch: sent.if_none_match, limits }
        await sendAnswer(response, made, sending)
      }
    } catch (error) {
      failure = error
      sendProblem(response, error, request_id)
    } finally {
      if (lane) leave(lane)
    }
    discardRest(request, limits)
    cutSlowReader(response, limits)
    if (!record) return
    // The error of a request, or of its socket, is its client hanging up: nothing to mend.
    const isHangUp = failure === request.errored || failure === request.socket.errored
    const isFault = !isHangUp && isFailed(response)
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

function isFailed({ statusCode, writableEnded }: ServerResponse): boolean {
  return statusCode === 500 || !writableEnded
}

function sendProblem(response: ServerResponse, error: unknown, request_id: string): void {
  if (response.headersSent) {
    response.destroy() // in the middle of a stream: cut off, so that no one takes it for whole
    return
  }
  const { status, headers, body } = createProblem(error, request_id)
  const type = { 'content-type': 'application/problem+json' }
  sendText(response, status, JSON.stringify(body), { ...type, ...headers }, request_id)
}

/** The value of a header that may be sent once. */
function singleOf(sent: Sent): string | undefined {
  if (sent !== null) return sent
  throw new TransportFault('malformed_request', 'The Idempotency-Key may be sent only once')
}

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
  const origin = target.startsWith('/') ? '' : originOf(target)
  const mark = target.indexOf('?', origin.length)
  if (mark < 0) return { path: target.slice(origin.length) || '/', query: noQuery }
  return {
    path: target.slice(origin.length, mark) || '/',
    query: parseQuery(target.slice(mark + 1)),
  }
}

/** As URLSearchParams, which takes 1.5 µs, reads it; of a name that comes again the first counts. */
function parseQuery(text: string): { [name: string]: string } {
  const query: { [name: string]: string } = Object.create(null)
  const plain = /^([\w-]+)=([\w.-]*)$/.exec(text)
  if (plain) query[plain[1] as string] = plain[2] as string
  else for (const [name, value] of new URLSearchParams(text)) query[name] ??= value
  return query
}

const noQuery = Object.freeze(Object.create(null))

// RFC 9112 section 3.2.2
function originOf(target: string): string {
  return /^https?:\/\/[^/?]*/i.exec(target)?.[0] ?? ''
}

/** What a path takes, and, when a browser asks on behalf of a script, what that script may. */
function answerOptions(
  request: IncomingMessage,
  response: ServerResponse,
  onPath: readonly AnyRoute[],
  { origin }: SentHeaders,
  cors: Cors | undefined,
  request_id: string,
): void {
  response.setHeader('allow', methodsOf(onPath))
  const wanted = request.headers['access-control-request-method']
  const open = onPath.filter(({ credential }) => credential.isForBrowsers)
  // A browser lets a POST through whatever methods it is told: it must not hear of any.
  if (wanted && open.some(({ method }) => method === wanted || wanted === 'HEAD')) {
    cors?.permit(response, origin, methodsOf(open))
  }
  response.writeHead(204, { 'x-request-id': request_id }).end()
}
