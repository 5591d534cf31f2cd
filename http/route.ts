import type { CallOptions, ErrorCode, Till } from '../lib/index.ts'
import type { Operation } from '../lib/operations.ts'
import type { AdmissionRule } from './admission.ts'
import { type BodyReader, noBody } from './body.ts'
import type { Credential } from './credentials.ts'
import type { FaultCode } from './faults.ts'
import type { RequestKind } from './in-flight.ts'
import type { HeaderName } from './openapi/headers.ts'
import type { SchemaName } from './openapi/schemas.ts'
import type { ResponseHeaders } from './problems.ts'
import type { Representation, StreamedBody } from './representation.ts'
import type { ServerContext } from './server-context.ts'
import { form } from './upload.ts'

export interface Route<Caller, Body> extends AdmissionRule<Caller> {
  readonly method: string
  readonly path: string
  readonly readBody: BodyReader<Body>
  readonly handler: (call: Call<Caller, Body>) => Promise<Result>
  readonly description: RouteDescription
}

export type AnyRoute = Route<unknown, unknown>

/** Creates a route. The compiler checks that credential, body and handler fit together. */
export function route<Caller, Body>(
  method: string,
  path: string,
  credential: Credential<Caller>,
  readBody: BodyReader<Body>,
  handler: (call: Call<Caller, Body>) => Promise<Result>,
  description: RouteDescription,
  kind: Route<Caller, Body>['kind'] = kindOf(readBody as BodyReader<unknown>),
): AnyRoute {
  return { method, path, credential, readBody, kind, handler, description } as AnyRoute
}

function kindOf(readBody: BodyReader<unknown>): RequestKind {
  if (readBody === noBody) return 'reads'
  return readBody === form ? 'uploads' : 'writes'
}

/** The input of a route's handler: the till, the verified caller and the parsed request. */
export interface Call<Caller, Body> {
  readonly till: Till
  readonly caller: Caller
  readonly body: Body
  readonly params: Params
  /** The query parameters. A documented one was sent at most once. */
  readonly query: { readonly [name: string]: string }
  /** The path under which the handler is mounted; '' at the root. */
  readonly prefix: string
  readonly options: CallOptions
  /** Aborted when the client has gone; only for reports and uploads. */
  readonly signal: AbortSignal | undefined
  readonly context: ServerContext
}

/**
 * The result of a handler. An object is sent as JSON. For a string, `headers` must have a
 * `content-type`.
 */
export interface Result {
  readonly body: object | string | Representation | StreamedBody
  /** 200 by default. Only for objects and strings. */
  readonly status?: number
  readonly headers?: ResponseHeaders
}

/** The facts of a route for its OpenAPI description, and its use of ETags. */
export interface RouteDescription
  extends Pick<Operation, 'id' | 'summary' | 'description' | 'etag' | 'file' | 'repeat'> {
  readonly query?: SchemaName
  /** Whether a query parameter that is not in `query` is an error; others are ignored by default. */
  readonly refusesParameters?: boolean
  readonly body?: SchemaName
  readonly answer: SchemaName
  /** Further headers of the answer with status 200. */
  readonly headers?: readonly HeaderName[]
  /** Whether the path is an addition to the ten endpoints of the specification. */
  readonly isExtension?: true
  /**
   * Whether a request runs in a turn of its account. Other requests of the account wait. For a page,
   * the account has one turn, also on PostgreSQL.
   */
  readonly isInTurn?: boolean | 'page'
  /** The errors of the route besides those of its credential, its body and the transport. */
  readonly errors?: readonly (ErrorCode | FaultCode)[]
}

/** The parameters of a path. */
export type Params = { readonly [name: string]: string }
