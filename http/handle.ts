import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Readable } from 'node:stream'
import { type Till, TillError, type Together } from '../lib/index.ts'
import { hangUpError } from './body.ts'
import { discardRest, sendContinue } from './connections.ts'
import { createCore } from './core.ts'
import type { Exchange } from './exchange.ts'
import {
  assertHost,
  connectionAddress,
  forwardedAddress,
  type RequestHeaders,
  readChangedHeaders,
  requestIdOf,
  type Target,
  targetOf,
} from './head.ts'
import { hasCause, type Observer } from './log.ts'
import type { HandlerOptions } from './options.ts'
import { createPipelining } from './pipelining.ts'
import { type CacheableRead, createRepeatedReads } from './repeated-reads.ts'
import { problemReply, type Reply, sendReply } from './reply.ts'
import { createServerContext, type ServerContext } from './server-context.ts'

/** A request listener, which is also a middleware of Express and Connect. */
export interface RequestHandler {
  /** Calls `next` for paths that tillkit does not have. Without `next`, such paths get 404. */
  (request: IncomingMessage, response: ServerResponse, next?: () => void): void
  /** Answers `/readyz` with 503 from now on: load balancers then send requests elsewhere. */
  drain(): void
}

/** Marks a response that a handler is going to answer. A second handler must not answer it too. */
const TAKEN = Symbol('taken')

/**
 * Creates a request listener for any `node:http` server, and for frameworks that pass on its
 * requests. It serves the ten endpoints of the API and the operator's routes.
 *
 * @example
 * createServer(createHandler(till)).listen(3000)
 * app.use('/shop', createHandler(till)) // Express
 */
export function createHandler(till: Till, options: HandlerOptions = {}): RequestHandler {
  const context = createServerContext(till, options)
  const { basePath } = context
  const { has, start } = createListener(till, context, readChangedHeaders)

  const handler = (request: IncomingMessage, response: ServerResponse, next?: () => void) => {
    if (typeof response?.writeHead !== 'function') {
      throw new TypeError('createHandler is for node:http: use createFetchHandler for a Request')
    }
    if (next && !has(targetOf(request, basePath).path)) return next()
    if (TAKEN in response) {
      throw new TypeError('this request already has a handler of tillkit: mount only one')
    }
    ;(response as { [TAKEN]?: true })[TAKEN] = true
    if (!response.headersSent) start(request, response)
  }
  const drain = () => {
    context.isStopping = true
  }
  return Object.assign(handler, { drain })
}

/** Creates the listener of `createHandler` or `serve`. They read the headers by `read`. */
export function createListener(
  till: Till,
  context: ServerContext,
  read: (request: IncomingMessage) => RequestHeaders,
) {
  const { limits, observe, concurrency } = context
  const { reads } = concurrency
  const startPipelined = createPipelining(limits.pipelined)
  const { has, respond, repeat } = createCore(till, context)
  const repeated = till.dataVersion && createRepeatedReads(till.dataVersion)

  const answer = async (exchange: NodeExchange) => {
    const remember = isRead(exchange) ? repeated?.startRead(exchange) : undefined
    try {
      assertHost(exchange.request, exchange.headers)
      const reply = await respond(exchange, remember)
      const sending = send(exchange, reply)
      if (sending) await sending
    } catch (error) {
      fail(exchange, error)
    }
  }

  const run = (exchange: NodeExchange) => {
    answer(exchange).catch(() => exchange.request.socket.destroy?.())
  }

  /** Sends a cached answer. Not async: that would take 0.3 µs more. */
  const answerAgain = (exchange: NodeExchange, known: CacheableRead) => {
    try {
      const reply = repeat(exchange, known)
      if (!reply) return run(exchange)
      send(exchange, reply)
    } catch (error) {
      fail(exchange, error)
    }
  }

  /** Sends a reply. For a stream, resolves when all of it is sent. */
  const send = (exchange: NodeExchange, reply: Reply, failure?: unknown) => {
    const sending = sendReply(exchange.request, exchange.answer, reply, context)
    if (sending) return sending.then(() => finish(exchange, failure))
    finish(exchange, failure)
    return undefined
  }

  /**
   * Sends a problem document. If a part of the answer is already sent, disconnects the client
   * instead.
   */
  const fail = (exchange: NodeExchange, error: unknown) => {
    const { answer: response, request_id } = exchange
    if (!response.headersSent) return send(exchange, problemReply(error, request_id), error)
    response.destroy() // the client sees that the answer is incomplete
    return finish(exchange, error)
  }

  const finish = (exchange: NodeExchange, failure: unknown) => {
    discardRest(exchange.request, exchange.answer, limits)
    if (observe) observeOutcome(exchange, observe, failure)
  }

  /** Sends a cached answer if the data has not changed since, else runs the request. */
  const checkAndAnswer = (exchange: NodeExchange, known: CacheableRead) => {
    const account = known.caller.account_id
    reads.acquire(account) // the read counts in the concurrency limit during the check
    repeated?.check((isCurrent) => {
      reads.release(account)
      if (!isCurrent) return run(exchange)
      try {
        answerAgain(exchange, known)
      } catch {
        exchange.request.socket.destroy?.()
      }
    })
  }

  const start = (request: IncomingMessage, response: ServerResponse) => {
    response.on('error', ignore) // the error means that the client reset the connection
    const create = () =>
      new NodeExchange(request, response, read(request), context, till.together())
    if (!response.socket) return startPipelined(request.socket, response, () => run(create()))
    const exchange = create()
    const known = isRead(exchange) ? repeated?.find(exchange) : undefined
    if (known && reads.hasRoom(known.caller.account_id)) checkAndAnswer(exchange, known)
    else run(exchange)
  }
  return { has, start }
}

function isRead({ method }: NodeExchange): boolean {
  return method === 'GET' || method === 'HEAD'
}

function ignore(): void {}

/**
 * A request of `node:http` with its response, or objects that imitate them, such as those of
 * Fastify's `inject`.
 */
class NodeExchange implements Exchange {
  readonly request: IncomingMessage & { readonly body?: unknown }
  readonly answer: ServerResponse
  readonly method: string
  readonly headers: RequestHeaders
  readonly request_id: string
  readonly together: Together
  readonly client: string
  /**
   * The request target, as a cache key. Undefined if Express or Connect calls the handler: they may
   * have removed a prefix from the target.
   */
  readonly url: string | undefined
  /** The start time by `performance.now`; 0 if neither a log nor metrics use it. */
  readonly started: number
  readonly #basePath: string
  #hangUp: Error | undefined = undefined
  #target: Target | undefined = undefined
  route: Exchange['route'] = undefined
  account_id: string | undefined = undefined
  project_id: string | undefined = undefined

  constructor(
    request: IncomingMessage,
    response: ServerResponse,
    headers: RequestHeaders,
    { trustProxy, basePath, observe }: ServerContext,
    together: Together,
  ) {
    this.request = request
    this.answer = response
    this.method = request.method ?? 'GET'
    this.headers = headers
    this.together = together
    this.request_id = requestIdOf(headers)
    this.client = forwardedAddress(headers, trustProxy) ?? connectionAddress(request.socket)
    this.url = 'originalUrl' in request ? undefined : request.url
    this.started = observe ? performance.now() : 0
    this.#basePath = basePath
  }

  get target(): Target {
    this.#target ??= targetOf(this.request, this.#basePath)
    return this.#target
  }

  /** The value of a header. Node joins the values of a repeated header, or keeps the first. */
  header(name: string): string | undefined {
    const value = this.request.headers[name]
    return Array.isArray(value) ? value.join() : value
  }

  get isBodyRead(): boolean {
    return this.request.readableDidRead || this.request.readableEnded
  }

  get parsedBody(): unknown {
    return this.request.readableEnded ? this.request.body : undefined
  }

  get hangUp(): Error | undefined {
    if (!this.request.socket.destroyed) return undefined
    this.#hangUp ??= hangUpError(this.request)
    return this.#hangUp
  }

  /** A new signal each time. Most requests need none. */
  get signal(): AbortSignal {
    const gone = new AbortController()
    const end = () => gone.abort(this.hangUp)
    if (this.hangUp) end()
    else this.answer.once('close', end)
    return gone.signal
  }

  openBody(): Readable {
    sendContinue(this.request, this.answer)
    return this.request
  }
}

/** Logs a request, and counts it in the metrics. `failure` is the thrown value. */
function observeOutcome(exchange: NodeExchange, observe: NonNullable<Observer>, failure: unknown) {
  const { request, answer: response, started } = exchange
  // The credential was revoked while the answer was sent.
  const isRevoked = failure instanceof TillError && failure.kind === 'unauthenticated'
  const isCut = response.destroyed && !response.writableEnded && !isRevoked
  const isServerFault = response.statusCode === 500 || isCut || hasCause(failure)
  const isFault = failure !== undefined && isServerFault && !isHangUp(exchange, failure)
  // The socket is destroyed if the client disconnected, or if an internal error cut off an answer.
  const statusWhenClosed = isFault ? 500 : 499
  const status = request.socket.destroyed ? statusWhenClosed : response.statusCode
  observe(exchange, { status, ms: performance.now() - started, failure, isFault })
}

/** Whether a request failed with this error because its client disconnected. */
function isHangUp({ hangUp, request }: NodeExchange, failure: unknown): boolean {
  return [hangUp, request.errored, request.socket.errored].includes(failure as Error)
}
