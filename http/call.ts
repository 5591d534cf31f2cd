import type { CallOptions, Till } from '../lib/index.ts'
import type { ResponseHeaders } from './problems.ts'
import type { Representation, StreamedBody } from './representation.ts'
import type { ServerContext } from './server-context.ts'

/** The input of a route's handler: the till, the verified caller and the parsed request. */
export interface Call<Caller, Body> {
  readonly till: Till
  readonly caller: Caller
  readonly body: Body
  /** The path parameters, percent-decoded; undefined if the encoding is malformed. */
  readonly params: { readonly [name: string]: string | undefined }
  /** The query parameters. A documented one was sent at most once. */
  readonly query: { readonly [name: string]: string }
  /** The path under which the handler is mounted; '' at the root. */
  readonly prefix: string
  readonly options: CallOptions
  readonly context: ServerContext
}

/**
 * The result of a handler, sent with status 200. An object is sent as JSON. For a string, `headers`
 * must have a `content-type`.
 */
export interface Result {
  readonly body: object | string | Representation | StreamedBody
  readonly headers?: ResponseHeaders
}
