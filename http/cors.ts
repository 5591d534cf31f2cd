import type { AnswerHeaders, HeaderValue } from './head.ts'

const REQUEST_HEADERS =
  'Authorization, Content-Type, If-None-Match, X-Public-Project-Key, X-Request-Id'

const EXPOSED_HEADERS = [
  'ETag, Link, X-Request-Id, Retry-After',
  'Import-Id, Import-Rows, Import-Skipped, Import-Updated, Import-Repeated, Import-Passed-Over',
  'RateLimit, RateLimit-Policy, Webhook-Status',
].join(', ')

/** Seconds for which a browser may cache a preflight answer. Browsers may use less. */
const MAX_AGE = '7200'

/**
 * Creates CORS, which lets scripts of these origins call routes (Fetch Standard, section 3.2); `*`
 * allows any origin. Throws a TypeError for an invalid origin.
 */
export function createCors(origins: readonly string[]) {
  for (const origin of origins) {
    if (!isOrigin(origin)) throw new TypeError(`${JSON.stringify(origin)} is not an origin`)
  }
  const any = origins.includes('*')
  const known = new Set(origins)

  const allow = (answer: AnswerHeaders, origin: HeaderValue): boolean => {
    if (!any) answer.setHeader('vary', 'Origin')
    if (typeof origin !== 'string' || !(any || known.has(origin))) return false
    answer.setHeader('access-control-allow-origin', any ? '*' : origin)
    return true
  }

  return {
    /** Adds the header that lets scripts of `origin` read the answer, if the origin is allowed. */
    expose(answer: AnswerHeaders, origin: HeaderValue): void {
      if (!allow(answer, origin)) return
      answer.setHeader('access-control-expose-headers', EXPOSED_HEADERS)
    },
    /** Answers a preflight request for a path that has `methods`. */
    permit(answer: AnswerHeaders, origin: HeaderValue, methods: string): void {
      if (!allow(answer, origin)) return
      answer.setHeader('access-control-allow-methods', methods)
      answer.setHeader('access-control-allow-headers', REQUEST_HEADERS)
      answer.setHeader('access-control-max-age', MAX_AGE)
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
  // `URL` returns the origin 'null' for an app's own scheme, as in `app://shop`.
  return origin === text || origin === 'null'
}
