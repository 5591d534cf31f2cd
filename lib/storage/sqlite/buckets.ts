import type { BucketMethods } from '../port.ts'
import type { Connection } from './connection.ts'

const CONSUME = `
  INSERT INTO rate_buckets (bucket, full_at) VALUES (?, ?)
  ON CONFLICT DO UPDATE SET full_at = excluded.full_at + max(full_at - ?, 0)
  RETURNING full_at`

export function bucketMethods(db: Connection): BucketMethods {
  return {
    // Does not fsync: a crash may lose the last writes.
    consumeBuckets(costs, elapsed) {
      return db.lazyTransaction(() => {
        const now = Date.now()
        const start = now - elapsed
        const waits = new Map<string, number>()
        for (const [bucket, cost] of costs) {
          const row = db.find(CONSUME, bucket, start + cost, start)
          waits.set(bucket, (row?.full_at as number) - now)
        }
        db.run('DELETE FROM rate_buckets WHERE full_at < ?', now)
        return waits
      })
    },
  }
}
