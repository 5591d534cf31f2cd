import type { ServerResponse } from 'node:http'
import { TransportFault } from './problems.ts'

/** What became of one request under a limit. */
export interface Verdict {
  readonly isAllowed: boolean
  /** How many more would be allowed now. */
  readonly remaining: number
  /** Whole seconds: until one more is allowed when this one is not, else until all are again. */
  readonly seconds: number
}

/** Counts requests by key. This process's own; one that several share may take its place. */
export interface RateLimiter {
  take(key: string): Verdict | Promise<Verdict>
}

const WINDOW = 60_000

/** For the rounding in sums of fractions: of a millisecond, and of a request. */
const TOLERANCE = 0.001

/** Keys that one limiter remembers at most; some 20 MB. */
const BUCKETS = 100_000

/**
 * A bucket for each key, that holds `quota` requests and fills in a minute. Of a bucket only the time
 * is kept at which it will be full (GCRA). Past `BUCKETS` keys those not seen for longest are
 * forgotten, half of all at once: two maps, of which the older one is dropped when the newer is full.
 */
export function createRateLimiter(
  quota: number,
  now: () => number = () => performance.now(), // a wall clock may jump
  buckets = BUCKETS,
): RateLimiter {
  const interval = WINDOW / quota
  let newer = new Map<string, number>()
  let older = new Map<string, number>()

  return {
    take(key) {
      const time = now()
      const before = Math.max(newer.get(key) ?? older.get(key) ?? 0, time)
      const excess = before + interval - time - WINDOW
      const isAllowed = excess <= TOLERANCE
      const fullAt = isAllowed ? before + interval : before
      newer.set(key, fullAt) // refused keys too: who goes on asking is not to be forgotten
      if (newer.size >= buckets / 2) {
        older = newer
        newer = new Map()
      }
      if (!isAllowed) return { isAllowed, remaining: 0, seconds: secondsOf(excess) }
      const remaining = Math.floor((WINDOW - fullAt + time) / interval + TOLERANCE)
      return { isAllowed, remaining, seconds: secondsOf(fullAt - time) }
    },
  }
}

function secondsOf(milliseconds: number): number {
  return Math.max(1, Math.ceil(milliseconds / 1000 - TOLERANCE))
}

/** A limiter with the name and the quota that clients are told. */
export interface RateLimit {
  readonly name: string
  readonly policy: string
  readonly limiter: RateLimiter
  /** How many requests it refused. */
  refused: number
}

/** So many requests a minute by key; undefined, which limits nothing, when there is no quota. */
export function createRateLimit(name: string, quota: number | undefined): RateLimit | undefined {
  if (quota === undefined) return undefined
  if (!Number.isSafeInteger(quota) || quota < 1) {
    throw new TypeError('A rate limit must be a whole number of requests a minute, at least 1')
  }
  const policy = `"${name}";q=${quota};w=${WINDOW / 1000}`
  return { name, policy, limiter: createRateLimiter(quota), refused: 0 }
}

/**
 * Counts a request, and tells its client how it stands in the fields of
 * draft-ietf-httpapi-ratelimit-headers. Throws when it is one too many.
 */
export async function charge(
  limit: RateLimit,
  key: string,
  response: ServerResponse,
): Promise<void> {
  const { name, policy, limiter } = limit
  const { isAllowed, remaining, seconds } = await limiter.take(key)
  addToList(response, 'ratelimit-policy', policy)
  addToList(response, 'ratelimit', `"${name}";r=${remaining};t=${seconds}`)
  if (isAllowed) return
  limit.refused++
  const message = `Too many requests; the next one is taken in ${seconds} s`
  throw new TransportFault('rate_limited', message, { 'retry-after': String(seconds) })
}

function addToList(response: ServerResponse, name: string, item: string): void {
  const before = response.getHeader(name)
  response.setHeader(name, before === undefined ? item : `${before}, ${item}`)
}
