import { assertSpelling, type Session, type Till, TillError } from '../lib/index.ts'
import { createAdmission } from './admission.ts'
import { noBody } from './body.ts'
import type { Exchange } from './exchange.ts'
import { singleValueOf, type Target } from './head.ts'
import { manageRoutes } from './manage/routes.ts'
import { openApiRoute } from './openapi.ts'
import { createConsoleRoutes, createReferenceRoutes } from './pages.ts'
import { assertIdsOfPath, invalidOption, TransportFault } from './problems.ts'
import type { CacheableRead } from './repeated-reads.ts'
import { type Reply, replyTo } from './reply.ts'
import type { AnyRoute, Params, Result } from './route.ts'
import { createRouter, methodsOf } from './router.ts'
import { metricsRoute, routes, startRoute } from './routes.ts'
import type { ServerContext } from './server-context.ts'

type Remember = (read: CacheableRead) => void

/** Answers requests, both of `node:http` and of fetch. */
export function createCore(till: Till, context: ServerContext) {
  const { limits, cors } = context
  const admission = createAdmission(till, context)
  const served = [
    ...routes,
    startRoute,
    openApiRoute,
    ...(context.metrics ? [metricsRoute] : []),
    ...(context.manage ? manageRoutes : []),
    ...(context.docs ? createReferenceRoutes() : []),
    ...(context.console ? createConsoleRoutes() : []),
  ]
  const router = createRouter(served)

  /**
   * Answers a request. Throws an error that becomes a problem document. `remember` is called with
   * the answer of a read that may be cached.
   */
  const respond = async (exchange: Exchange, remember?: Remember): Promise<Reply> => {
    const { method, target, answer, headers } = exchange
    if (method === 'OPTIONS' && target.path !== '') {
      return answerOptions(exchange, target.path === '*' ? served : router.on(target.path))
    }
    const found = findRoute(exchange)
    exchange.route = found.route
    if (found.route.credential.isForBrowsers) cors?.expose(answer, headers.origin)
    // `handle` stops counting the request before the answer is sent. A client that reads its answer
    // slowly therefore uses no part of the concurrency limit.
    return replyTo(await handle(exchange, found, remember), exchange)
  }

  /** Finds the route of a request. A request without a route counts by its address too. */
  const findRoute = (exchange: Exchange) => {
    const { method, target } = exchange
    try {
      if (target.path === '') {
        throw new TransportFault('route_not_found', `All routes are below ${target.prefix}`)
      }
      return router.find(method, target.path)
    } catch (error) {
      admission.consumeByAddress(exchange)
      throw error
    }
  }

  const handle = async (
    exchange: Exchange,
    { route, sentParams, fields, parameters }: ReturnType<typeof router.find>,
    remember: Remember | undefined,
  ): Promise<Result> => {
    const { credential, readBody, handler, description } = route
    const { headers, request_id, target, together } = exchange
    const { caller, memory, refund, release } = await admission.admit(exchange, route)
    let signal: AbortSignal | undefined
    try {
      const idempotencyKey = singleValueOf(headers['idempotency-key'], 'Idempotency-Key')
      const ifMatch = description.etag === 'matched' && { ifMatch: exchange.header('if-match') }
      const options = { requestId: request_id, idempotencyKey, ...ifMatch }
      const params = decodeParams(sentParams)
      assertQuery(target, parameters, description)
      // Nothing may throw between `readBody` and the handler: only the handler deletes the uploaded
      // file.
      const sent = readBody === noBody ? undefined : await readBody(exchange, limits, memory)
      const body = fields ? pick(fields, sent as Body, params) : sent
      const { query, prefix } = target
      signal = isLong(route) ? exchange.signal : undefined
      const call = { till, caller, body, params, query, prefix, options, signal, context }
      const run = () => together(() => handler(call))
      const result = description.isInTurn
        ? await runInTurn(exchange, description.isInTurn, run)
        : await run()
      // A public document is cached elsewhere, and has no caller.
      if (description.etag === 'cached' && credential.scope) {
        remember?.({ route, caller: caller as Session, answer: result })
      }
      return result
    } catch (error) {
      refund()
      if (signal?.aborted) throw exchange.hangUp ?? error
      await credential.confirm?.(till, headers)
      throw error
    } finally {
      release()
    }
  }

  /** Runs a handler in a turn of its account, unless the client has gone meanwhile. */
  const runInTurn = (exchange: Exchange, kind: true | 'page', run: () => Promise<Result>) => {
    const turns = kind === 'page' ? context.pageTurns : context.turns
    return turns.run(exchange.account_id ?? '', async () => {
      if (exchange.hangUp) throw exchange.hangUp
      return run()
    })
  }

  /**
   * Creates the reply to a read from its cached answer. Throws 429 when a rate limit is exceeded.
   * Returns undefined when the token has expired.
   */
  const repeat = (exchange: Exchange, read: CacheableRead): Reply | undefined => {
    const { route, caller, answer } = read
    if (till.sessions.isExpired(caller)) return undefined
    exchange.route = route
    cors?.expose(exchange.answer, exchange.headers.origin)
    admission.admitCached(exchange, route.credential, caller)
    return replyTo(answer, exchange) as Reply
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
    const headers = ['allow', methodsOf(onPath), 'x-request-id', exchange.request_id]
    return { status: 204, headers }
  }

  /** Whether to answer a path before the routes of a host, whose start page is its own. */
  const has = (path: string) => path !== startRoute.path && router.has(path)
  return { has, respond, repeat }
}

/** Whether a request may go on for long after its client has gone. */
function isLong({ kind }: AnyRoute): boolean {
  return kind === 'reports' || kind === 'uploads'
}

/** How other APIs page. If they were ignored, each page would be the first, and a loop endless. */
const OTHER_PAGING = ['offset', 'page', 'skip', 'page_size', 'per_page']

/**
 * Throws if a documented query parameter was sent more than once or in another spelling. Others are
 * ignored, unless the route refuses them.
 */
function assertQuery(
  { query, repeated }: Target,
  parameters: readonly string[],
  { refusesParameters = false }: AnyRoute['description'],
): void {
  const names = Object.keys(query)
  if (names.length === 0) return
  const twice = repeated.find((each) => parameters.includes(each))
  if (twice !== undefined) throw invalidOption(twice, 'may be sent only once')
  const paging = parameters.includes('cursor') && OTHER_PAGING.find((each) => names.includes(each))
  if (paging) throw invalidOption(paging, 'is unknown: pages have a limit and a cursor')
  assertSpelling(names, parameters, { noun: 'parameter', ignoresOthers: !refusesParameters })
}

type Body = { readonly [field: string]: unknown }

/**
 * The documented fields of a body. The API ignores other fields, but the library rejects them. Throws
 * for a documented field in another spelling, and for an id that differs from that in the path.
 */
function pick(fields: readonly string[], sent: Body, params: Params): Body {
  const unknown = Object.keys(sent).filter((name) => !fields.includes(name))
  if (unknown.length > 0) assertSpelling(unknown, fields)
  assertIdsOfPath(params, sent)
  const picked: { [field: string]: unknown } = {}
  for (const field of fields) picked[field] = sent[field]
  return picked
}

/** Percent-decodes the parameters of a path. */
function decodeParams(sent: Params): Params {
  const params: { [name: string]: string } = {}
  for (const name in sent) {
    try {
      params[name] = decodeURIComponent(sent[name] as string)
    } catch {
      const message = `The ${name} in the path is not valid percent-encoding`
      throw new TillError('invalid_request', message)
    }
  }
  return params
}
