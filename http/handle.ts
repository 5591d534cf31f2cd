import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Till } from '../lib/index.ts'
import { clientAddress, networkOf } from './address.ts'
import { acquire, assertRoom, release } from './concurrency.ts'
import type { Cors } from './cors.ts'
import { discardRest } from './discard.ts'
import { readHeaders, requestIdOf, type Sent, type SentHeaders } from './headers.ts'
import type { Limits } from './limits.ts'
import type { Reservation } from './memory-budget.ts'
import { createPipelines } from './pipelines.ts'
import { createProblem, TransportFault } from './problems.ts'
import { charge } from './ratelimit.ts'
import { createRouter, methodsOf } from './router.ts'
import { type Answer, type Call, metricsRoute, type Route, routes } from './routes.ts'
import { sendAnswer, sendText, watchUnsent } from './send.ts'
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
  /** The address of the client. */
  readonly client: string
  route: AnyRoute | undefined
  /** Once the credential is verified. */
  account_id: string | undefined
  project_id: string | undefined
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
  service: Service = createService(till, options),
): RequestHandler {
  const { limits, concurrency, memory, cors, keyLimit, addressLimit, trustProxy, record } = service
  const pipelines = createPipelines(limits.pipelined)
  const router = createRouter(service.metrics ? [...routes, metricsRoute] : routes)

  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const started = record ? performance.now() : 0
    const sent = readHeaders(request)
    const request_id = requestIdOf(sent)
    const exchange: Exchange = {
      request,
      response,
      sent,
      request_id,
      client: clientAddress(request, sent, trustProxy),
      route: undefined,
      account_id: undefined,
      project_id: undefined,
    }
    let failure: unknown
    let shared: Buffer | undefined
    try {
      shared = await respond(exchange)
    } catch (error) {
      failure = error
      sendProblem(response, error, request_id, limits)
    }
    discardRest(request, response, limits)
    watchUnsent(response, shared, service)
    if (!record) return
    const outcome = outcomeOf(exchange, performance.now() - started, failure)
    record(outcome)
    if (failure !== undefined && exchange.route?.kind === 'uploads' && exchange.account_id) {
      service.metrics?.observeFailedImport(outcome.status)
    }
  }

  const respond = async (exchange: Exchange): Promise<Buffer | undefined> => {
    const { request, response, sent, request_id } = exchange
    assertHost(request, sent)
    const { path, query } = parseTarget(request.url ?? '/')
    if (request.method === 'OPTIONS') {
      answerOptions(exchange, router.on(path), cors)
      return undefined
    }
    const { route, params } = router.find(request.method ?? 'GET', path)
    exchange.route = route
    if (route.credential.isForBrowsers) cors?.expose(response, sent.origin)
    // Released before the answer is sent: a slow reader counts under no concurrency limit.
    const made = await handle(exchange, route, params, query)
    const ifNoneMatch = sent.if_none_match
    const sending = { request_id, ifNoneMatch, limits, memory }
    return sendAnswer(response, made, sending)
  }

  /**
   * Credential, then body, then meaning, each within the limits. One function, as each promise more
   * costs a read 1 µs.
   */
  const handle = async (
    exchange: Exchange,
    { credential, kind, readBody, handler }: AnyRoute,
    params: Params,
    query: Query,
  ): Promise<Answer> => {
    const { request, response, sent, request_id } = exchange
    const { limitedBy } = credential
    const limit = limitedBy && concurrency[kind]
    let who: unknown
    let account = ''
    let project: string | undefined
    if (limit) {
      // Until it is known who is calling, a request counts for its address.
      const address = networkOf(exchange.client)
      if (addressLimit) charge(addressLimit, address, response)
      assertRoom(limit) // costs less than a verification that would be in vain
      acquire(concurrency.verifications, address)
      try {
        who = await credential.verify(till, sent)
      } finally {
        release(concurrency.verifications, address)
      }
      account = limitedBy.accountOf(who)
      project = limitedBy.projectOf?.(who)
      exchange.account_id = account
      exchange.project_id = project
      if (keyLimit) charge(keyLimit, limitedBy.bucketOf(who, address), response)
      acquire(limit, account, project)
    }
    const reservation = kind === 'reads' ? noMemory : memory.createReservation(account)
    try {
      const options = { requestId: request_id, idempotencyKey: singleOf(sent.idempotency_key) }
      // The last that may fail before the handler, who frees what an upload takes.
      const body = await readBody(request, limits, reservation)
      return await handler({ till, who, body, params, query, options, service })
    } finally {
      reservation.release()
      if (limit) release(limit, account, project)
    }
  }

  return (request, response) => {
    response.on('error', ignore) // a client that resets is no fault of ours
    const start = () => void answer(request, response).catch(() => request.socket.destroy())
    if (response.socket) start()
    else pipelines.add(request.socket, response, start)
  }
}

function ignore(): void {}

/** For routes that take no body. */
const noMemory: Reservation = { account: '', reserve: ignore, release: ignore }

function outcomeOf(
  { request, response, route, request_id, client, account_id, project_id }: Exchange,
  ms: number,
  failure: unknown,
) {
  // The error of a request, or of its socket, is its client hanging up: nothing to mend.
  const isHangUp = failure === request.errored || failure === request.socket.errored
  const isCut = response.destroyed && !response.writableEnded
  const isOurs = response.statusCode === 500 || isCut || hasCause(failure)
  const fault = isOurs && !isHangUp ? failure : undefined
  const lost = fault === undefined ? 499 : 500
  return {
    method: request.method ?? '',
    route: route?.path ?? null,
    // A fault in the middle of an answer has cut the connection off by itself.
    status: request.socket.destroyed ? lost : response.statusCode,
    ms,
    request_id,
    client,
    account_id,
    project_id,
    fault,
  }
}

/** Whether the caller was told less than there is to know. */
function hasCause(failure: unknown): boolean {
  return failure instanceof Error && failure.cause !== undefined
}

function sendProblem(
  response: ServerResponse,
  error: unknown,
  request_id: string,
  { problemBytes }: Limits,
): void {
  if (response.headersSent) {
    response.destroy() // in the middle of a stream: cut off, so that no one takes it for whole
    return
  }
  const { status, headers, body } = createProblem(error, request_id, problemBytes)
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
