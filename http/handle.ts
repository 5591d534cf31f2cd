import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Till } from '../lib/index.ts'
import { clientAddress, networkOf } from './address.ts'
import type { Answer } from './call.ts'
import { acquire, assertRoom, release } from './concurrency.ts'
import { discardRest } from './discard.ts'
import { assertHost, readHeaders, requestIdOf, singleValueOf } from './headers.ts'
import type { Reservation } from './memory-budget.ts'
import { openApiRoute } from './openapi.ts'
import { createPipelining } from './pipelining.ts'
import { consume } from './rate-limit.ts'
import { referenceRoutes } from './reference.ts'
import { outcomeOf, type RequestContext } from './request-context.ts'
import { createRouter, methodsOf, type Params } from './router.ts'
import { type AnyRoute, metricsRoute, routes } from './routes.ts'
import { sendAnswer, sendProblem, watchSlowReader } from './send.ts'
import { createServerContext, type HandlerOptions, type ServerContext } from './server-context.ts'
import { parseTarget, type Target } from './target.ts'

export type RequestHandler = (request: IncomingMessage, response: ServerResponse) => void

/**
 * Creates a request listener for any `node:http` server. It serves the ten endpoints of the API and
 * the operator's routes. Only `serve` passes a `context`, which it shares with the listener.
 *
 * @example
 * createServer(createHandler(till)).listen(3000)
 */
export function createHandler(
  till: Till,
  options: HandlerOptions = {},
  context: ServerContext = createServerContext(till, options),
): RequestHandler {
  const { limits, concurrency, memory, cors, keyLimit, addressLimit, trustProxy, record } = context
  const startPipelined = createPipelining(limits.pipelined)
  const router = createRouter([
    ...[...routes, openApiRoute],
    ...(context.metrics ? [metricsRoute] : []),
    ...(context.docs ? referenceRoutes : []),
  ])

  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const started = record ? performance.now() : 0
    const headers = readHeaders(request)
    const request_id = requestIdOf(headers)
    const current: RequestContext = {
      request,
      response,
      headers,
      request_id,
      client: clientAddress(request, headers, trustProxy),
      route: undefined,
      account_id: undefined,
      project_id: undefined,
    }
    let failure: unknown
    let shared: Buffer | undefined
    try {
      shared = await respond(current)
    } catch (error) {
      failure = error
      sendProblem(response, error, request_id, limits)
    }
    discardRest(request, response, limits)
    watchSlowReader(response, shared, context)
    if (!record) return
    const outcome = outcomeOf(current, performance.now() - started, failure)
    record(outcome)
    if (failure !== undefined && current.route?.kind === 'uploads' && current.account_id) {
      context.metrics?.observeFailedImport(outcome.status)
    }
  }

  const respond = async (current: RequestContext): Promise<Buffer | undefined> => {
    const { request, response, headers, request_id } = current
    assertHost(request, headers)
    const { path, query } = parseTarget(request.url ?? '/')
    if (request.method === 'OPTIONS') {
      answerOptions(current, router.on(path))
      return undefined
    }
    const { route, params } = router.find(request.method ?? 'GET', path)
    current.route = route
    if (route.credential.isForBrowsers) cors?.expose(response, headers.origin)
    // Releases the concurrency limit before sending: a slow reader must not occupy it.
    const result = await handle(current, route, params, query)
    const ifNoneMatch = headers.if_none_match
    return sendAnswer(response, result, { request_id, ifNoneMatch, limits, memory })
  }

  // One function instead of several, because each additional promise adds 1 µs to a read.
  const handle = async (
    current: RequestContext,
    { credential, kind, readBody, handler }: AnyRoute,
    params: Params,
    query: Target['query'],
  ): Promise<Answer> => {
    const { request, response, headers, request_id } = current
    const { limitedBy } = credential
    const limit = limitedBy && concurrency[kind]
    let caller: unknown
    let account = ''
    let project: string | undefined
    if (limit) {
      // Counts the request for its address until the credential names the caller.
      const address = networkOf(current.client)
      if (addressLimit) consume(addressLimit, address, response)
      assertRoom(limit) // fails early, because verifying a credential is expensive
      acquire(concurrency.verifications, address)
      try {
        caller = await credential.verify(till, headers)
      } finally {
        release(concurrency.verifications, address)
      }
      account = limitedBy.accountOf(caller)
      project = limitedBy.projectOf?.(caller)
      current.account_id = account
      current.project_id = project
      if (keyLimit) consume(keyLimit, limitedBy.bucketOf(caller, address), response)
      acquire(limit, account, project)
    }
    const reservation = kind === 'reads' ? noMemory : memory.createReservation(account)
    try {
      const idempotencyKey = singleValueOf(headers.idempotency_key, 'Idempotency-Key')
      const options = { requestId: request_id, idempotencyKey }
      // Calls the handler right after `readBody`: only the handler discards the uploaded file.
      const body = await readBody(request, limits, reservation)
      return await handler({ till, caller, body, params, query, options, context })
    } finally {
      reservation.release()
      if (limit) release(limit, account, project)
    }
  }

  /** Lists the methods of a path. Answers CORS preflights for routes that browsers may call. */
  const answerOptions = (
    { request, response, headers: { origin }, request_id }: RequestContext,
    onPath: readonly AnyRoute[],
  ) => {
    response.setHeader('allow', methodsOf(onPath))
    const wanted = request.headers['access-control-request-method']
    const open = onPath.filter(({ credential }) => credential.isForBrowsers)
    // Permits only methods of routes for browsers. Listing these methods would not protect the
    // others: browsers send a cross-origin POST even if `Access-Control-Allow-Methods` does not
    // list it.
    if (wanted && open.some(({ method }) => method === wanted || wanted === 'HEAD')) {
      cors?.permit(response, origin, methodsOf(open))
    }
    response.writeHead(204, { 'x-request-id': request_id }).end()
  }

  return (request, response) => {
    response.on('error', ignore) // the error means that the client reset the connection
    const start = () => void answer(request, response).catch(() => request.socket.destroy())
    if (response.socket) start()
    else startPipelined(request.socket, response, start)
  }
}

function ignore(): void {}

/** The reservation for routes that read no body. */
const noMemory: Reservation = { account: '', reserve: ignore, release: ignore }
