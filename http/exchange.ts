import type { RequestBody } from './body.ts'
import type { AnswerHeaders, RequestHeaders } from './headers.ts'
import type { Outcome } from './log.ts'
import type { Target } from './target.ts'

/** A request, of `node:http` or of fetch, and facts that are added while it is handled. */
export interface Exchange {
  /** The request object with which the handler was called. */
  readonly request: unknown
  readonly answer: AnswerHeaders
  readonly method: string
  readonly target: Target
  readonly headers: RequestHeaders
  readonly request_id: string
  /** The address of the client. */
  readonly client: string
  route: { readonly path: string; readonly kind: unknown } | undefined
  /** The account; set once the credential is verified. */
  account_id: string | undefined
  project_id: string | undefined
  /** Returns a header that only a few routes need. `headers` has the others. */
  header(name: string): string | undefined
  openBody(): RequestBody
}

/** The outcome of a request, for the log and the metrics. Handling it took `ms` milliseconds. */
export function outcomeOf(
  { method, route, request_id, client, account_id, project_id }: Exchange,
  ms: number,
  status: number,
  fault: unknown,
): Outcome {
  const path = route?.path ?? null
  return { method, route: path, status, ms, request_id, client, account_id, project_id, fault }
}

/** Whether an error has a cause. Only the log shows causes, never an answer. */
export function hasCause(failure: unknown): boolean {
  return failure instanceof Error && failure.cause !== undefined
}
