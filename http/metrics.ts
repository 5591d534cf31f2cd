import type { PoolState, StorageSize } from '../lib/index.ts'
import type { ConcurrencyLimits } from './concurrency.ts'
import { counter, type Family, formatFamilies, gauge, type Sample } from './exposition.ts'
import type { MemoryBudget } from './memory-budget.ts'
import { processFamilies, watchEventLoop } from './process.ts'
import type { RateLimit } from './ratelimit.ts'

/**
 * What a server counts of itself. Labels are names of ours, methods that Node's parser knows and
 * statuses: their number is bounded, whatever clients send.
 */
export interface Metrics {
  /** A request that was answered; one without a method was refused before it was a request. */
  observe(method: string, route: string | null, status: number, seconds: number): void
  observeImport(counts: ImportCounts): void
  /** An import whose credential was good and that ended with this status. */
  observeFailedImport(status: number): void
  /** All figures, those of other processes too, in the text format of Prometheus. */
  format(storage: StorageState): Promise<string>
}

/**
 * Makes one of several processes that serve together tell the figures of all: takes how to collect
 * its own, and gives how to collect those of all.
 */
export type PoolMetrics = (own: () => Family[]) => () => Promise<readonly Family[]>

/** How the storage was found when the figures were asked for. */
export interface StorageState {
  readonly up: boolean
  readonly seconds: number
  /** Undefined in memory, and when it could not be told. */
  readonly size: StorageSize | undefined
}

export interface ImportCounts {
  readonly rows: number
  readonly skipped: number
  readonly updated: number
}

/** What others count. */
export interface Gauges {
  readonly concurrency: ConcurrencyLimits
  readonly memory: MemoryBudget
  readonly rateLimits: readonly RateLimit[]
  readonly connections: { readonly open: number; readonly dropped: number }
  /** The connection pool of the storage; undefined where it has none. */
  readonly poolState: () => PoolState | undefined
}

/** Upper bounds of the latency histogram, in seconds; the last ones are for imports. */
const BOUNDS = [
  0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60, 600,
]

/** The requests of one route. */
interface Series {
  /** By method and status. */
  readonly counts: Map<string, Map<number, number>>
  /** How many took up to each bound and longer than the one before; the last longer than all. */
  readonly buckets: number[]
  seconds: number
}

export function createMetrics(gauges: Gauges, pool: PoolMetrics = alone): Metrics {
  watchEventLoop()
  const series = new Map<string, Series>()
  const imports = { finished: 0, rows: 0, skipped: 0, updated: 0, refused: 0, broken: 0 }

  const seriesOf = (route: string): Series => {
    let found = series.get(route)
    if (!found) {
      const buckets = new Array<number>(BOUNDS.length + 1).fill(0)
      found = { counts: new Map(), buckets, seconds: 0 }
      series.set(route, found)
    }
    return found
  }
  const count = ({ counts }: Series, method: string, status: number) => {
    let statuses = counts.get(method)
    if (!statuses) {
      statuses = new Map()
      counts.set(method, statuses)
    }
    statuses.set(status, (statuses.get(status) ?? 0) + 1)
  }

  const collect = (): Family[] => {
    const { finished, rows, skipped, updated, refused, broken } = imports
    const { concurrency, memory, rateLimits, connections } = gauges
    const byKind = (value: 'taken' | 'refused'): Sample[] =>
      Object.entries(concurrency).map(([kind, limit]) => ({
        labels: { kind },
        value: limit[value],
      }))
    return [
      counter(
        'tillkit_http_requests_total',
        'Requests answered; 499 when the client hung up before.',
        ...[...series].flatMap(countSamples),
      ),
      {
        name: 'tillkit_http_request_duration_seconds',
        type: 'histogram',
        help: 'From the end of the headers until the answer is made.',
        samples: [...series].flatMap(durationSamples),
      },
      gauge('tillkit_http_requests_in_flight', 'Requests being answered.', ...byKind('taken')),
      counter('tillkit_http_overloaded_total', 'Requests refused for load.', ...byKind('refused'), {
        labels: { kind: 'memory' },
        value: memory.refused,
      }),
      counter(
        'tillkit_http_rate_limited_total',
        'Requests refused by a rate limit.',
        ...rateLimits.map(({ name, refused }) => ({ labels: { by: name }, value: refused })),
      ),
      gauge('tillkit_http_connections', 'Open connections.', { value: connections.open }),
      counter('tillkit_http_connections_dropped_total', 'Connections closed for want of room.', {
        value: connections.dropped,
      }),
      counter('tillkit_imports_total', 'Imports done; dry runs are not counted.', {
        value: finished,
      }),
      counter(
        'tillkit_imports_failed_total',
        'Imports that ended without a 200, dry runs among them.',
        { labels: { cause: 'client' }, value: refused },
        { labels: { cause: 'server' }, value: broken },
      ),
      counter(
        'tillkit_import_rows_total',
        'Rows of these imports.',
        { labels: { result: 'added' }, value: rows - skipped - updated },
        { labels: { result: 'skipped' }, value: skipped },
        { labels: { result: 'updated' }, value: updated },
      ),
      ...poolFamilies(gauges.poolState()),
      ...processFamilies(),
    ]
  }
  const collectAll = pool(collect)

  return {
    observe(method, route, status, seconds) {
      const of = seriesOf(route ?? 'none')
      count(of, method || 'none', status)
      let bucket = 0
      while (bucket < BOUNDS.length && seconds > (BOUNDS[bucket] as number)) bucket++
      of.buckets[bucket] = (of.buckets[bucket] as number) + 1
      of.seconds += seconds
    },
    observeImport({ rows, skipped, updated }) {
      imports.finished++
      imports.rows += rows
      imports.skipped += skipped
      imports.updated += updated
    },
    observeFailedImport(status) {
      if (status < 500) imports.refused++
      else imports.broken++
    },
    async format(storage) {
      return formatFamilies([...(await collectAll()), ...storageFamilies(storage)])
    },
  }
}

/** For a process that serves by itself. */
const alone: PoolMetrics = (own) => async () => own()

function countSamples([route, { counts }]: readonly [string, Series]): Sample[] {
  return [...counts].flatMap(([method, statuses]) =>
    [...statuses].map(([status, value]) => ({ labels: { method, route, status }, value })),
  )
}

function durationSamples([route, { buckets, seconds }]: readonly [string, Series]): Sample[] {
  let count = 0
  const upTo = [...BOUNDS, '+Inf'].map((le, index) => {
    count += buckets[index] as number
    return { suffix: '_bucket', labels: { route, le }, value: count }
  })
  if (count === 0) return []
  return [
    ...upTo,
    { suffix: '_sum', labels: { route }, value: seconds },
    { suffix: '_count', labels: { route }, value: count },
  ]
}

function poolFamilies(pool: PoolState | undefined): Family[] {
  if (!pool) return []
  const { size, open, inUse, waiting } = pool
  return [
    gauge('tillkit_pool_connections_max', 'Database connections allowed.', { value: size }),
    gauge('tillkit_pool_connections_open', 'Database connections open.', { value: open }),
    gauge('tillkit_pool_connections_in_use', 'Database connections in use.', { value: inUse }),
    gauge('tillkit_pool_waiting', 'Statements and transactions that wait for a connection.', {
      value: waiting,
    }),
  ]
}

/** As it is for the process that was asked. */
function storageFamilies({ up, seconds, size }: StorageState): Family[] {
  return [
    gauge('tillkit_storage_up', 'Whether the storage answers.', { value: Number(up) }),
    gauge('tillkit_storage_answer_seconds', 'How long it took to answer just now.', {
      value: seconds,
    }),
    ...sizeFamilies(size),
  ]
}

function sizeFamilies(size: StorageSize | undefined): Family[] {
  if (!size) return []
  const { database, wal, free } = size
  return [
    gauge('tillkit_database_bytes', 'Size of the database.', { value: database }),
    ...optional('tillkit_database_wal_bytes', 'Size of its write-ahead log.', wal),
    ...optional('tillkit_database_free_bytes', 'Room left in its file system.', free),
  ]
}

function optional(name: string, help: string, value: number | undefined): Family[] {
  return value === undefined ? [] : [gauge(name, help, { value })]
}
