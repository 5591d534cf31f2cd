import { TransportFault } from './problems.ts'

/** The part of a route that the router uses. Path segments that begin with `:` are parameters. */
export interface Routable {
  readonly method: string
  readonly path: string
}

/** The parameters of a path, percent-decoded; undefined if the encoding is malformed. */
export type Params = { readonly [name: string]: string | undefined }

const noParams: Params = Object.freeze({})

export function createRouter<R extends Routable>(routes: readonly R[]) {
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
    on: (path: string): readonly R[] => (path === '*' ? routes : on(path)),
    /** Whether a path has a route. */
    has: (path: string) => compiled.some(({ pattern }) => pattern.test(path)),
    /**
     * Finds the route of a request. HEAD uses the route of GET. Throws 404 for an unknown path.
     * Throws 405 with an `Allow` header when the path does not have the method.
     */
    find(method: string, path: string): { readonly route: R; readonly params: Params } {
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
export function methodsOf(routes: readonly Routable[]): string {
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
