import type { CallOptions, Till } from '../lib/index.ts'
import type { ResponseHeaders } from './problems.ts'
import type { Representation, StreamedBody } from './representation.ts'
import type { ServerContext } from './server-context.ts'

/** The input of a handler: the verified caller, and the request in the library's terms. */
export interface Call<Caller, Body> {
  readonly till: Till
  readonly caller: Caller
  readonly body: Body
  /** Percent-decoded; undefined where the encoding is malformed. */
  readonly params: { readonly [name: string]: string | undefined }
  /** A repeated parameter has its first value. */
  readonly query: { readonly [name: string]: string }
  readonly options: CallOptions
  readonly context: ServerContext
}

/**
 * The output of a handler, sent with status 200. An object is sent as JSON. A string needs its own
 * `content-type` header.
 */
export interface Answer {
  readonly body: object | string | Representation | StreamedBody
  readonly headers?: ResponseHeaders
}
