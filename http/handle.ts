import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Till, Together } from '../lib/index.ts'
import { createCore, recordOutcome } from './core.ts'
import { assertHost, type RequestHeaders, readChangedHeaders, readHeaders } from './headers.ts'
import { discardRest } from './node-body.ts'
import { NodeExchange, nodeOutcomeOf } from './node-exchange.ts'
import type { HandlerOptions } from './options.ts'
import { createPipelining } from './pipelining.ts'
import { createRepeatedReads, type RepeatedRead } from './repeated-reads.ts'
import { problemReply, type Reply } from './reply.ts'
import { sendReply, watchSlowReader } from './send.ts'
import { createServerContext, type ServerContext } from './server-context.ts'
import { targetOf } from './target.ts'

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

/**
 * The listener of `serve`. It reads the raw headers, because no middleware can have changed them.
 */
export function createServerListener(till: Till, context: ServerContext) {
  return createListener(till, context, readHeaders).start
}

function createListener(
  till: Till,
  context: ServerContext,
  read: (request: IncomingMessage) => RequestHeaders,
) {
  const { limits, record } = context
  const startPipelined = createPipelining(limits.pipelined)
  const { has, respond, repeat, acquireRead, releaseRead } = createCore(till, context)
  const { revision } = till
  const repeated = revision && createRepeatedReads(revision)

  const answer = async (exchange: NodeExchange, together: Together) => {
    const { request, answer: response, headers } = exchange
    const remember = isRead(exchange) ? repeated?.recorder(exchange) : undefined
    let failure: unknown
    let reply: Reply | undefined
    try {
      assertHost(request, headers)
      reply = await respond(exchange, together, remember)
      const sending = sendReply(request, response, reply, context)
      if (sending) await sending
    } catch (error) {
      failure = error
      reply = sendFailure(exchange, error)
    }
    finish(exchange, reply, failure)
  }

  const answerAgain = (known: RepeatedRead) => {
    const { exchange } = known
    let failure: unknown
    let reply: Reply | undefined
    try {
      reply = repeat(exchange, known)
      if (!reply) return run(exchange, known.together)
      sendReply(exchange.request, exchange.answer, reply, context)
    } catch (error) {
      failure = error
      reply = sendFailure(exchange, error)
    }
    finish(exchange, reply, failure)
  }

  /** Answers one of several waiting reads. An error would leave the others unanswered. */
  const afterCheck = (known: RepeatedRead, isCurrent: boolean) => {
    const { exchange, together } = known
    releaseRead(known)
    if (!isCurrent) return run(exchange, together)
    try {
      answerAgain(known)
    } catch {
      exchange.request.socket.destroy?.()
    }
  }

  /**
   * Sends a problem document. If a part of the answer is already sent, disconnects the client
   * instead.
   */
  const sendFailure = ({ request, answer: response, request_id }: NodeExchange, error: unknown) => {
    if (response.headersSent) {
      response.destroy() // the client sees that the answer is incomplete
      return undefined
    }
    const reply = problemReply(error, request_id, limits)
    sendReply(request, response, reply, context)
    return reply
  }

  const finish = (exchange: NodeExchange, reply: Reply | undefined, failure: unknown) => {
    const { request, answer: response } = exchange
    discardRest(request, response, limits)
    const content = reply?.content
    watchSlowReader(request, response, content instanceof Buffer ? content : undefined, context)
    if (record) recordOutcome(context, exchange, nodeOutcomeOf(exchange, failure), failure)
  }

  const run = (exchange: NodeExchange, together: Together) => {
    answer(exchange, together).catch(() => exchange.request.socket.destroy?.())
  }

  const start = (request: IncomingMessage, response: ServerResponse) => {
    response.on('error', ignore) // the error means that the client reset the connection
    const { socket } = request
    if (!response.socket) {
      const later = () =>
        run(new NodeExchange(request, response, read(request), context), till.together())
      return startPipelined(socket, response, later)
    }
    const exchange = new NodeExchange(request, response, read(request), context)
    const together = till.together()
    const known = isRead(exchange) ? repeated?.find(exchange, together) : undefined
    if (known && acquireRead(known)) repeated?.check(known, afterCheck)
    else run(exchange, together)
  }
  return { has, start }
}

function isRead({ method }: NodeExchange): boolean {
  return method === 'GET' || method === 'HEAD'
}

function ignore(): void {}
