import { BoundedMap } from '../lib/bounded-map.ts'
import type { AnswerHeaders } from './head.ts'
import { TransportFault } from './problems.ts'

const MINUTE_MS = 60_000

/** The tolerance for rounding errors, in milliseconds and in requests. */
const TOLERANCE = 0.001

/** The maximum number of keys of one limiter; they take about 20 MB. */
const BUCKETS = 100_000

export type RateLimit = ReturnType<typeof createRateLimit>

/**
 * Creates a token bucket for each key, which holds `quota` requests and fills in `window` ms, by
 * default in a minute. Stores only the time at which each bucket will be full (GCRA). The map drops
 * its older half when full.
 */
export function createRateLimit(
  name: string,
  quota: number,
  {
    window = MINUTE_MS,
    now = () => performance.now(), // a monotonic clock: the wall clock may jump
    buckets = BUCKETS,
  } = {},
) {
  const interval = window / quota
  const fullAt = new BoundedMap<number>(buckets)
  const policy = `"${name}";q=${quota};w=${window / 1000}`
  const limit = {
    name,
    /** The number of refused requests. */
    refused: 0,
    /**
     * Consumes a request from the key's bucket. Sets the headers of
     * draft-ietf-httpapi-ratelimit-headers: `r` is the number of further requests that the bucket
     * allows now, `t` are the seconds until it is full. After a refusal, these are the seconds until
     * it allows a request. Throws 429 when the bucket is empty.
     */
    consume(key: string, answer: AnswerHeaders): void {
      const time = now()
      const before = Math.max(fullAt.get(key) ?? 0, time)
      const excess = before + interval - time - window
      const isAllowed = excess <= TOLERANCE
      const after = isAllowed ? before + interval : before
      // Sets the key of a refused request too. The map drops the keys that were set the longest
      // ago, and a client with a dropped key could send requests again at once.
      fullAt.set(key, after)
      const left = isAllowed ? Math.floor((window - after + time) / interval + TOLERANCE) : 0
      const wait = isAllowed ? after - time : excess
      const seconds = Math.max(1, Math.ceil(wait / 1000 - TOLERANCE))
      addToList(answer, 'ratelimit-policy', policy)
      addToList(answer, 'ratelimit', `"${name}";r=${left};t=${seconds}`)
      if (isAllowed) return
      limit.refused++
      const message = `Too many requests; the next one is allowed in ${seconds} s`
      throw new TransportFault('rate_limited', message, { 'retry-after': String(seconds) })
    },
    /** Returns a consumed request to the key's bucket. */
    refund(key: string): void {
      fullAt.set(key, (fullAt.get(key) ?? 0) - interval)
    },
  }
  return limit
}

function addToList(answer: AnswerHeaders, name: string, item: string): void {
  const before = answer.getHeader(name)
  answer.setHeader(name, before === undefined ? item : `${before}, ${item}`)
}
