import { createHash } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'
import type { RateLimits } from '../lib/index.ts'
import type { RateLimit } from './ratelimit.ts'

/** How often servers tell each other what they let through. */
const SHARE_MS = 1_000

/** No debt is so long: a wait beyond is of a clock that was put back, and not believed. */
const MAX_WAIT_MS = 600_000

/**
 * Lets servers on one storage share their rate limits: each judges by itself, without a query, and
 * once a second charges what it let through to buckets that all share. What others took in the
 * meantime is a debt, so that over time no more is let through than by one server. While the
 * storage is away each server counts for itself. Returns what ends it.
 */
export function shareLimits(limits: readonly RateLimit[], shared: RateLimits): () => void {
  if (limits.length === 0) return () => {}
  for (const limit of limits) limit.taken = new Map()
  let since = performance.now()

  const exchange = async () => {
    const elapsed = performance.now() - since
    since += elapsed
    const charges = new Map<string, number>()
    const learn = new Map<string, (wait: number) => void>()
    for (const limit of limits) {
      for (const [key, count] of limit.taken ?? []) {
        const bucket = bucketOf(limit, key)
        charges.set(bucket, count * limit.interval)
        learn.set(bucket, (wait) => limit.limiter.postpone(key, wait))
      }
      limit.taken = new Map()
    }
    if (charges.size === 0) return
    const waits = await shared.consume(charges, elapsed)
    for (const [bucket, wait] of waits) if (wait < MAX_WAIT_MS) learn.get(bucket)?.(wait)
  }

  let isSharing = true
  const share = async () => {
    for (;;) {
      await setTimeout(SHARE_MS, undefined, { ref: false })
      if (!isSharing) return
      await exchange().catch(() => {}) // the requests themselves tell of a storage that is away
    }
  }
  share()
  return () => {
    isSharing = false
  }
}

/** Keys are public keys and addresses, which are not to lie in the database. */
function bucketOf({ name }: RateLimit, key: string): string {
  return createHash('sha256').update(`${name} ${key}`).digest('base64url')
}
