import { type Family, formatFamilies, type Sample } from './exposition.ts'
import type { Lanes } from './lanes.ts'
import type { RateLimit } from './ratelimit.ts'

/**
 * What a server counts of itself. Labels are names of ours, methods that Node's parser knows and
 * statuses: their number is bounded, whatever clients send.
 */
export interface Metrics {
  /** A request that was answered; one without a method was refused before it was a request. */
  observe(method: string, route: string | null, status: number, seconds: number): void
  observeImport(counts: ImportCounts): void
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
}

export interface ImportCounts {
  readonly rows: number
  readonly skipped: number
  readonly updated: number
}

/** What others count. */
export interface Gauges {
  readonly lanes: Lanes
  readonly rateLimits: readonly RateLimit[]
  readonly connections: { readonly open: number; readonly dropped: number }
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
  const series = new Map<string, Series>()
  const imports = { finished: 0, rows: 0, skipped: 0, updated: 0 }

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
    const { finished, rows, skipped, updated } = imports
    const { lanes, rateLimits, connections } = gauges
    const lane = (value: 'taken' | 'refused'): Sample[] =>
      Object.values(lanes).map((each) => ({ labels: { kind: each.name }, value: each[value] }))
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
      gauge('tillkit_http_requests_in_flight', 'Requests being answered.', ...lane('taken')),
      counter('tillkit_http_overloaded_total', 'Requests refused for load.', ...lane('refused')),
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
        'tillkit_import_rows_total',
        'Rows of these imports.',
        { labels: { result: 'added' }, value: rows - skipped - updated },
        { labels: { result: 'skipped' }, value: skipped },
        { labels: { result: 'updated' }, value: updated },
      ),
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

/** As it is for the process that was asked. */
function storageFamilies({ up, seconds }: StorageState): Family[] {
  return [
    gauge('tillkit_storage_up', 'Whether the storage answers.', { value: Number(up) }),
    gauge('tillkit_storage_answer_seconds', 'How long it took to answer just now.', {
      value: seconds,
    }),
  ]
}

/** The process's own, by the names that Prometheus has for them, and how busy the event loop is. */
function processFamilies(): Family[] {
  const { user, system } = process.cpuUsage()
  const { active, idle } = performance.eventLoopUtilization()
  return [
    counter(
      'tillkit_event_loop_seconds_total',
      'What the event loop did with its time.',
      { labels: { state: 'active' }, value: active / 1e3 },
      { labels: { state: 'idle' }, value: idle / 1e3 },
    ),
    {
      ...gauge('process_start_time_seconds', 'Unix time of the start.', { value: STARTED }),
      together: 'least',
    },
    counter('process_cpu_seconds_total', 'User and system time.', { value: (user + system) / 1e6 }),
    gauge('process_resident_memory_bytes', 'Memory held.', { value: process.memoryUsage.rss() }),
  ]
}

const STARTED = performance.timeOrigin / 1000

function counter(name: string, help: string, ...samples: Sample[]): Family {
  return { name, type: 'counter', help, samples }
}

function gauge(name: string, help: string, ...samples: Sample[]): Family {
  return { name, type: 'gauge', help, samples }
}
