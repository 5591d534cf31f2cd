import { readdirSync, readFileSync } from 'node:fs'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { type MetricValues, type Samples, samplesBy } from './prometheus.ts'
import { readVersion } from './version.ts'

/** The metrics of the process, under their standard Prometheus names, and of its event loop. */
export function processMetrics(): MetricValues {
  const { user, system } = process.cpuUsage()
  const { active, idle } = performance.eventLoopUtilization()
  return {
    tillkit_build_info: { [`{version="${readVersion()}",node="${process.version}"}`]: 1 },
    tillkit_event_loop_seconds_total: samplesBy('state', {
      active: active / 1e3,
      idle: idle / 1e3,
    }),
    tillkit_event_loop_delay_seconds: takeDelays(),
    process_start_time_seconds: STARTED,
    process_cpu_seconds_total: (user + system) / 1e6,
    process_resident_memory_bytes: process.memoryUsage.rss(),
    ...fileMetrics(),
  }
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
function takeDelays(): Samples {
  const secondsOf = (nanoseconds = 0) => Math.max(0, nanoseconds / 1e6 - RESOLUTION_MS) / 1e3
  const samples = samplesBy('percentile', {
    50: secondsOf(delays?.percentile(50)),
    99: secondsOf(delays?.percentile(99)),
    100: secondsOf(delays?.max),
  })
  delays?.reset()
  return samples
}

/** The number of open file descriptors and their limit, on Linux only. */
function fileMetrics(): MetricValues {
  try {
    const open = readdirSync('/proc/self/fd').length - 1 // does not count the open directory itself
    const [, max] = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? []
    return { process_open_fds: open, process_max_fds: max === undefined ? max : Number(max) }
  } catch {
    return {}
  }
}
