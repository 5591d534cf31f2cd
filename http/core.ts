import type { Session, Till, Together } from '../lib/index.ts'
import { createAdmission } from './admission.ts'
import { json, noBody } from './body.ts'
import type { Exchange } from './exchange.ts'
import { singleValueOf } from './headers.ts'
import type { Outcome } from './log.ts'
import { invalidOption } from './manage/options.ts'
import { manageRoutes } from './manage/routes.ts'
import { fieldsOf } from './openapi/schemas.ts'
import { openApiRoute } from './openapi.ts'
import { createConsoleRoutes, createReferenceRoutes } from './pages.ts'
import { TransportFault } from './problems.ts'
import type { CacheableRead } from './repeated-reads.ts'
import { type Reply, reply, replyTo } from './reply.ts'
import {
  type AnyRoute,
  createRouter,
  methodsOf,
  type Params,
  type Result,
  type RouteDescription,
} from './route.ts'
import { metricsRoute, routes } from './routes.ts'
import type { ServerContext } from './server-context.ts'
import type { Target } from './target.ts'

type Remember = (read: CacheableRead) => void

/** Answers requests, both of `node:http` and of fetch. */
export function createCore(till: Till, context: ServerContext) {
  const { limits, cors } = context
  const admission = createAdmission(till, context)
  const router = createRouter([
    ...[...routes, openApiRoute],
    ...(context.metrics ? [metricsRoute] : []),
    ...(context.manage ? manageRoutes : []),
    ...(context.docs ? createReferenceRoutes() : []),
    ...(context.console ? createConsoleRoutes() : []),
  ])

  /**
   * Answers a request. Throws an error that becomes a problem document. `together` runs this
   * request's library calls. These calls share one check for changes of the database. `remember` is
   * called with the answer of a read that may be cached.
   */
  const respond = async (
    exchange: Exchange,
    together: Together,
    remember?: Remember,
  ): Promise<Reply> => {
    const { method, target, answer, headers, request_id } = exchange
    if (method === 'OPTIONS' && target.path !== '') {
      return answerOptions(exchange, router.on(target.path))
    }
    const { route, params } = findRoute(exchange)
    exchange.route = route
    if (route.credential.isForBrowsers) cors?.expose(answer, headers.origin)
    // `handle` stops counting the request before the answer is sent. A client that reads its answer
    // slowly therefore uses no part of the concurrency limit.
    const result = await handle(exchange, route, params, together, remember)
    return replyTo(result, { request_id, method, ifNoneMatch: headers['if-none-match'] })
  }

  /** Finds the route of a request. A request without a route counts by its address too. */
  const findRoute = (exchange: Exchange) => {
    const { method, target } = exchange
    try {
      if (target.path === '') throw outsideOf(target.prefix)
      return router.find(method, target.path)
    } catch (error) {
      admission.consumeByAddress(exchange)
      throw error
    }
  }

  const handle = async (
    exchange: Exchange,
    route: AnyRoute,
    params: Params,
    together: Together,
    remember: Remember | undefined,
  ): Promise<Result> => {
    const { credential, readBody, handler, description } = route
    const { headers, request_id, target } = exchange
    const { caller, memory, release } = await admission.admit(exchange, route, together)
    try {
      const idempotencyKey = singleValueOf(headers['idempotency-key'], 'Idempotency-Key')
      const ifMatch = description.takesIfMatch && { ifMatch: exchange.header('if-match') }
      const options = { requestId: request_id, idempotencyKey, ...ifMatch }
      assertSentOnce(target, route)
      // Nothing may throw between `readBody` and the handler: only the handler deletes the uploaded
      // file.
      const sent =
        readBody === noBody ? undefined : await readBody(exchange.openBody(), limits, memory)
      const body = readBody === json ? documentedFields(sent, description) : sent
      const { query, prefix } = target
      const call = { till, caller, body, params, query, prefix, options, context }
      const result = await together(() => handler(call))
      // A public document is cached elsewhere, and has no caller.
      if (description.isCached && credential.scope) {
        remember?.({ route, caller: caller as Session, answer: result })
      }
      return result
    } catch (error) {
      await credential.confirm?.(till, headers)
      throw error
    } finally {
      release()
    }
  }

  /**
   * Creates the reply to a read from its cached answer. Throws 429 when a rate limit is exceeded.
   * Returns undefined when the token has expired.
   */
  const repeat = (exchange: Exchange, read: CacheableRead): Reply | undefined => {
    const { route, caller, answer } = read
    if (till.sessions.isExpired(caller)) return undefined
    const { method, headers, request_id } = exchange
    exchange.route = route
    cors?.expose(exchange.answer, headers.origin)
    admission.admitRepeated(exchange, read)
    return replyTo(answer, { request_id, method, ifNoneMatch: headers['if-none-match'] }) as Reply
  }

  /** Lists the methods of a path. Answers CORS preflights for routes that browsers may call. */
  const answerOptions = (exchange: Exchange, onPath: readonly AnyRoute[]): Reply => {
    const wanted = exchange.header('access-control-request-method')
    const open = onPath.filter(({ credential }) => credential.isForBrowsers)
    // Allows a preflight only if a route that browsers may call has the requested method. To leave
    // POST out of `Access-Control-Allow-Methods` is not enough: browsers send it anyway.
    if (wanted && open.some(({ method }) => method === wanted || wanted === 'HEAD')) {
      cors?.permit(exchange.answer, exchange.headers.origin, methodsOf(open))
    }
    return reply(204, ['allow', methodsOf(onPath), 'x-request-id', exchange.request_id])
  }

  const { acquireRead, releaseRead } = admission
  return { has: router.has, respond, repeat, acquireRead, releaseRead }
}

/** Logs a request, and counts it in the metrics. */
export function recordOutcome(
  { record, metrics }: ServerContext,
  { route, account_id }: Exchange,
  outcome: Outcome,
  failure: unknown,
): void {
  record?.(outcome)
  if (failure === undefined || route?.kind !== 'uploads' || !account_id) return
  metrics?.observeFailedImport(outcome.status)
}

/** Throws if a documented query parameter was sent more than once. The API ignores others. */
function assertSentOnce({ repeated }: Target, { description: { query } }: AnyRoute): void {
  const name = query && repeated.find((each) => Object.hasOwn(fieldsOf(query), each))
  if (name === undefined) return
  throw invalidOption(name, 'may be sent only once')
}

function outsideOf(basePath: string): TransportFault {
  return new TransportFault('route_not_found', `All routes are below ${basePath}`)
}

/**
 * The documented fields of a JSON body. The API ignores other fields, but the library rejects them.
 */
function documentedFields(body: unknown, { body: schema }: RouteDescription): object {
  const names = schema ? Object.keys(fieldsOf(schema)) : []
  const given = body as { readonly [field: string]: unknown }
  return Object.fromEntries(names.map((name) => [name, given[name]]))
}
