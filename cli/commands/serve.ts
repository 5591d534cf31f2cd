import { constants } from 'node:os'
import { isOrigin, type LogEntry, serve as listen, type ServeOptions } from '../../http/index.ts'
import { command, Refusal, UsageError } from '../command.ts'
import { createDemo, formatDemo } from '../demo.ts'
import { pooledFigures, poolFigures } from '../figures.ts'
import { createLineWriter } from '../lines.ts'
import { isPostgres } from '../open.ts'
import { oneOf, type ValueParser, wholeNumber } from '../values.ts'
import { findStartupWarnings } from '../warnings.ts'
import { isWorker, startCrew } from '../workers.ts'

const portNumber = wholeNumber(0, 65_535)
const logChoice = oneOf('all', 'errors', 'off')

const origin: ValueParser<string> = (text, name) => {
  if (isOrigin(text)) return text
  throw new UsageError(`${name}: '${text}' is no origin: https://shop.example, or *`)
}

export const serve = command({
  name: 'serve',
  summary: 'Serve the API over HTTP until SIGTERM or SIGINT',
  storesSecrets: true,
  makesDatabase: true,
  options: {
    host: { value: 'ADDRESS', help: 'the address to listen on (default 127.0.0.1)' },
    port: { value: 'N', parse: portNumber, help: 'the port, 0 for any free one (default 3000)' },
    workers: {
      value: 'N',
      parse: wholeNumber(1, 64),
      help: 'processes that share the port and the file (default 1)',
    },
    lockdown: { help: 'tokens got with a public key read items, and do nothing else' },
    demo: { help: 'in an empty database, make a demo account and print its keys' },
    'cors-origin': {
      value: 'ORIGIN',
      multiple: true,
      parse: origin,
      help: 'an origin whose scripts may call, "*" for any; may be repeated',
    },
    'rate-limit': {
      value: 'N',
      parse: wholeNumber(1),
      help: 'requests a minute of one credential (default: no limit)',
    },
    'rate-limit-address': {
      value: 'N',
      parse: wholeNumber(1),
      help: 'requests a minute from one address (default: no limit)',
    },
    'account-share': {
      value: 'PERCENT',
      parse: wholeNumber(1, 100),
      help: 'of the requests in flight, the most of one account (default 50)',
    },
    'trust-proxy': {
      value: '[N]',
      bare: '1',
      parse: wholeNumber(1, 20),
      help: 'proxies in front; client addresses come from X-Forwarded-For (alone: 1)',
    },
    'keep-alive': {
      value: 'SECONDS',
      parse: wholeNumber(1, 3_600),
      help: 'keep idle connections so long: longer than the proxy does (default 75)',
    },
    'drain-delay': {
      value: 'SECONDS',
      parse: wholeNumber(0, 999),
      help: 'at the end, serve on so long with /readyz at 503 (default 0)',
    },
    metrics: { help: 'serve /metrics for Prometheus, of all workers; let no proxy forward it' },
    log: {
      value: 'WHICH',
      parse: logChoice,
      help: 'request lines on stderr: all, errors or off (default all)',
    },
  },
  async run({ till, db, isNew, options, config, output }) {
    const { workers = 1 } = options
    if (workers > 1 && db === 'memory:') {
      throw new UsageError('Workers share a database file: memory: has only one process')
    }
    const accountShare = options['account-share']
    const keepAlive = options['keep-alive']
    const settings: ServeOptions = {
      host: options.host ?? config.host,
      port: options.port ?? portNumber(config.port, 'PORT'),
      corsOrigins:
        options['cors-origin'] ??
        config.corsOrigins.map((each) => origin(each, 'TILLKIT_CORS_ORIGIN')),
      rateLimit: options['rate-limit'],
      rateLimitAddress: options['rate-limit-address'],
      shareRateLimits: workers > 1 || isPostgres(db),
      trustProxy: options['trust-proxy'],
      limits: {
        drainDelay: (options['drain-delay'] ?? 0) * 1000,
        ...(accountShare === undefined ? {} : { accountShare }),
        ...(keepAlive === undefined ? {} : { keepAliveTimeout: keepAlive * 1000 }),
      },
      metrics: options.metrics,
      poolMetrics: isWorker ? pooledFigures : undefined,
      ...logOf(options.log ?? 'all'),
    }
    if (isWorker) return serveUntilStopped(await listen(till, settings))
    if (workers > 1 && options.metrics) poolFigures()
    const demo = options.demo ? await createDemo(till) : undefined
    const server =
      workers === 1 ? await listen(till, settings) : await listenTogether(workers, settings.host)
    const { url } = server
    // A demo tells of itself; any other server on a new file may be one on a mistyped path.
    const made = isNew && !options.demo ? [`Made a new database ${db}`] : []
    for (const message of [...made, ...findStartupWarnings(config, options.host ?? config.host)]) {
      const warning = { time: new Date().toISOString(), level: 'warn', message }
      process.stderr.write(`${JSON.stringify(warning)}\n`)
    }
    if (output.json) output.record({ url, ...(demo ? { demo } : {}) })
    output.line(`tillkit listens on ${url}`)
    if (demo) output.line(formatDemo(demo, url))
    else if (options.demo) output.line('The database has accounts already: no demo was made')
    await serveUntilStopped(server)
  },
})

interface Served {
  readonly url: string
  /** Resolves when it can serve no longer. */
  readonly lost?: Promise<void>
  stop(): Promise<void>
}

async function serveUntilStopped(server: Served): Promise<void> {
  const isLost = await Promise.race([stopSignal(), server.lost?.then(() => true) ?? never])
  await server.stop()
  if (isLost) throw new Refusal('The workers end as soon as they start')
}

const never = new Promise<never>(() => {})

/** This program again, in workers that share the port. */
async function listenTogether(workers: number, host = ''): Promise<Served> {
  const args = process.argv.slice(2).filter((each) => each !== '--demo')
  const crew = await startCrew(workers, args, (message) => {
    process.stderr.write(
      `${JSON.stringify({ time: new Date().toISOString(), level: 'error', message })}\n`,
    )
  })
  if (!crew) throw new Refusal('') // the worker has told why
  const url = `http://${host.includes(':') ? `[${host}]` : host}:${crew.port}`
  return { url, lost: crew.lost, stop: crew.stop }
}

function logOf(which: 'all' | 'errors' | 'off'): Pick<ServeOptions, 'log' | 'logOnlyErrors'> {
  if (which === 'off') return {}
  const write = createLineWriter(process.stderr)
  const log = (entry: LogEntry) => write(JSON.stringify(entry))
  return { log, logOnlyErrors: which === 'errors' }
}

/**
 * Resolves at the first signal; a second one ends the process at once. A worker may get the same
 * one twice, from who signals all processes of a service and from the first process: it ends with
 * that.
 */
function stopSignal(): Promise<void> {
  return new Promise((resolve) => {
    let isStopping = false
    const stop = (signal: 'SIGTERM' | 'SIGINT') => {
      if (isStopping && !isWorker) endBy(signal)
      isStopping = true
      resolve()
    }
    process.on('SIGTERM', stop).on('SIGINT', stop)
  })
}

/** Ends as a signal does. PID 1, as in a container, survives its default action: it exits. */
function endBy(signal: 'SIGTERM' | 'SIGINT'): never {
  process.removeAllListeners(signal)
  process.kill(process.pid, signal)
  process.exit(128 + constants.signals[signal])
}
