import type { ServerResponse } from 'node:http'
import { BoundedMap } from '../lib/bounded-map.ts'
import { TransportFault } from './problems.ts'

/** What became of one request under a limit. */
export interface Verdict {
  readonly isAllowed: boolean
  /** How many more would be allowed now. */
  readonly remaining: number
  /** Whole seconds: until one more is allowed when this one is not, else until all are again. */
  readonly seconds: number
}

/** Counts requests by key. */
export interface RateLimiter {
  take(key: string): Verdict
  /** Others have taken too: the key's bucket is full in so many milliseconds, or later. */
  postpone(key: string, wait: number): void
}

const WINDOW = 60_000

/** For the rounding in sums of fractions: of a millisecond, and of a request. */
const TOLERANCE = 0.001

/** Keys that one limiter remembers at most; some 20 MB. */
const BUCKETS = 100_000

/**
 * A bucket for each key, that holds `quota` requests and fills in a minute. Of a bucket only the
 * time is kept at which it will be full (GCRA).
 */
export function createRateLimiter(
  quota: number,
  now: () => number = () => performance.now(), // a wall clock may jump
  buckets = BUCKETS,
): RateLimiter {
  const interval = WINDOW / quota
  const fullAt = new BoundedMap<number>(buckets)

  return {
    take(key) {
      const time = now()
      const before = Math.max(fullAt.get(key) ?? 0, time)
      const excess = before + interval - time - WINDOW
      const isAllowed = excess <= TOLERANCE
      const after = isAllowed ? before + interval : before
      fullAt.set(key, after) // refused keys too: who goes on asking is not to be forgotten
      if (!isAllowed) return { isAllowed, remaining: 0, seconds: secondsOf(excess) }
      const remaining = Math.floor((WINDOW - after + time) / interval + TOLERANCE)
      return { isAllowed, remaining, seconds: secondsOf(after - time) }
    },
    postpone(key, wait) {
      fullAt.set(key, Math.max(fullAt.get(key) ?? 0, now() + wait))
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
  /** The milliseconds in which a bucket fills by one request. */
  readonly interval: number
  /** By key, how many were let through since other servers were told; undefined unless they are. */
  taken: Map<string, number> | undefined
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
  const limiter = createRateLimiter(quota)
  return { name, policy, limiter, interval: WINDOW / quota, taken: undefined, refused: 0 }
}

/**
 * Counts a request, and tells its client how it stands in the fields of
 * draft-ietf-httpapi-ratelimit-headers. Throws when it is one too many.
 */
export function charge(limit: RateLimit, key: string, response: ServerResponse): void {
  const { name, policy, limiter, taken } = limit
  const { isAllowed, remaining, seconds } = limiter.take(key)
  addToList(response, 'ratelimit-policy', policy)
  addToList(response, 'ratelimit', `"${name}";r=${remaining};t=${seconds}`)
  // A refusal takes nothing, but what others took in the meantime is to be asked for.
  taken?.set(key, (taken.get(key) ?? 0) + (isAllowed ? 1 : 0))
  if (isAllowed) return
  limit.refused++
  const message = `Too many requests; the next one is taken in ${seconds} s`
  throw new TransportFault('rate_limited', message, { 'retry-after': String(seconds) })
}

function addToList(response: ServerResponse, name: string, item: string): void {
  const before = response.getHeader(name)
  response.setHeader(name, before === undefined ? item : `${before}, ${item}`)
}
