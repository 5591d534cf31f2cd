import type { BucketMethods } from '../port.ts'
import type { Database } from './connection.ts'

// Uses the database's clock, because the servers' clocks differ.
const NOW = '(extract(epoch FROM now()) * 1000)::float8'

// Locks the buckets in the order of their names, to prevent deadlocks between servers.
const CONSUME = `
  INSERT INTO rate_buckets AS known (bucket, full_at)
  SELECT key, ${NOW} - $2::float8 + value::float8 FROM json_each_text($1) ORDER BY key
  ON CONFLICT (bucket) DO UPDATE
    SET full_at = excluded.full_at + greatest(known.full_at - (${NOW} - $2::float8), 0)
  RETURNING bucket, full_at - ${NOW} AS wait`

// Deletes at most `$1` expired buckets, except those that another server has locked. The caller
// passes twice the number of buckets that it has consumed from, so the table does not grow.
const CLEAR = `
  DELETE FROM rate_buckets WHERE bucket IN (
    SELECT bucket FROM rate_buckets WHERE full_at < ${NOW}
    ORDER BY full_at LIMIT $1 FOR UPDATE SKIP LOCKED)`

export function bucketMethods(db: Database): BucketMethods {
  return {
    async consumeBuckets(costs, elapsed) {
      const sent = Object.fromEntries(costs)
      const rows = await db.transaction((tx) => tx.all(CONSUME, sent, elapsed))
      await db.run(CLEAR, 2 * costs.size)
      return new Map(rows.map(({ bucket, wait }) => [bucket as string, wait as number]))
    },
  }
}
