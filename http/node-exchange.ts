import type { IncomingMessage, ServerResponse } from 'node:http'
import { clientAddress } from './address.ts'
import type { RequestBody } from './body.ts'
import { type Exchange, hasCause, outcomeOf } from './exchange.ts'
import { type RequestHeaders, requestIdOf } from './headers.ts'
import type { Outcome } from './log.ts'
import { headerOf, NodeBody } from './node-body.ts'
import type { ServerContext } from './server-context.ts'
import { type Target, targetOf } from './target.ts'

/** A request of `node:http` with its response. */
export class NodeExchange implements Exchange {
  readonly request: IncomingMessage
  readonly answer: ServerResponse
  readonly method: string
  readonly headers: RequestHeaders
  readonly request_id: string
  readonly client: string
  /**
   * The request target, as a cache key. Undefined if Express or Connect calls the handler: they may
   * have removed a prefix from the target.
   */
  readonly url: string | undefined
  /** The start time by `performance.now`; 0 if neither a log nor metrics use it. */
  readonly started: number
  readonly #basePath: string
  #target: Target | undefined = undefined
  route: Exchange['route'] = undefined
  account_id: string | undefined = undefined
  project_id: string | undefined = undefined

  constructor(
    request: IncomingMessage,
    response: ServerResponse,
    headers: RequestHeaders,
    { trustProxy, basePath, record }: ServerContext,
  ) {
    this.request = request
    this.answer = response
    this.method = request.method ?? 'GET'
    this.headers = headers
    this.request_id = requestIdOf(headers)
    this.client = clientAddress(request, headers, trustProxy)
    this.url = 'originalUrl' in request ? undefined : request.url
    this.started = record ? performance.now() : 0
    this.#basePath = basePath
  }

  get target(): Target {
    this.#target ??= targetOf(this.request, this.#basePath)
    return this.#target
  }

  header(name: string): string | undefined {
    return headerOf(this.request, name)
  }

  openBody(): RequestBody {
    return new NodeBody(this.request)
  }
}

/** Returns the outcome of a request for the log and the metrics. `failure` is the thrown value. */
export function nodeOutcomeOf(exchange: NodeExchange, failure: unknown): Outcome {
  const { request, answer: response, started } = exchange
  const isCut = response.destroyed && !response.writableEnded
  const isServerFault = response.statusCode === 500 || isCut || hasCause(failure)
  const fault = isServerFault && !isHangUp(request, failure) ? failure : undefined
  const statusWhenClosed = fault === undefined ? 499 : 500
  // The socket is destroyed if the client disconnected, or if an internal error cut off an answer.
  const status = request.socket.destroyed ? statusWhenClosed : response.statusCode
  return outcomeOf(exchange, performance.now() - started, status, fault)
}

/** Whether the request or its socket emitted this error, because the client disconnected. */
function isHangUp(request: IncomingMessage, failure: unknown): boolean {
  return failure === request.errored || failure === request.socket.errored
}
