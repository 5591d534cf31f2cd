/**
 * All metrics, with their help texts, which name the labels and their values. Names that end with
 * `_total` are counters. `npm run docs` writes them into docs/metrics.md.
 */
export const METRICS = {
  tillkit_http_requests_total:
    'Answered requests by method, route and status. The route is the pattern of the path, or none. The status 499 means that the client closed the connection before it got the answer.',
  tillkit_http_request_duration_seconds:
    'Time from the headers of a request to its answer, by route.',
  tillkit_http_requests_in_flight:
    'Requests in flight by kind: reads, writes, uploads, reports or verifications.',
  tillkit_http_overloaded_total:
    'Requests refused with 503 because of load, by kind: as above, or memory.',
  tillkit_http_rate_limited_total:
    'Requests refused by a rate limit. The label by is what it counts: key, address or project.',
  tillkit_http_connections: 'Open connections.',
  tillkit_http_connections_dropped_total: 'Connections closed because too many were open.',
  tillkit_storage_up: '1 if the storage answers, else 0.',
  tillkit_storage_answer_seconds: 'Duration of the readiness check of this scrape.',
  tillkit_clock_offset_seconds: 'Clock of this server minus that of PostgreSQL.',
  tillkit_database_bytes: 'Size of the database.',
  tillkit_database_wal_bytes: 'Size of the write-ahead log of a SQLite file.',
  tillkit_database_free_bytes: 'Free space of the file system of a SQLite file.',
  tillkit_open_transaction_seconds:
    'Age of the oldest open transaction that has written to the PostgreSQL database. Webhooks wait for it.',
  tillkit_pool_connections_max: 'Connections to PostgreSQL that the server may open.',
  tillkit_pool_connections_open: 'Open connections to PostgreSQL.',
  tillkit_pool_connections_in_use: 'Connections to PostgreSQL in use.',
  tillkit_pool_waiting: 'Statements and transactions that wait for a connection to PostgreSQL.',
  tillkit_imports_total: 'Successful imports, without dry runs.',
  tillkit_imports_failed_total: 'Failed imports and dry runs by cause: client or server.',
  tillkit_import_rows_total: 'Rows of successful imports by result: added, skipped or updated.',
  tillkit_accounts_near_quota:
    'Accounts that use at least 80 % of a quota, by quota: items or purchases. Leaves out accounts that have added none since the start.',
  tillkit_webhook_requests_total:
    'Requests that deliver webhooks, by result: 2xx to 5xx, other, refused (a forbidden URL or address), dns, connection, tls, timeout, protocol or stopped.',
  tillkit_webhook_endpoints: 'Webhook endpoints by state: active, unconfirmed, paused or disabled.',
  tillkit_webhook_endpoints_failing: 'Active endpoints whose last request failed.',
  tillkit_webhook_lag_events:
    'Events that active endpoints have not received, up to about 100,000.',
  tillkit_webhook_lag_seconds: 'Age of the oldest of these events.',
  tillkit_event_loop_seconds_total: 'Time of the event loop by state: active or idle.',
  tillkit_event_loop_delay_seconds:
    'Delay of the event loop since the last scrape, by percentile: 50, 99 or 100.',
  tillkit_worker_restarts_total: 'Workers that died or were frozen, and were replaced.',
  tillkit_build_info: 'Versions of tillkit and Node, as labels; always 1.',
  process_start_time_seconds: 'Unix time of the process start.',
  process_cpu_seconds_total: 'User and system CPU time.',
  process_resident_memory_bytes: 'Resident memory.',
  process_open_fds: 'Open file descriptors, on Linux.',
  process_max_fds: 'Limit of open file descriptors, on Linux.',
} as const

type Name = keyof typeof METRICS

const HISTOGRAM: Name = 'tillkit_http_request_duration_seconds'

/** How to combine the values of several processes, if not by their sum. */
const COMBINE: { readonly [N in Name]?: (...values: number[]) => number } = {
  tillkit_accounts_near_quota: Math.max,
  tillkit_event_loop_delay_seconds: Math.max,
  tillkit_build_info: Math.min,
  process_start_time_seconds: Math.min,
  process_open_fds: Math.max,
  process_max_fds: Math.min,
}

/**
 * The values of a metric by their labels, as Prometheus writes them: `{kind="reads"}`. In a
 * histogram, a suffix of the name comes first: `_sum{route="/healthz"}`.
 */
export type Samples = { readonly [labels: string]: number }

/** The values of some metrics. A metric without a value is left out of the answer. */
export type MetricValues = { readonly [N in Name]?: number | Samples | undefined }

/** A sample for each value of a label. */
export function samplesBy(label: string, values: { readonly [name: string]: number }): Samples {
  const samples = Object.entries(values).map(([name, value]) => [`{${label}="${name}"}`, value])
  return Object.fromEntries(samples)
}

export const METRICS_CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8'

/** Formats Prometheus text, version 0.0.4. Escapes nothing, because names and labels are fixed. */
export function formatMetrics(values: MetricValues): string {
  const names = Object.keys(METRICS) as Name[]
  return names.map((name) => formatMetric(name, samplesOf(values[name]))).join('')
}

function formatMetric(name: Name, samples: Samples): string {
  const lines = Object.entries(samples).map(([labels, value]) => `${name}${labels} ${value}\n`)
  if (lines.length === 0) return ''
  return `# HELP ${name} ${METRICS[name]}\n# TYPE ${name} ${typeOf(name)}\n${lines.join('')}`
}

function typeOf(name: Name): 'histogram' | 'counter' | 'gauge' {
  if (name === HISTOGRAM) return 'histogram'
  return name.endsWith('_total') ? 'counter' : 'gauge'
}

function samplesOf(value: MetricValues[Name] = {}): Samples {
  return typeof value === 'number' ? { '': value } : value
}

/** Combines the metrics of several processes into those of one. */
export function combineMetrics(processes: readonly MetricValues[]): MetricValues {
  const combined: { [N in Name]?: { [labels: string]: number } } = {}
  for (const [name, value] of processes.flatMap((values) => entriesOf(values))) {
    const samples = combined[name] ?? {}
    combined[name] = samples
    const combine = COMBINE[name] ?? sum
    for (const [labels, each] of Object.entries(samplesOf(value))) {
      const before = samples[labels]
      samples[labels] = before === undefined ? each : combine(before, each)
    }
  }
  return combined
}

function sum(a: number, b: number): number {
  return a + b
}

/**
 * Returns the metrics that still count after their process has ended: all except gauges. Without
 * them, the sum of a counter would decrease.
 */
export function countersOf(values: MetricValues): MetricValues {
  return Object.fromEntries(entriesOf(values).filter(([name]) => typeOf(name) !== 'gauge'))
}

function entriesOf(values: MetricValues) {
  return Object.entries(values) as [Name, MetricValues[Name]][]
}
