import { setFlagsFromString } from 'node:v8'
import {
  deliveryMetrics,
  isOrigin,
  type LogEntry,
  serve as listen,
  readVersion,
  type ServeOptions,
  startWebhooks,
} from '../../http/index.ts'
import { CommandFailure, UsageError } from '../command-errors.ts'
import { hint } from '../program.ts'
import { stopSignal } from '../signals.ts'
import { findStartupWarnings, unsealedWarning } from '../warnings.ts'
import { watchDatabase } from './database-watch.ts'
import { createDemo, formatDemo, importDemoSales } from './demo.ts'
import { formatLogLine } from './log-format.ts'
import { createLogWriter } from './log-writer.ts'
import { poolMetrics, serveWorkerMetrics } from './metrics.ts'
import type { ServeInvocation } from './options.ts'
import { watchQuotas } from './quota-watch.ts'
import { watchTransactions } from './transaction-watch.ts'
import { startSender } from './webhook-sender.ts'
import { isWorker, sendHeartbeats, startWorkerPool } from './workers.ts'

/**
 * How often the parent process asks the database for changes. The workers do not report their
 * changes to it.
 */
const WORKERS_POLL_MS = 200

/** Serves the API over HTTP until SIGTERM or SIGINT. */
export async function runServer(invocation: ServeInvocation): Promise<void> {
  const { till, db, options, config, io } = invocation
  const { workers = 1, 'cors-origin': corsOrigins = [] } = options
  assertOptions(workers, db, corsOrigins)
  if (config.masterKeys.length > 0 && !isWorker) await till.operator.requireMasterKey()
  // V8 usually collects young objects in several threads. While an import keeps the processors
  // busy, the main thread waits for these threads. With one thread, the 90th percentile of the
  // pauses is about half as long.
  setFlagsFromString('--no-parallel-scavenge')
  const log = createLog(invocation)
  watchQuotas(till, (message) => log.write('warn', message))
  if (!isWorker) watchTransactions(till, log.write)
  // Listens for signals before the URL is printed: a program that reads the URL may send a signal
  // at once.
  const stopped = stopSignal(io, isWorker)
  const webhooks = options['no-webhooks'] ? undefined : startSending(invocation, log.write)
  const server = await startListening(invocation, log, webhooks)
  const serve = async () => {
    const failed = server.failed?.then(() => true) ?? new Promise<never>(() => {})
    const hasFailed = await Promise.race([stopped, failed])
    await Promise.all([server.stop(), webhooks?.close()])
    if (hasFailed) throw new CommandFailure('The workers end as soon as they start')
  }
  if (isWorker) {
    sendHeartbeats()
    return serve()
  }
  // Only now: if the port is taken, nobody would see the keys.
  const demo = options.demo ? await createDemo(till) : undefined
  await logStart(invocation, server.url, log.write)
  printStart(invocation, server.url, demo, log)
  // After the keys are printed: the server answers requests during the imports.
  if (demo) await importDemoSales(till, await till.accounts.get(demo.account_id), Date.now())
  await serve()
  log.write('info', 'tillkit stopped')
}

type Log = ReturnType<typeof createLog>

function assertOptions(workers: number, db: string, corsOrigins: readonly string[]): void {
  if (workers > 1 && db === 'memory:') {
    throw new UsageError('Workers share a database file: memory: has only one process')
  }
  const noOrigin = corsOrigins.find((each) => !isOrigin(each))
  if (noOrigin !== undefined) {
    throw new UsageError(
      `--cors-origin, TILLKIT_CORS_ORIGIN: '${noOrigin}' is no origin: https://shop.example, or *`,
    )
  }
}

/** The log on stderr. */
function createLog({ till, options, io }: ServeInvocation) {
  const logFormat = options['log-format'] ?? (io.stderr.isTTY ? 'text' : 'json')
  const format = (level: 'info' | 'warn' | 'error', message: string) =>
    formatLogLine({ time: new Date().toISOString(), level, message }, logFormat)
  const writeLine = createLogWriter(io, (lines) =>
    format('warn', `Log lines that may be missing: ${lines}`),
  )
  const write = (level: 'info' | 'warn' | 'error', message: string) =>
    writeLine(format(level, message))
  const suspectDatabase = watchDatabase(till, write)
  return {
    format,
    write,
    request(entry: LogEntry) {
      const { level, status } = entry
      if (level === 'debug' && options.log !== 'debug') return
      writeLine(formatLogLine(entry, logFormat))
      if (level === 'error' && status === 503) suspectDatabase()
    },
  }
}

/** Whether this process only sends webhooks: the workers of its pool serve the requests. */
const isPool = ({ options: { workers = 1 } }: ServeInvocation) => workers > 1 && !isWorker

function startSending(invocation: ServeInvocation, log: Log['write']) {
  const { till, db, options, env } = invocation
  const sending = {
    allowPrivate: options['webhook-allow-private'],
    onError: (error: unknown) => log('error', `webhooks: ${(error as Error).message}`),
    log,
  }
  return isPool(invocation)
    ? startWebhooks(till, { ...sending, pollInterval: WORKERS_POLL_MS })
    : startSender(till, { ...sending, db, env })
}

/** Starts the server or its workers. Closes the sender of webhooks if that fails. */
async function startListening(
  invocation: ServeInvocation,
  log: Log,
  webhooks: ServeOptions['webhooks'],
): Promise<Served> {
  const { till, args, options } = invocation
  const { workers = 1, host = LOCAL_HOST } = options
  const start = async (): Promise<Served> => {
    if (!isPool(invocation)) return listen(till, { ...settingsOf(options, log), webhooks })
    if (options.metrics) serveWorkerMetrics(() => deliveryMetrics(webhooks))
    return startWorkerPool(workers, args, host, (message) => log.write('error', message))
  }
  return start().catch(async (error) => {
    await webhooks?.close()
    throw error
  })
}

const LOCAL_HOST = '127.0.0.1'

function settingsOf(options: ServeInvocation['options'], log: Log): ServeOptions {
  const { workers = 1, host = LOCAL_HOST, port, 'cors-origin': corsOrigins = [] } = options
  /** The part of a rate limit that one worker counts. */
  const shareOf = (limit: number | undefined) => limit && Math.ceil(limit / workers)
  const milliseconds = (seconds: number | undefined) => seconds && seconds * 1000
  return {
    host,
    port,
    corsOrigins,
    rateLimit: shareOf(options['rate-limit']),
    rateLimitAddress: shareOf(options['rate-limit-address']),
    trustProxy: options['trust-proxy'],
    limits: {
      drainDelay: milliseconds(options['drain-delay']),
      accountShare: options['account-share'],
      keepAliveTimeout: milliseconds(options['keep-alive']),
    },
    docs: options.docs,
    manage: options.manage,
    console: options.console,
    metrics: options.metrics,
    poolMetrics: isWorker ? poolMetrics : undefined,
    log: options.log === 'off' ? undefined : log.request,
    logOnlyErrors: options.log === 'errors',
  }
}

/** Logs that the server has started, and what its operator should know. */
async function logStart(
  { till, db, isNew, storage, exposed, options, config }: ServeInvocation,
  url: string,
  log: Log['write'],
): Promise<void> {
  log('info', `tillkit ${readVersion()} started on ${url}`)
  // Warns of a new database, because its path may be mistyped. With `--demo`, a new one is
  // expected.
  if (isNew && !options.demo) log('warn', `Created a new database ${db}`)
  for (const repair of storage.repairs ?? []) log('warn', repair)
  const { host = LOCAL_HOST } = options
  const warnings = [...exposed, ...(await findStartupWarnings(till, db, config, host))]
  for (const message of warnings) log('warn', message)
  const hasKey = config.masterKeys.length > 0
  const unsealed = hasKey ? await till.operator.listUnsealedSecrets() : []
  if (unsealed.length > 0) log('warn', unsealedWarning(unsealed, db))
  const unconfirmed = await till.outbox.countUnconfirmed()
  if (unconfirmed > 0) {
    const list = hint('webhooks list', db)
    log('warn', `Webhook URLs that wait for a confirmation: ${unconfirmed}; see ${list}`)
  }
}

/** Prints the addresses on stdout. A collector that reads both streams gets only JSON lines. */
function printStart(
  { options, output, db }: ServeInvocation,
  url: string,
  demo: Awaited<ReturnType<typeof createDemo>> | undefined,
  log: Log,
): void {
  const print = (text: string) =>
    output.line(options['log-format'] === 'json' ? log.format('info', text) : text)
  if (output.json) output.record({ url, ...(demo ? { demo } : {}) })
  print(`tillkit listens on ${url}`)
  if (options.console) print(`The console is at ${url}/console`)
  if (demo) print(formatDemo(demo, url))
  else if (options.demo) {
    print('The database has accounts already: no demo was created')
    print(`To make another account key: ${hint('account keys add', db)}`)
  }
}

interface Served {
  readonly url: string
  /** Resolves when the workers can no longer serve. */
  readonly failed?: Promise<void>
  stop(): Promise<void>
}
