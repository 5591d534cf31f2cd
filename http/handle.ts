import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Till } from '../lib/index.ts'
import { clientAddress } from './address.ts'
import type { Cors } from './cors.ts'
import { readHeaders, requestIdOf, type Sent, type SentHeaders } from './headers.ts'
import { claim, enter, leave } from './lanes.ts'
import { createProblem, TransportFault } from './problems.ts'
import { charge } from './ratelimit.ts'
import { createRouter, methodsOf } from './router.ts'
import { type Answer, type Call, metricsRoute, type Route, routes } from './routes.ts'
import { cutSlowReader, discardRest, sendAnswer, sendText } from './send.ts'
import { createService, type HandlerOptions, type Service } from './service.ts'

export type RequestHandler = (request: IncomingMessage, response: ServerResponse) => void

type AnyRoute = Route<unknown, unknown>
type Params = Call<unknown, unknown>['params']
type Query = Call<unknown, unknown>['query']

/** A request and its answer, and what is known of them by now. */
interface Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly sent: SentHeaders
  readonly request_id: string
  route: AnyRoute | undefined
}

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
  const { limits, lanes, unsent, cors, keyLimit, addressLimit, trustProxy, record } = service
  const router = createRouter(service.metrics ? [...routes, metricsRoute] : routes)
  const isLimited = keyLimit !== undefined || addressLimit !== undefined

  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const started = record ? performance.now() : 0
    const sent = readHeaders(request)
    const request_id = requestIdOf(sent)
    const exchange: Exchange = { request, response, sent, request_id, route: undefined }
    let failure: unknown
    try {
      await respond(exchange)
    } catch (error) {
      failure = error
      sendProblem(response, error, request_id)
    }
    discardRest(request, limits)
    cutSlowReader(response, limits)
    record?.(outcomeOf(exchange, performance.now() - started, failure))
  }

  const respond = async (exchange: Exchange) => {
    const { request, response, sent, request_id } = exchange
    assertHost(request, sent)
    const { path, query } = parseTarget(request.url ?? '/')
    if (request.method === 'OPTIONS') return answerOptions(exchange, router.on(path), cors)
    const { route, params } = router.find(request.method ?? 'GET', path)
    exchange.route = route
    if (route.credential.isForBrowsers) cors?.expose(response, sent.origin)
    // Its place is given back before the answer goes, at the client's pace: a slow one takes no
    // room.
    const made = await handle(exchange, route, params, query)
    const ifNoneMatch = sent.if_none_match
    const sending = { request_id, ifNoneMatch, limits, unsent }
    return sendAnswer(response, made, sending)
  }

  /** Credential, then body, then meaning, each within the limits. */
  const handle = async (
    { request, response, sent, request_id }: Exchange,
    { credential, lane, readBody, handler }: AnyRoute,
    params: Params,
    query: Query,
  ): Promise<Answer> => {
    const { bucketOf, projectOf } = credential
    const address = isLimited ? clientAddress(request, sent, trustProxy) : ''
    if (addressLimit && bucketOf) charge(addressLimit, address, response)
    const place = bucketOf && enter(lanes[lane])
    try {
      const who = await credential.judge(till, sent)
      if (keyLimit && bucketOf) charge(keyLimit, bucketOf(who, address), response)
      if (place && projectOf && lane === 'uploads') claim(place, projectOf(who))
      const options = { request_id, idempotency_key: singleOf(sent.idempotency_key) }
      // The last that may fail before the handler, who frees what an upload takes.
      const body = await readBody(request, limits)
      return await handler({ till, who, body, params, query, options, service })
    } finally {
      if (place) leave(place)
    }
  }

  return (request, response) => {
    response.on('error', ignore) // a client that resets is no fault of ours
    answer(request, response).catch(() => request.socket.destroy())
  }
}

function ignore(): void {}

function outcomeOf(
  { request, response, route, request_id }: Exchange,
  ms: number,
  failure: unknown,
) {
  // The error of a request, or of its socket, is its client hanging up: nothing to mend.
  const isHangUp = failure === request.errored || failure === request.socket.errored
  const isOurs = response.statusCode === 500 || !response.writableEnded || hasCause(failure)
  const fault = isOurs && !isHangUp ? failure : undefined
  const lost = fault === undefined ? 499 : 500
  return {
    method: request.method ?? '',
    route: route?.path ?? null,
    // A fault in the middle of an answer has cut the connection off by itself.
    status: request.socket.destroyed ? lost : response.statusCode,
    ms,
    request_id,
    fault,
  }
}

/** Whether the caller was told less than there is to know. */
function hasCause(failure: unknown): boolean {
  return failure instanceof Error && failure.cause !== undefined
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

/**
 * As URLSearchParams, which takes 1.5 µs, reads it; of a name that comes again the first counts.
 */
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
  { request, response, sent: { origin }, request_id }: Exchange,
  onPath: readonly AnyRoute[],
  cors: Cors | undefined,
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
