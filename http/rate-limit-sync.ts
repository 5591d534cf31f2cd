import { createHash } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'
import type { RateLimits } from '../lib/index.ts'
import type { RateLimit } from './rate-limit.ts'

/** How often a server synchronizes its rate limits. */
const SYNC_MS = 1_000

/**
 * The longest plausible wait. If a clock was set back, the storage may return a longer wait, which
 * is ignored.
 */
const MAX_WAIT_MS = 600_000

/**
 * Synchronizes the rate limits of servers that share a storage. Each server allows or refuses a
 * request by itself, without a query. Once a second, it reports how many requests it allowed. The
 * storage consumes these requests from shared buckets. The server then refills its own buckets
 * later: the more requests other servers allowed, the longer it waits. On average, all servers
 * together allow as many requests as a single server would. While the storage is unavailable, each
 * server counts only its own requests. Returns a function that ends the synchronization.
 */
export function synchronizeRateLimits(
  limits: readonly RateLimit[],
  shared: RateLimits,
): () => void {
  if (limits.length === 0) return () => {}
  for (const limit of limits) limit.unshared = new Map()
  let since = performance.now()

  const synchronize = async () => {
    const elapsed = performance.now() - since
    since += elapsed
    const costs = new Map<string, number>()
    const postpone = new Map<string, (wait: number) => void>()
    for (const limit of limits) {
      for (const [key, count] of limit.unshared ?? []) {
        const bucket = bucketOf(limit, key)
        costs.set(bucket, count * limit.interval)
        postpone.set(bucket, (wait) => limit.limiter.postpone(key, wait))
      }
      limit.unshared = new Map()
    }
    if (costs.size === 0) return
    const waits = await shared.consume(costs, elapsed)
    for (const [bucket, wait] of waits) if (wait < MAX_WAIT_MS) postpone.get(bucket)?.(wait)
  }

  let isRunning = true
  const run = async () => {
    for (;;) {
      await setTimeout(SYNC_MS, undefined, { ref: false })
      if (!isRunning) return
      await synchronize().catch(() => {}) // ignores storage errors: requests report them
    }
  }
  run()
  return () => {
    isRunning = false
  }
}

/** The name of a shared bucket: a hash, to keep public keys and addresses out of the database. */
function bucketOf({ name }: RateLimit, key: string): string {
  return createHash('sha256').update(`${name} ${key}`).digest('base64url')
}
