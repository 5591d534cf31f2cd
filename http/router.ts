import { json, optionalJson } from './body.ts'
import { fieldsOf } from './openapi/schemas.ts'
import { TransportFault } from './problems.ts'
import type { AnyRoute } from './route.ts'

/** Finds routes by method and path. Segments of a path that begin with `:` are parameters. */
export function createRouter(routes: readonly AnyRoute[]) {
  const compiled = routes.map((route) => ({
    route,
    pattern: patternOf(route.path),
    /** The fields of the route's JSON body, if it has one. */
    fields: fieldsOfBody(route),
    /** The names of its query parameters. */
    parameters: parametersOf(route),
  }))
  /** Whether a path has a route. */
  const has = (path: string) => compiled.some(({ pattern }) => pattern.test(path))
  /** Returns the routes of a path. Throws 404 for an unknown path. */
  const on = (path: string) => {
    if (!has(path)) throw new TransportFault('route_not_found', explainUnknown(path))
    return routes.filter((_, index) => compiled[index]?.pattern.test(path))
  }
  /**
   * Finds the route of a request. HEAD uses the route of GET. Throws 404 for an unknown path. Throws
   * 405 with an `Allow` header when the path does not have the method.
   */
  const find = (method: string, path: string) => {
    const wanted = method === 'HEAD' ? 'GET' : method
    for (const { route, pattern, fields, parameters } of compiled) {
      const match = route.method === wanted ? pattern.exec(path) : null
      if (match) return { route, fields, parameters, sentParams: match.groups ?? {} }
    }
    const allow = methodsOf(on(path))
    throw new TransportFault('method_not_allowed', `This path allows ${allow}`, { allow })
  }
  return { has, on, find }
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

function fieldsOfBody({ readBody, description: { body } }: AnyRoute) {
  if (readBody !== json && readBody !== optionalJson) return undefined
  return body ? Object.keys(fieldsOf(body)) : []
}

function parametersOf({ description: { query } }: AnyRoute): readonly string[] {
  return query ? Object.keys(fieldsOf(query)) : []
}

function patternOf(path: string): RegExp {
  return new RegExp(`^${path.replace(/:(\w+)/g, '(?<$1>[^/]+)')}$`)
}
