import type { ImportResult, NearQuota, PoolState } from '../lib/index.ts'
import type { ConcurrencyLimits, RequestLimit } from './in-flight.ts'
import { processMetrics, watchEventLoop } from './process-metrics.ts'
import { type MetricValues, type Samples, samplesBy } from './prometheus.ts'
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
export type PoolMetrics = (collectOwn: () => MetricValues) => () => Promise<MetricValues>

/** The parts of a server whose current state the metrics report. */
interface Gauges {
  readonly concurrency: ConcurrencyLimits
  readonly memory: RequestLimit
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
  /** The number of requests, by method and status: `GET 200`. */
  readonly counts: Map<string, number>
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
  const imports = {
    finished: 0,
    failed: { client: 0, server: 0 },
    rows: { added: 0, skipped: 0, updated: 0 },
  }

  const seriesOf = (route: string): Series => {
    const found = series.get(route)
    if (found) return found
    const buckets = new Array<number>(BOUNDS.length + 1).fill(0)
    const added = { counts: new Map(), buckets, seconds: 0 }
    series.set(route, added)
    return added
  }
  const collect = (): MetricValues => {
    const { concurrency, memory, rateLimits, connections, poolState, nearQuotas } = gauges
    const byKind = (value: 'taken' | 'refused') =>
      Object.fromEntries(Object.entries(concurrency).map(([kind, limit]) => [kind, limit[value]]))
    const overloaded = { ...byKind('refused'), memory: memory.refused }
    const limited = Object.fromEntries(rateLimits.map(({ name, refused }) => [name, refused]))
    const pool = poolState()
    return {
      tillkit_http_requests_total: Object.assign({}, ...Array.from(series, countSamples)),
      tillkit_http_request_duration_seconds: Object.assign(
        {},
        ...Array.from(series, durationSamples),
      ),
      tillkit_http_requests_in_flight: samplesBy('kind', byKind('taken')),
      tillkit_http_overloaded_total: samplesBy('kind', overloaded),
      tillkit_http_rate_limited_total: samplesBy('by', limited),
      tillkit_http_connections: connections.open,
      tillkit_http_connections_dropped_total: connections.dropped,
      tillkit_imports_total: imports.finished,
      tillkit_imports_failed_total: samplesBy('cause', imports.failed),
      tillkit_import_rows_total: samplesBy('result', imports.rows),
      tillkit_accounts_near_quota: samplesBy('quota', countByQuota(nearQuotas())),
      tillkit_pool_connections_max: pool?.size,
      tillkit_pool_connections_open: pool?.open,
      tillkit_pool_connections_in_use: pool?.inUse,
      tillkit_pool_waiting: pool?.waiting,
      ...deliveryMetrics(gauges.webhooks),
      ...processMetrics(),
    }
  }

  return {
    /** Counts an answered request; `method` is '' for a request that Node could not parse. */
    observe(method: string, route: string | null, status: number, seconds: number): void {
      const found = seriesOf(route ?? 'none')
      const key = `${method || 'none'} ${status}`
      found.counts.set(key, (found.counts.get(key) ?? 0) + 1)
      let bucket = 0
      while (bucket < BOUNDS.length && seconds > (BOUNDS[bucket] as number)) bucket++
      found.buckets[bucket] = (found.buckets[bucket] as number) + 1
      found.seconds += seconds
    },
    observeImport({ rows, skipped, updated }: ImportResult): void {
      imports.finished++
      imports.rows.added += rows - skipped - updated
      imports.rows.skipped += skipped
      imports.rows.updated += updated
    },
    /** Counts an import that failed with this status after its credential was verified. */
    observeFailedImport(status: number): void {
      imports.failed[status < 500 ? 'client' : 'server']++
    },
    /** Collects the metrics of this process, or those of all worker processes. */
    collect: pool(collect),
  }
}

/** Collects the metrics of a server without worker processes: only those of this process. */
const single: PoolMetrics = (collectOwn) => async () => collectOwn()

function countSamples([route, { counts }]: readonly [string, Series]): Samples {
  const samples = Array.from(counts, ([key, count]) => {
    const [method, status] = key.split(' ')
    return [`{method="${method}",route="${route}",status="${status}"}`, count]
  })
  return Object.fromEntries(samples)
}

function durationSamples([route, { buckets, seconds }]: readonly [string, Series]): Samples {
  let count = 0
  const cumulative = [...BOUNDS, '+Inf'].map((bound, index) => {
    count += buckets[index] as number
    return [`_bucket{route="${route}",le="${bound}"}`, count]
  })
  const labels = `{route="${route}"}`
  return {
    ...Object.fromEntries(cumulative),
    [`_sum${labels}`]: seconds,
    [`_count${labels}`]: count,
  }
}

function countByQuota(near: readonly NearQuota[]) {
  const count = (wanted: string) => near.filter(({ quota }) => quota === wanted).length
  return { items: count('items'), purchases: count('purchases') }
}

/** The metrics of the requests that this process's sender has made. */
export function deliveryMetrics(sender: WebhookSender | undefined): MetricValues {
  return { tillkit_webhook_requests_total: sender && samplesBy('result', sender.results) }
}
