import type { BucketMethods } from '../port.ts'

export function bucketMethods(): BucketMethods {
  /** The time at which each token bucket will be full again, in Unix milliseconds. */
  const buckets = new Map<string, number>()
  return {
    async consumeBuckets(costs, elapsed) {
      const now = Date.now()
      const consume = ([bucket, cost]: readonly [string, number]) => {
        const full = Math.max(buckets.get(bucket) ?? 0, now - elapsed) + cost
        buckets.set(bucket, full)
        return [bucket, full - now] as const
      }
      const waits = new Map([...costs].map(consume))
      for (const [bucket, full] of buckets) if (full < now) buckets.delete(bucket)
      return waits
    },
  }
}
