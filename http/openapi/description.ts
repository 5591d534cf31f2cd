import type { ErrorCode } from '../../lib/index.ts'
import type { FaultCode } from '../faults.ts'
import type { HeaderName } from './headers.ts'
import type { SchemaName } from './schemas.ts'

/** The facts of a route that only its OpenAPI description needs. */
export interface RouteDescription {
  /** The name of the operation in generated clients. */
  readonly id: string
  readonly summary: string
  readonly description?: string
  /** The schema of the query parameters. */
  readonly query?: SchemaName
  readonly body?: SchemaName
  /** The schema of the answer with status 200. */
  readonly answer: SchemaName
  /** Further headers of the answer with status 200. */
  readonly headers?: readonly HeaderName[]
  /** Whether the answer has an ETag, and answers `If-None-Match` with 304. */
  readonly isCached?: true
  readonly takesIdempotencyKey?: true
  readonly takesIfMatch?: true
  /** Whether the path is an addition to the ten endpoints of the specification. */
  readonly isExtension?: true
  /** The errors of the route besides those of its credential, its body and the transport. */
  readonly errors?: readonly (ErrorCode | FaultCode)[]
}
