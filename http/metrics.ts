import type { Backlog, NearQuota, PoolState, StorageSize } from '../lib/index.ts'
import type { ConcurrencyLimits, SharedLimit } from './in-flight.ts'
import { processMetrics, watchEventLoop } from './process-metrics.ts'
import {
  counter,
  type Family,
  formatFamilies,
  gauge,
  type Sample,
  samplesBy,
} from './prometheus.ts'
import type { RateLimit } from './rate-limit.ts'
import type { WebhookSender } from './webhooks/sender.ts'

/**
 * The metrics of a server. Labels take only fixed values, statuses, and methods that Node's parser
 * knows. Clients therefore cannot create new time series.
 */
export type Metrics = ReturnType<typeof createMetrics>

/**
 * Combines the metrics of worker processes. `collectOwn` collects the metrics of this process. The
 * returned function collects those of all processes.
 */
export type PoolMetrics = (collectOwn: () => Family[]) => () => Promise<readonly Family[]>

/** The state of the storage at the time of the scrape. */
export interface StorageState {
  readonly up: boolean
  readonly seconds: number
  /** The clock of this process minus that of the database server, in seconds. */
  readonly clockOffset: number | undefined
  /** The size of the storage. Undefined for a storage in memory and for one that is unavailable. */
  readonly size: StorageSize | undefined
  /** The webhooks that are not delivered yet. Undefined when the storage is unavailable. */
  readonly backlog: Backlog | undefined
}

export interface ImportCounts {
  readonly rows: number
  readonly skipped: number
  readonly updated: number
}

/** The parts of a server whose current state the metrics report. */
export interface Gauges {
  readonly concurrency: ConcurrencyLimits
  readonly memory: SharedLimit
  readonly rateLimits: readonly RateLimit[]
  readonly connections: { readonly open: number; readonly dropped: number }
  /** Returns undefined when the storage has no connection pool. */
  readonly poolState: () => PoolState | undefined
  readonly nearQuotas: () => readonly NearQuota[]
  readonly webhooks: WebhookSender | undefined
}

/** Upper bounds of the duration histogram, in seconds; the last ones are for imports. */
const BOUNDS = [
  0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60, 600,
]

/** The measured requests of one route. */
interface Series {
  /** The number of requests, by method and status. */
  readonly counts: Map<string, { readonly labels: NonNullable<Sample['labels']>; value: number }>
  /**
   * For each bound, the number of requests between the previous bound and this one. The last number
   * counts the requests above all bounds.
   */
  readonly buckets: number[]
  seconds: number
}

export function createMetrics(gauges: Gauges, pool: PoolMetrics = single) {
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
  const collect = (): Family[] => {
    const { finished, rows, skipped, updated, refused, broken } = imports
    const { concurrency, memory, rateLimits, connections } = gauges
    const byKind = (value: 'taken' | 'refused') =>
      Object.fromEntries(Object.entries(concurrency).map(([kind, limit]) => [kind, limit[value]]))
    return [
      counter(
        'tillkit_http_requests_total',
        'Requests answered; 499 when the client hung up first.',
        ...[...series.values()].flatMap(({ counts }) => [...counts.values()]),
      ),
      {
        name: 'tillkit_http_request_duration_seconds',
        type: 'histogram',
        help: 'Time from the end of the request headers to the answer.',
        samples: [...series].flatMap(durationSamples),
      },
      gauge(
        'tillkit_http_requests_in_flight',
        'Requests being answered.',
        samplesBy('kind', byKind('taken')),
      ),
      counter(
        'tillkit_http_overloaded_total',
        'Requests refused with 503 by a concurrency or memory limit.',
        ...samplesBy('kind', { ...byKind('refused'), memory: memory.refused }),
      ),
      counter(
        'tillkit_http_rate_limited_total',
        'Requests refused by a rate limit.',
        ...rateLimits.map(({ name, refused }) => ({ labels: { by: name }, value: refused })),
      ),
      gauge('tillkit_http_connections', 'Open connections.', connections.open),
      counter(
        'tillkit_http_connections_dropped_total',
        'Connections closed over the limit.',
        connections.dropped,
      ),
      counter('tillkit_imports_total', 'Successful imports, without dry runs.', finished),
      counter(
        'tillkit_imports_failed_total',
        'Failed imports, including dry runs.',
        ...samplesBy('cause', { client: refused, server: broken }),
      ),
      counter(
        'tillkit_import_rows_total',
        'Rows of successful imports.',
        ...samplesBy('result', { added: rows - skipped - updated, skipped, updated }),
      ),
      nearQuotaMetric(gauges.nearQuotas()),
      ...deliveryMetrics(gauges.webhooks),
      ...poolMetrics(gauges.poolState()),
      ...processMetrics(),
    ]
  }
  const collectAll = pool(collect)

  return {
    /** Counts an answered request; `method` is '' for a request that Node could not parse. */
    observe(method: string, route: string | null, status: number, seconds: number): void {
      const found = seriesOf(route ?? 'none')
      const key = `${method} ${status}`
      const labels = { method: method || 'none', route: route ?? 'none', status }
      const count = found.counts.get(key) ?? { labels, value: 0 }
      count.value++
      found.counts.set(key, count)
      let bucket = 0
      while (bucket < BOUNDS.length && seconds > (BOUNDS[bucket] as number)) bucket++
      found.buckets[bucket] = (found.buckets[bucket] as number) + 1
      found.seconds += seconds
    },
    observeImport({ rows, skipped, updated }: ImportCounts): void {
      imports.finished++
      imports.rows += rows
      imports.skipped += skipped
      imports.updated += updated
    },
    /** Counts an import that failed with this status after its credential was verified. */
    observeFailedImport(status: number): void {
      if (status < 500) imports.refused++
      else imports.broken++
    },
    /** All metrics, including those of other workers, in the text format of Prometheus. */
    async format(storage: StorageState): Promise<string> {
      return formatFamilies([...(await collectAll()), ...storageMetrics(storage)])
    },
  }
}

/** Collects the metrics of a server without worker processes: only those of this process. */
const single: PoolMetrics = (collectOwn) => async () => collectOwn()

function durationSamples([route, { buckets, seconds }]: readonly [string, Series]): Sample[] {
  let count = 0
  const cumulative = [...BOUNDS, '+Inf'].map((le, index) => {
    count += buckets[index] as number
    return { suffix: '_bucket', labels: { route, le }, value: count }
  })
  if (count === 0) return []
  return [
    ...cumulative,
    { suffix: '_sum', labels: { route }, value: seconds },
    { suffix: '_count', labels: { route }, value: count },
  ]
}

function poolMetrics(pool: PoolState | undefined): Family[] {
  if (!pool) return []
  const { size, open, inUse, waiting } = pool
  return [
    gauge('tillkit_pool_connections_max', 'Database connections allowed.', size),
    gauge('tillkit_pool_connections_open', 'Database connections open.', open),
    gauge('tillkit_pool_connections_in_use', 'Database connections in use.', inUse),
    gauge(
      'tillkit_pool_waiting',
      'Statements and transactions that wait for a connection.',
      waiting,
    ),
  ]
}

function nearQuotaMetric(near: readonly NearQuota[]): Family {
  const count = (quota: string) => near.filter((each) => each.quota === quota).length
  const samples = samplesBy('quota', { items: count('items'), purchases: count('purchases') })
  const help = 'Accounts that added rows and use at least 80 % of their quota.'
  return gauge('tillkit_accounts_near_quota', help, samples, 'max')
}

/** The metrics of the storage. Only the worker that answers the scrape measures them. */
function storageMetrics({ up, seconds, clockOffset, size, backlog }: StorageState): Family[] {
  return [
    gauge('tillkit_storage_up', 'Whether the storage answers.', Number(up)),
    gauge(
      'tillkit_storage_answer_seconds',
      'Duration of the readiness check of this scrape.',
      seconds,
    ),
    ...optional(
      'tillkit_clock_offset_seconds',
      'Clock of this server minus that of the database server.',
      clockOffset,
    ),
    ...sizeMetrics(size),
    ...backlogMetrics(backlog),
  ]
}

function sizeMetrics(size: StorageSize | undefined): Family[] {
  if (!size) return []
  const { database, wal, free } = size
  return [
    gauge('tillkit_database_bytes', 'Size of the database.', database),
    ...optional('tillkit_database_wal_bytes', 'Size of its write-ahead log.', wal),
    ...optional('tillkit_database_free_bytes', 'Free bytes in its file system.', free),
  ]
}

function optional(name: string, help: string, value: number | undefined): Family[] {
  return value === undefined ? [] : [gauge(name, help, value)]
}

/** The metrics of the requests that this process's sender has made. */
export function deliveryMetrics(sender: WebhookSender | undefined): Family[] {
  if (!sender) return []
  const samples = samplesBy('result', sender.results)
  return [counter('tillkit_webhook_requests_total', 'Requests of the webhook sender.', ...samples)]
}

/** The metrics of the endpoints in the storage, and of the events that they have not received yet. */
function backlogMetrics(backlog: Backlog | undefined): Family[] {
  if (!backlog) return []
  const { endpoints, failing, lag, lag_seconds } = backlog
  const states = samplesBy('state', endpoints)
  const ofFailing = 'Active endpoints whose last request failed.'
  return [
    gauge('tillkit_webhook_endpoints', 'Webhook endpoints by state.', states),
    gauge('tillkit_webhook_endpoints_failing', ofFailing, failing),
    gauge('tillkit_webhook_lag_events', 'Events that active endpoints have not received yet.', lag),
    gauge('tillkit_webhook_lag_seconds', 'Age of the oldest of these events.', lag_seconds),
  ]
}
