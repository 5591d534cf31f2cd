import type { RequestBody } from './body.ts'
import type { RequestKind } from './concurrency.ts'
import type { AnswerHeaders, RequestHeaders } from './headers.ts'
import type { Outcome } from './log.ts'
import type { Target } from './target.ts'

/** A request, of `node:http` or of fetch, and facts that are added while it is handled. */
export interface Exchange {
  /** The request as the host passed it. */
  readonly request: unknown
  readonly answer: AnswerHeaders
  readonly method: string
  readonly target: Target
  readonly headers: RequestHeaders
  readonly request_id: string
  /** The address of the client. */
  readonly client: string
  route: { readonly path: string; readonly kind: RequestKind } | undefined
  /** The account; set once the credential is verified. */
  account_id: string | undefined
  project_id: string | undefined
  /** A header that most requests do not need. */
  header(name: string): string | undefined
  openBody(): RequestBody
}

/** The outcome of a request, without its status and fault. */
export function outcomeOf(
  { method, route, request_id, client, account_id, project_id }: Exchange,
  ms: number,
): Omit<Outcome, 'status' | 'fault'> {
  return { method, route: route?.path ?? null, ms, request_id, client, account_id, project_id }
}

/** Whether an error has a cause. Only the log shows causes, never an answer. */
export function hasCause(failure: unknown): boolean {
  return failure instanceof Error && failure.cause !== undefined
}
