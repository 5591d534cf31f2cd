import { TransportFault } from './problems.ts'

/** What a router needs to know of a route. Segments that begin with `:` are parameters. */
export interface Routable {
  readonly method: string
  readonly path: string
}

export interface Match<R> {
  readonly route: R
  /** The path's parameters, percent-decoded; undefined where the encoding is malformed. */
  readonly params: { readonly [name: string]: string | undefined }
}

/**
 * Finds the route of a request. Throws 404 for a path that no route has, and 405 with `Allow` for a
 * method that the path has not. HEAD goes where GET goes.
 */
export function createRouter<R extends Routable>(
  routes: readonly R[],
): (method: string, path: string) => Match<R> {
  const compiled = routes.map((route) => ({ route, pattern: patternOf(route.path) }))

  return (method, path) => {
    const onPath = compiled.filter(({ pattern }) => pattern.test(path))
    const wanted = method === 'HEAD' ? 'GET' : method
    const found = onPath.find(({ route }) => route.method === wanted)
    if (found) {
      const groups = found.pattern.exec(path)?.groups ?? {}
      const params = Object.entries(groups).map(([name, value]) => [name, decode(value)])
      return { route: found.route, params: Object.fromEntries(params) }
    }
    if (onPath.length === 0) throw new TransportFault('route_not_found', 'No route has this path')
    const methods = onPath.map(({ route }) => route.method)
    const allow = methods.includes('GET') ? [...methods, 'HEAD'] : methods
    throw new TransportFault('method_not_allowed', `This path takes ${allow.join(', ')}`, {
      allow: allow.join(', '),
    })
  }
}

function patternOf(path: string): RegExp {
  return new RegExp(`^${path.replace(/:(\w+)/g, '(?<$1>[^/]+)')}$`)
}

function decode(value: string): string | undefined {
  try {
    return decodeURIComponent(value)
  } catch {
    return undefined
  }
}
