import type { CallOptions, ErrorCode, Till } from '../lib/index.ts'
import { type BodyReader, noBody } from './body.ts'
import type { RequestKind } from './concurrency.ts'
import type { Credential } from './credentials.ts'
import type { FaultCode } from './faults.ts'
import type { HeaderName } from './openapi/headers.ts'
import type { SchemaName } from './openapi/schemas.ts'
import { type ResponseHeaders, TransportFault } from './problems.ts'
import type { Representation, StreamedBody } from './representation.ts'
import type { ServerContext } from './server-context.ts'
import { form } from './upload.ts'

export interface Route<Caller, Body> {
  readonly method: string
  readonly path: string
  readonly credential: Credential<Caller>
  readonly readBody: BodyReader<Body>
  /** Selects the concurrency limit of the route. */
  readonly kind: RequestKind | KindOfQuery
  readonly handler: (call: Call<Caller, Body>) => Promise<Result>
  readonly description: RouteDescription
}

type KindOfQuery = (query: Call<unknown, unknown>['query']) => RequestKind

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

/** The parameters of a path, percent-decoded; undefined if the encoding is malformed. */
export type Params = { readonly [name: string]: string | undefined }

const noParams: Params = Object.freeze({})

/** Path segments that begin with `:` are parameters. */
export function createRouter(routes: readonly AnyRoute[]) {
  const compiled = routes.map((route) => ({
    route,
    pattern: patternOf(route.path),
    names: namesOf(route.path),
  }))

  const on = (path: string) => {
    const onPath = compiled.filter(({ pattern }) => pattern.test(path))
    if (onPath.length === 0) throw new TransportFault('route_not_found', explainUnknown(path))
    return onPath.map(({ route }) => route)
  }

  return {
    /** Returns the routes of a path, or all routes for `*`. Throws 404 for an unknown path. */
    on: (path: string): readonly AnyRoute[] => (path === '*' ? routes : on(path)),
    /** Whether a path has a route. */
    has: (path: string) => compiled.some(({ pattern }) => pattern.test(path)),
    /**
     * Finds the route of a request. HEAD uses the route of GET. Throws 404 for an unknown path.
     * Throws 405 with an `Allow` header when the path does not have the method.
     */
    find(method: string, path: string): { readonly route: AnyRoute; readonly params: Params } {
      const wanted = method === 'HEAD' ? 'GET' : method
      for (const { route, pattern, names } of compiled) {
        if (route.method !== wanted) continue
        const match = pattern.exec(path)
        if (match) return { route, params: names.length > 0 ? paramsOf(match, names) : noParams }
      }
      const allow = methodsOf(on(path))
      throw new TransportFault('method_not_allowed', `This path allows ${allow}`, { allow })
    },
  }
}

/** Explains the most frequent mistake of a new mount or client: a prefix in front of `/api/v1`. */
function explainUnknown(path: string): string {
  if (path.indexOf('/api/v1/') <= 0) return 'No route has this path'
  return 'No route has this path: set the option basePath, or omit what is before /api/v1'
}

/** The methods of routes, as the `Allow` header lists them. */
export function methodsOf(routes: readonly Pick<AnyRoute, 'method'>[]): string {
  const methods = new Set(routes.map(({ method }) => method))
  if (methods.has('GET')) methods.add('HEAD')
  return [...methods, 'OPTIONS'].join(', ')
}

function patternOf(path: string): RegExp {
  return new RegExp(`^${path.replace(/:\w+/g, '([^/]+)')}$`)
}

function namesOf(path: string): readonly string[] {
  return [...path.matchAll(/:(\w+)/g)].map(([, name = '']) => name)
}

function paramsOf(match: RegExpExecArray, names: readonly string[]): Params {
  const params: { [name: string]: string | undefined } = {}
  for (const [index, name] of names.entries()) params[name] = decode(match[index + 1] as string)
  return params
}

function decode(value: string): string | undefined {
  if (!value.includes('%')) return value
  try {
    return decodeURIComponent(value)
  } catch {
    return undefined
  }
}
