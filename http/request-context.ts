import type { IncomingMessage, ServerResponse } from 'node:http'
import type { RequestHeaders } from './headers.ts'
import type { Outcome } from './log.ts'
import type { AnyRoute } from './routes.ts'

/** One request with its response, and the facts that become known while it is handled. */
export interface RequestContext {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly headers: RequestHeaders
  readonly request_id: string
  /** The address of the client. */
  readonly client: string
  route: AnyRoute | undefined
  /** Set once the credential is verified. */
  account_id: string | undefined
  project_id: string | undefined
}

/** The result of a request for the log and the metrics. `failure` is the thrown error, if any. */
export function outcomeOf(
  { request, response, route, request_id, client, account_id, project_id }: RequestContext,
  ms: number,
  failure: unknown,
): Outcome {
  // An error event of the request or its socket means that the client hung up.
  const isHangUp = failure === request.errored || failure === request.socket.errored
  const isCut = response.destroyed && !response.writableEnded
  const isServerFault = response.statusCode === 500 || isCut || hasCause(failure)
  const fault = isServerFault && !isHangUp ? failure : undefined
  const statusWhenClosed = fault === undefined ? 499 : 500
  return {
    method: request.method ?? '',
    route: route?.path ?? null,
    // A fault in the middle of an answer has closed the connection.
    status: request.socket.destroyed ? statusWhenClosed : response.statusCode,
    ms,
    request_id,
    client,
    account_id,
    project_id,
    fault,
  }
}

/** A cause is never sent to the client; only the log shows it. */
function hasCause(failure: unknown): boolean {
  return failure instanceof Error && failure.cause !== undefined
}
