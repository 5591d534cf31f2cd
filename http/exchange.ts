import type { Together } from '../lib/index.ts'
import type { RequestBody } from './body.ts'
import type { AnswerHeaders, RequestHeaders, Target } from './head.ts'

/** A request, of `node:http` or of fetch, and facts that are added while it is handled. */
export interface Exchange extends RequestBody {
  /** The request object with which the handler was called. */
  readonly request: unknown
  readonly answer: AnswerHeaders
  readonly method: string
  readonly target: Target
  readonly headers: RequestHeaders
  readonly request_id: string
  /** Runs the library calls of the request, which share one check for changes of the database. */
  readonly together: Together
  /** Aborted when the client has gone. */
  readonly signal: AbortSignal
  /** The address of the client. */
  readonly client: string
  route: { readonly path: string; readonly kind: unknown } | undefined
  /** The account; set once the credential is verified. */
  account_id: string | undefined
  project_id: string | undefined
  /** Returns a header that only a few routes need. `headers` has the others. */
  header(name: string): string | undefined
}
