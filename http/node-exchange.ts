import type { IncomingMessage, ServerResponse } from 'node:http'
import type { RequestBody } from './body.ts'
import { type Exchange, hasCause, outcomeOf } from './exchange.ts'
import type { RequestHeaders } from './headers.ts'
import type { Outcome } from './log.ts'
import { headerOf, NodeBody } from './node-body.ts'
import type { Target } from './target.ts'

/** A request of `node:http` with its response. */
export class NodeExchange implements Exchange {
  readonly request: IncomingMessage
  readonly answer: ServerResponse
  readonly method: string
  readonly target: Target
  readonly headers: RequestHeaders
  readonly request_id: string
  readonly client: string
  route: Exchange['route'] = undefined
  account_id: string | undefined = undefined
  project_id: string | undefined = undefined

  constructor(
    request: IncomingMessage,
    response: ServerResponse,
    target: Target,
    headers: RequestHeaders,
    request_id: string,
    client: string,
  ) {
    this.request = request
    this.answer = response
    this.method = request.method ?? 'GET'
    this.target = target
    this.headers = headers
    this.request_id = request_id
    this.client = client
  }

  header(name: string): string | undefined {
    return headerOf(this.request, name)
  }

  openBody(): RequestBody {
    return new NodeBody(this.request)
  }
}

/** Returns the outcome of a request for the log and the metrics. `failure` is the thrown value. */
export function nodeOutcomeOf(exchange: NodeExchange, ms: number, failure: unknown): Outcome {
  const { request, answer: response } = exchange
  // If the request or its socket emitted this error, the client disconnected.
  const isHangUp = failure === request.errored || failure === request.socket.errored
  const isCut = response.destroyed && !response.writableEnded
  const isServerFault = response.statusCode === 500 || isCut || hasCause(failure)
  const fault = isServerFault && !isHangUp ? failure : undefined
  const statusWhenClosed = fault === undefined ? 499 : 500
  // After an internal error in the middle of an answer, the server has closed the connection.
  const status = request.socket.destroyed ? statusWhenClosed : response.statusCode
  return { ...outcomeOf(exchange, ms), status, fault }
}
