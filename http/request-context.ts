import type { IncomingMessage, ServerResponse } from 'node:http'
import type { RequestHeaders } from './headers.ts'
import type { Outcome } from './log.ts'
import type { AnyRoute } from './routes.ts'

/** One request with its response, and facts that are added while it is handled. */
export interface RequestContext {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly headers: RequestHeaders
  readonly request_id: string
  /** The address of the client. */
  readonly client: string
  route: AnyRoute | undefined
  /** The account; set once the credential is verified. */
  account_id: string | undefined
  project_id: string | undefined
}

/** Returns the outcome of a request for the log and the metrics. `failure` is the thrown value. */
export function outcomeOf(
  { request, response, route, request_id, client, account_id, project_id }: RequestContext,
  ms: number,
  failure: unknown,
): Outcome {
  // If the request or its socket emitted this error, the client disconnected.
  const isHangUp = failure === request.errored || failure === request.socket.errored
  const isCut = response.destroyed && !response.writableEnded
  const isServerFault = response.statusCode === 500 || isCut || hasCause(failure)
  const fault = isServerFault && !isHangUp ? failure : undefined
  const statusWhenClosed = fault === undefined ? 499 : 500
  return {
    method: request.method ?? '',
    route: route?.path ?? null,
    // After an internal error in the middle of an answer, the server has closed the connection.
    status: request.socket.destroyed ? statusWhenClosed : response.statusCode,
    ms,
    request_id,
    client,
    account_id,
    project_id,
    fault,
  }
}

/** Whether an error has a cause. Only the log shows causes, never an answer. */
function hasCause(failure: unknown): boolean {
  return failure instanceof Error && failure.cause !== undefined
}
