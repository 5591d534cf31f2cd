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

export interface Router<R> {
  /**
   * The route of a request. Throws 404 for a path that no route has, and 405 with `Allow` for a
   * method that the path has not. HEAD goes where GET goes.
   */
  find(method: string, path: string): Match<R>
  /** The routes of a path, or all for `*`; throws 404 when there is none. */
  on(path: string): readonly R[]
}

const noParams = Object.freeze({})

export function createRouter<R extends Routable>(routes: readonly R[]): Router<R> {
  const compiled = routes.map((route) => ({
    route,
    pattern: patternOf(route.path),
    names: namesOf(route.path),
  }))

  const on = (path: string) => {
    const onPath = compiled.filter(({ pattern }) => pattern.test(path))
    if (onPath.length === 0) throw new TransportFault('route_not_found', 'No route has this path')
    return onPath.map(({ route }) => route)
  }

  return {
    on: (path) => (path === '*' ? routes : on(path)),
    find(method, path) {
      const wanted = method === 'HEAD' ? 'GET' : method
      for (const { route, pattern, names } of compiled) {
        if (route.method !== wanted) continue
        const match = pattern.exec(path)
        if (match) return { route, params: names.length > 0 ? paramsOf(match, names) : noParams }
      }
      const allow = methodsOf(on(path))
      throw new TransportFault('method_not_allowed', `This path takes ${allow}`, { allow })
    },
  }
}

/** The methods of routes as a header lists them. */
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

function paramsOf(match: RegExpExecArray, names: readonly string[]) {
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
