import { readdirSync, readFileSync } from 'node:fs'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { counter, type Family, gauge } from './exposition.ts'

/** The process's own, by the names that Prometheus has for them, and how its event loop does. */
export function processFamilies(): Family[] {
  const { user, system } = process.cpuUsage()
  const { active, idle } = performance.eventLoopUtilization()
  return [
    {
      ...gauge('tillkit_build_info', 'The version that runs, as labels; always 1.', {
        labels: { version: readVersion(), node: process.version },
        value: 1,
      }),
      together: 'least',
    },
    counter(
      'tillkit_event_loop_seconds_total',
      'What the event loop did with its time.',
      { labels: { state: 'active' }, value: active / 1e3 },
      { labels: { state: 'idle' }, value: idle / 1e3 },
    ),
    delayFamily(),
    {
      ...gauge('process_start_time_seconds', 'Unix time of the start.', { value: STARTED }),
      together: 'least',
    },
    counter('process_cpu_seconds_total', 'User and system time.', { value: (user + system) / 1e6 }),
    gauge('process_resident_memory_bytes', 'Memory held.', { value: process.memoryUsage.rss() }),
    ...fileFamilies(),
  ]
}

const STARTED = performance.timeOrigin / 1000
let version: string | undefined

/** From the package, whose folder is one above the source and two above what is built of it. */
function readVersion(): string {
  if (version !== undefined) return version
  const depth = import.meta.url.endsWith('.ts') ? '..' : '../..'
  const text = readFileSync(new URL(`${depth}/package.json`, import.meta.url), 'utf8')
  version = (JSON.parse(text) as { version: string }).version
  return version
}

/** A timer of 20 ms costs nothing that can be measured. */
const RESOLUTION_MS = 20
let delays: ReturnType<typeof monitorEventLoopDelay> | undefined

/** Begins to measure the delay of the event loop; only for those who ask for metrics. */
export function watchEventLoop(): void {
  if (delays) return
  delays = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
  delays.enable()
}

/** The delay since the last scrape. Node counts the time between two turns of its timer. */
function delayFamily(): Family {
  const secondsOf = (nanoseconds = 0) => Math.max(0, nanoseconds / 1e6 - RESOLUTION_MS) / 1e3
  const family = gauge(
    'tillkit_event_loop_delay_seconds',
    'Delay of the event loop since the last scrape; quantile 1 is the longest.',
    { labels: { quantile: 0.5 }, value: secondsOf(delays?.percentile(50)) },
    { labels: { quantile: 0.99 }, value: secondsOf(delays?.percentile(99)) },
    { labels: { quantile: 1 }, value: secondsOf(delays?.max) },
  )
  delays?.reset()
  return { ...family, together: 'most' }
}

/** Of several processes those of the one that is nearest to its limit; only where Linux tells. */
function fileFamilies(): Family[] {
  try {
    const open = readdirSync('/proc/self/fd').length - 1 // the folder itself is open too
    const [, max] = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? []
    return [
      { ...gauge('process_open_fds', 'Open files.', { value: open }), together: 'most' },
      ...(max === undefined
        ? []
        : [
            {
              ...gauge('process_max_fds', 'The most open files allowed.', { value: Number(max) }),
              together: 'least' as const,
            },
          ]),
    ]
  } catch {
    return []
  }
}
