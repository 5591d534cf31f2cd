import { isOrigin, type LogEntry, serve as listen, type ServeOptions } from '../../http/index.ts'
import { command, UsageError } from '../command.ts'
import { createDemo, formatDemo } from '../demo.ts'
import { createLineWriter } from '../lines.ts'
import { openDoors } from '../warnings.ts'

export const serve = command({
  name: 'serve',
  summary: 'Serve the API over HTTP until SIGTERM or SIGINT',
  makesDatabase: true,
  options: {
    host: { value: 'ADDRESS', help: 'the address to listen on (default 127.0.0.1)' },
    port: { value: 'N', help: 'the port, 0 for any free one (default 3000)' },
    lockdown: { help: 'tokens got with a public key read items, and do nothing else' },
    demo: { help: 'in an empty database, make a demo account and print its keys' },
    'cors-origin': {
      value: 'ORIGIN',
      multiple: true,
      help: 'an origin whose scripts may call, "*" for any; may be repeated',
    },
    'rate-limit': { value: 'N', help: 'requests a minute of one credential (default: no limit)' },
    'rate-limit-address': {
      value: 'N',
      help: 'requests a minute from one address (default: no limit)',
    },
    'trust-proxy': { help: 'take client addresses from the last hop of X-Forwarded-For' },
    'drain-delay': {
      value: 'SECONDS',
      help: 'at the end, serve on so long with /readyz at 503 (default 0)',
    },
    metrics: { help: 'serve /metrics for Prometheus; let no proxy forward it' },
    log: { value: 'WHICH', help: 'request lines on stderr: all, errors or off (default all)' },
  },
  async run({ till, options, config, output }) {
    const settings: ServeOptions = {
      host: options.host ?? config.host,
      port: portOf(options.port ?? config.port),
      corsOrigins: originsOf(options['cors-origin'] ?? config.corsOrigins),
      rateLimit: rateOf('--rate-limit', options['rate-limit']),
      rateLimitAddress: rateOf('--rate-limit-address', options['rate-limit-address']),
      trustProxy: options['trust-proxy'],
      limits: { drainDelay: secondsOf('--drain-delay', options['drain-delay'] ?? '0') * 1000 },
      metrics: options.metrics,
      ...logOf(options.log ?? 'all'),
    }
    const demo = options.demo ? await createDemo(till) : undefined
    const server = await listen(till, settings)
    const { url } = server
    for (const message of openDoors(config, options.host ?? config.host)) {
      const warning = { time: new Date().toISOString(), level: 'warn', message }
      process.stderr.write(`${JSON.stringify(warning)}\n`)
    }
    if (output.json) output.record({ url, ...(demo ? { demo } : {}) })
    output.line(`tillkit listens on ${url}`)
    if (demo) output.line(formatDemo(demo, url))
    else if (options.demo) output.line('The database has accounts already: no demo was made')
    await stopSignal()
    await server.stop()
  },
})

function portOf(text: string): number {
  if (/^\d{1,5}$/.test(text) && Number(text) <= 65_535) return Number(text)
  throw new UsageError('The port must be a number from 0 to 65535')
}

function originsOf(origins: readonly string[]): readonly string[] {
  const wrong = origins.find((origin) => !isOrigin(origin))
  if (wrong === undefined) return origins
  throw new UsageError(`'${wrong}' is no origin: https://shop.example, or *`)
}

function rateOf(option: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text)
  throw new UsageError(`${option} must be a number of requests a minute, at least 1`)
}

function secondsOf(option: string, text: string): number {
  if (/^\d{1,3}$/.test(text)) return Number(text)
  throw new UsageError(`${option} must be whole seconds from 0 to 999`)
}

function logOf(which: string): Pick<ServeOptions, 'log' | 'logOnlyErrors'> {
  if (which === 'off') return {}
  if (which !== 'all' && which !== 'errors') {
    throw new UsageError('--log must be all, errors or off')
  }
  const write = createLineWriter(process.stderr)
  const log = (entry: LogEntry) => write(JSON.stringify(entry))
  return { log, logOnlyErrors: which === 'errors' }
}

/** Resolves at the first signal; a second one ends the process as usual. */
function stopSignal(): Promise<void> {
  return new Promise((resolve) => {
    process.once('SIGTERM', () => resolve())
    process.once('SIGINT', () => resolve())
  })
}
