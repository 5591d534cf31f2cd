import type { ServerResponse } from 'node:http'
import type { HeaderValue } from './headers.ts'

/** CORS: lets scripts of other origins call routes (Fetch Standard, section 3.2). */
export interface Cors {
  /** Adds the header that lets a script of this origin read the answer. */
  expose(response: ServerResponse, origin: HeaderValue): void
  /** Answers a preflight request for a path that has `methods`. */
  permit(response: ServerResponse, origin: HeaderValue, methods: string): void
}

const REQUEST_HEADERS =
  'Authorization, Content-Type, If-None-Match, X-Public-Project-Key, X-Request-Id'

const EXPOSED_HEADERS = [
  'ETag, Link, X-Request-Id, Retry-After',
  'Import-Id, Import-Rows, Import-Skipped, Import-Updated, RateLimit, RateLimit-Policy',
].join(', ')

/** Seconds for which a browser may cache a preflight answer. Browsers may use less. */
const MAX_AGE = '7200'

/** Creates CORS for a list of origins; `*` allows any. Throws a TypeError for an invalid origin. */
export function createCors(origins: readonly string[]): Cors {
  for (const origin of origins) {
    if (!isOrigin(origin)) throw new TypeError(`${JSON.stringify(origin)} is not an origin`)
  }
  const any = origins.includes('*')
  const known = new Set(origins)

  const allow = (response: ServerResponse, origin: HeaderValue): boolean => {
    if (!any) response.setHeader('vary', 'Origin')
    if (typeof origin !== 'string' || !(any || known.has(origin))) return false
    response.setHeader('access-control-allow-origin', any ? '*' : origin)
    return true
  }

  return {
    expose(response, origin) {
      if (!allow(response, origin)) return
      response.setHeader('access-control-expose-headers', EXPOSED_HEADERS)
    },
    permit(response, origin, methods) {
      if (!allow(response, origin)) return
      response.setHeader('access-control-allow-methods', methods)
      response.setHeader('access-control-allow-headers', REQUEST_HEADERS)
      response.setHeader('access-control-max-age', MAX_AGE)
    },
  }
}

/**
 * Whether the text is `*` or an origin as browsers send it: lower case, no path or default port.
 */
export function isOrigin(text: string): boolean {
  if (text === '*') return true
  if (!/^[a-z][a-z\d+.-]*:\/\/[^\s/?#@,]+$/.test(text) || !URL.canParse(text)) return false
  const { origin } = new URL(text)
  return origin === text || origin === 'null' // the scheme of an app
}
