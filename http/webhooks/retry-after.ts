/** Longer waits are cut to one day. */
const MAX_MS = 24 * 3_600_000

/** `Sun, 06 Nov 1994 08:49:37 GMT`, the only date format that RFC 9110 lets servers send. */
const DATE = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/

/**
 * The milliseconds that a `Retry-After` header asks to wait, from 0 to one day. The header has
 * seconds or a date. Returns undefined when it is missing or malformed.
 */
export function parseRetryAfter(header: string | undefined, now: number): number | undefined {
  if (header === undefined) return undefined
  if (/^\d{1,15}$/.test(header)) return Math.min(Number(header) * 1_000, MAX_MS)
  const at = DATE.test(header) ? Date.parse(header) : Number.NaN
  return Number.isNaN(at) ? undefined : Math.min(Math.max(at - now, 0), MAX_MS)
}
