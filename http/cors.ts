import type { ServerResponse } from 'node:http'
import type { Sent } from './headers.ts'

/** Lets scripts of other origins call what a browser may call (Fetch Standard, section 3.2). */
export interface Cors {
  /** Marks an answer as one that a script may read. */
  expose(response: ServerResponse, origin: Sent): void
  /** Marks the answer to a question beforehand, about a path that takes `methods`. */
  permit(response: ServerResponse, origin: Sent, methods: string): void
}

const REQUEST_HEADERS = [
  'Authorization',
  'Content-Type',
  'If-None-Match',
  'X-Public-Project-Key',
  'X-Request-Id',
].join(', ')

const EXPOSED_HEADERS = [
  'ETag',
  'Link',
  'X-Request-Id',
  'Retry-After',
  'Import-Id',
  'Import-Rows',
  'Import-Skipped',
  'Import-Updated',
  'RateLimit',
  'RateLimit-Policy',
].join(', ')

/** Seconds that a browser may remember a permission; what it may at most differs by browser. */
const MAX_AGE = '7200'

/** For these origins, `*` meaning any. Throws a TypeError for what is no origin. */
export function createCors(origins: readonly string[]): Cors {
  for (const origin of origins) {
    if (!isOrigin(origin)) throw new TypeError(`${JSON.stringify(origin)} is not an origin`)
  }
  const any = origins.includes('*')
  const known = new Set(origins)

  const allow = (response: ServerResponse, origin: Sent): boolean => {
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
 * Whether this is `*` or an origin as a browser writes it: lower case, no path, no default port.
 */
export function isOrigin(text: string): boolean {
  if (text === '*') return true
  if (!/^[a-z][a-z\d+.-]*:\/\/[^\s/?#@,]+$/.test(text) || !URL.canParse(text)) return false
  const { origin } = new URL(text)
  return origin === text || origin === 'null' // for other schemes than the web's, as of an app
}
