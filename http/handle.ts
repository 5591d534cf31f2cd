import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Till } from '../lib/index.ts'
import { clientAddress } from './address.ts'
import { createCore, recordOutcome } from './core.ts'
import { discardRest } from './discard.ts'
import {
  assertHost,
  type RequestHeaders,
  readChangedHeaders,
  readHeaders,
  requestIdOf,
} from './headers.ts'
import { NodeExchange, nodeOutcomeOf } from './node-exchange.ts'
import type { HandlerOptions } from './options.ts'
import { createPipelining } from './pipelining.ts'
import { problemReply, type Reply } from './reply.ts'
import { sendReply, watchSlowReader } from './send.ts'
import { createServerContext, type ServerContext } from './server-context.ts'
import { type Target, targetOf } from './target.ts'

/** A request listener, which is also a middleware of Express and Connect. */
export interface RequestHandler {
  /** Calls `next` for paths that are not of tillkit; without it they get 404. */
  (request: IncomingMessage, response: ServerResponse, next?: () => void): void
  /** Answers `/readyz` with 503 from now on: load balancers then send requests elsewhere. */
  drain(): void
}

/** The responses that a handler has taken. A second handler must not answer them too. */
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
    const target = targetOf(request, basePath)
    if (next && !has(target.path)) return next()
    if (TAKEN in response) {
      throw new TypeError('this request already has a handler of tillkit: mount only one')
    }
    ;(response as { [TAKEN]?: true })[TAKEN] = true
    if (!response.headersSent) start(request, response, target)
  }
  const drain = () => {
    context.isStopping = true
  }
  return Object.assign(handler, { drain })
}

/** The listener of `serve`: no middleware changes its requests. */
export function createServerListener(till: Till, context: ServerContext) {
  const { start } = createListener(till, context, readHeaders)
  return (request: IncomingMessage, response: ServerResponse) =>
    start(request, response, targetOf(request, context.basePath))
}

function createListener(
  till: Till,
  context: ServerContext,
  read: (request: IncomingMessage) => RequestHeaders,
) {
  const { limits, trustProxy, record } = context
  const startPipelined = createPipelining(limits.pipelined)
  const { has, respond } = createCore(till, context)

  const answer = async (request: IncomingMessage, response: ServerResponse, target: Target) => {
    const started = record ? performance.now() : 0
    const headers = read(request)
    const request_id = requestIdOf(headers)
    const client = clientAddress(request, headers, trustProxy)
    const exchange = new NodeExchange(request, response, target, headers, request_id, client)
    let failure: unknown
    let reply: Reply | undefined
    try {
      assertHost(request, headers)
      reply = await respond(exchange)
      const sending = sendReply(request, response, reply, context)
      if (sending) await sending
    } catch (error) {
      failure = error
      if (response.headersSent)
        response.destroy() // the client notices the incomplete answer
      else {
        reply = problemReply(error, request_id, limits.problemBytes)
        sendReply(request, response, reply, context)
      }
    }
    discardRest(request, response, limits)
    const content = reply?.content
    watchSlowReader(request, response, content instanceof Buffer ? content : undefined, context)
    if (!record) return
    const outcome = nodeOutcomeOf(exchange, performance.now() - started, failure)
    recordOutcome(context, exchange, outcome, failure)
  }

  const start = (request: IncomingMessage, response: ServerResponse, target: Target) => {
    response.on('error', ignore) // the error means that the client reset the connection
    const { socket } = request
    const run = () => void answer(request, response, target).catch(() => socket.destroy?.())
    if (response.socket) run()
    else startPipelined(socket, response, run)
  }
  return { has, start }
}

function ignore(): void {}
