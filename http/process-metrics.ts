import { readdirSync, readFileSync } from 'node:fs'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { counter, type Family, gauge } from './prometheus.ts'
import { readVersion } from './version.ts'

/** The metrics of the process, under their standard Prometheus names, and of its event loop. */
export function processMetrics(): Family[] {
  const { user, system } = process.cpuUsage()
  const { active, idle } = performance.eventLoopUtilization()
  return [
    {
      ...gauge('tillkit_build_info', 'Versions of tillkit and Node, as labels; always 1.', {
        labels: { version: readVersion(), node: process.version },
        value: 1,
      }),
      aggregate: 'min',
    },
    counter(
      'tillkit_event_loop_seconds_total',
      'Time of the event loop by state.',
      { labels: { state: 'active' }, value: active / 1e3 },
      { labels: { state: 'idle' }, value: idle / 1e3 },
    ),
    delayMetric(),
    {
      ...gauge('process_start_time_seconds', 'Unix time of the process start.', { value: STARTED }),
      aggregate: 'min',
    },
    counter('process_cpu_seconds_total', 'User and system CPU time.', {
      value: (user + system) / 1e6,
    }),
    gauge('process_resident_memory_bytes', 'Resident memory.', {
      value: process.memoryUsage.rss(),
    }),
    ...fileMetrics(),
  ]
}

const STARTED = performance.timeOrigin / 1000
/** How often the event loop delay is sampled. A timer of 20 ms has no measurable cost. */
const RESOLUTION_MS = 20
let delays: ReturnType<typeof monitorEventLoopDelay> | undefined

/** Starts measuring the event loop delay. Called only when metrics are enabled. */
export function watchEventLoop(): void {
  if (delays) return
  delays = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
  delays.enable()
}

/**
 * The event loop delay since the last scrape. Subtracts the timer's interval, which Node counts as
 * delay.
 */
function delayMetric(): Family {
  const secondsOf = (nanoseconds = 0) => Math.max(0, nanoseconds / 1e6 - RESOLUTION_MS) / 1e3
  const family = gauge(
    'tillkit_event_loop_delay_seconds',
    'Delay of the event loop since the last scrape; percentile 100 is the longest.',
    { labels: { percentile: 50 }, value: secondsOf(delays?.percentile(50)) },
    { labels: { percentile: 99 }, value: secondsOf(delays?.percentile(99)) },
    { labels: { percentile: 100 }, value: secondsOf(delays?.max) },
  )
  delays?.reset()
  return { ...family, aggregate: 'max' }
}

/**
 * The counts of file descriptors, on Linux only. Of several workers, the metrics report the highest
 * count and the lowest limit.
 */
function fileMetrics(): Family[] {
  try {
    const open = readdirSync('/proc/self/fd').length - 1 // does not count the open directory itself
    const [, max] = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? []
    const families: Family[] = [
      { ...gauge('process_open_fds', 'Open file descriptors.', { value: open }), aggregate: 'max' },
    ]
    if (max === undefined) return families
    const limit = gauge('process_max_fds', 'Limit of open file descriptors.', {
      value: Number(max),
    })
    return [...families, { ...limit, aggregate: 'min' }]
  } catch {
    return []
  }
}
