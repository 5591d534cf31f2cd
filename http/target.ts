/** A parsed request target. */
export interface Target {
  /** The path under which the handler is mounted; '' at the root. */
  readonly prefix: string
  /** The path below the prefix; '' for a request outside of the base path. */
  readonly path: string
  /** The first value of each query parameter. */
  readonly query: { readonly [name: string]: string }
  /** The names of the query parameters that were sent more than once. */
  readonly repeated: readonly string[]
}

/** A request, with the properties that Express and Connect add below a prefix. */
interface MountedRequest {
  readonly url?: string | undefined
  readonly originalUrl?: unknown
  readonly baseUrl?: unknown
}

/**
 * Parses the target of a request. Express and Connect may have removed a prefix from `url`. The
 * prefix may include the base path, so the base path is looked up in `originalUrl`.
 */
export function targetOf(request: MountedRequest, basePath: string): Target {
  const { url = '/', originalUrl } = request
  const isMounted = typeof originalUrl === 'string'
  if (basePath !== '') {
    assertMount(request.baseUrl, basePath)
    return below(basePath, parseTarget(isMounted ? originalUrl : url))
  }
  const target = parseTarget(url)
  return isMounted ? { ...target, prefix: removedPrefix(request, originalUrl) } : target
}

/** Throws a TypeError if Express has mounted the handler at a path outside of its `basePath`. */
function assertMount(mount: unknown, basePath: string): void {
  if (typeof mount !== 'string' || mount === '' || mount === basePath) return
  // Ignores case, as Express does. Otherwise a request for `/SHOP` could cause the TypeError.
  const [outer, inner] = [`${mount}/`.toLowerCase(), `${basePath}/`.toLowerCase()]
  if (outer.startsWith(inner) || inner.startsWith(outer)) return
  throw new TypeError(
    `the handler is mounted at ${mount}, but its basePath is ${basePath}: omit basePath in Express`,
  )
}

/** The target below the base path. The target `*` of OPTIONS is below every path. */
export function below(basePath: string, { path, ...rest }: Target): Target {
  const isBelow = path.startsWith(basePath) && (path[basePath.length] ?? '/') === '/'
  if (isBelow) return { ...rest, prefix: basePath, path: path.slice(basePath.length) || '/' }
  return { ...rest, prefix: basePath, path: path === '*' ? path : '' }
}

/** Parses a target without `new URL`, which throws for "//" and normalizes other targets. */
export function parseTarget(target: string): Target {
  const origin = target.startsWith('/') ? '' : originOf(target)
  const mark = target.indexOf('?', origin.length)
  const path = target.slice(origin.length, mark < 0 ? undefined : mark) || '/'
  return { prefix: '', path, ...(mark < 0 ? noQuery : parseQuery(target.slice(mark + 1))) }
}

const PATH = /^(?:\/(?!\.{1,2}(?:\/|$))[\w.~!$&'()*+,;=:@%-]+)+$/

/** Whether a base path is empty or a path like `/shop`. */
export function isBasePath(value: unknown): boolean {
  return typeof value === 'string' && (value === '' || PATH.test(value))
}

// The prefix that the framework has removed; '' if it is malformed. The client can choose parts of
// the prefix, and the `Link` header contains it.
function removedPrefix({ url = '/', baseUrl }: MountedRequest, originalUrl: string): string {
  const removed = originalUrl.endsWith(url) ? originalUrl.slice(0, -url.length) : ''
  const prefix = typeof baseUrl === 'string' ? baseUrl : removed
  return PATH.test(prefix) ? prefix : ''
}

type Query = Pick<Target, 'query' | 'repeated'>

const noQuery: Query = { query: Object.freeze(Object.create(null)), repeated: [] }

// The origin of a target in absolute form (RFC 9112 section 3.2.2); '' if there is none.
function originOf(target: string): string {
  return /^https?:\/\/[^/?]*/i.exec(target)?.[0] ?? ''
}

/** Parses the query. Handles a single plain parameter itself: URLSearchParams takes 1.5 µs. */
function parseQuery(text: string): Query {
  const query: { [name: string]: string } = Object.create(null)
  const repeated: string[] = []
  const plain = /^([\w-]+)=([\w.-]*)$/.exec(text)
  if (plain) query[plain[1] as string] = plain[2] as string
  else {
    for (const [name, value] of new URLSearchParams(text)) {
      if (query[name] === undefined) query[name] = value
      else repeated.push(name)
    }
  }
  return { query, repeated }
}
