import type { BucketMethods } from '../port.ts'
import type { Database } from './connection.ts'

// The database's clock: those of the servers differ.
const NOW = '(extract(epoch FROM now()) * 1000)::float8'

// In the order of their names, so that no two servers wait for each other.
const CHARGE = `
  INSERT INTO rate_buckets AS known (bucket, full_at)
  SELECT key, ${NOW} - $2::float8 + value::float8 FROM json_each_text($1) ORDER BY key
  ON CONFLICT (bucket) DO UPDATE
    SET full_at = excluded.full_at + greatest(known.full_at - (${NOW} - $2::float8), 0)
  RETURNING bucket, full_at - ${NOW} AS wait`

// More than are added, and none that another server charges now.
const CLEAR = `
  DELETE FROM rate_buckets WHERE bucket IN (
    SELECT bucket FROM rate_buckets WHERE full_at < ${NOW}
    ORDER BY full_at LIMIT $1 FOR UPDATE SKIP LOCKED)`

export function bucketMethods(db: Database): BucketMethods {
  return {
    async consumeBuckets(charges, elapsed) {
      const sent = Object.fromEntries(charges)
      const rows = await db.transaction((tx) => tx.all(CHARGE, sent, elapsed))
      await db.run(CLEAR, 2 * charges.size)
      return new Map(rows.map(({ bucket, wait }) => [bucket as string, wait as number]))
    },
  }
}
