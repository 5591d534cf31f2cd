import { setFlagsFromString } from 'node:v8'
import {
  type DeliveryFailure,
  deliveryMetrics,
  isOrigin,
  type LogEntry,
  serve as listen,
  readVersion,
  type ServeOptions,
  startWebhooks,
} from '../../http/index.ts'
import { CommandFailure, UsageError } from '../command-errors.ts'
import { stopSignal } from '../signals.ts'
import { findStartupWarnings, unsealedWarning } from '../warnings.ts'
import { watchDatabase } from './database-watch.ts'
import { createDemo, formatDemo } from './demo.ts'
import { formatLogLine } from './log-format.ts'
import { createLogWriter } from './log-writer.ts'
import { poolMetrics, serveWorkerMetrics } from './metrics.ts'
import type { ServeInvocation } from './options.ts'
import { watchQuotas } from './quota-watch.ts'
import { watchTransactions } from './transaction-watch.ts'
import { startSender } from './webhook-sender.ts'
import { isWorker, startWorkerPool } from './workers.ts'

/**
 * How often the parent process asks the database for changes. The workers do not report their
 * changes to it.
 */
const WORKERS_POLL_MS = 200

/** Serves the API over HTTP until SIGTERM or SIGINT. */
export async function runServer({
  till,
  db,
  isNew,
  storage,
  exposed,
  args,
  options,
  config,
  env,
  io,
  output,
}: ServeInvocation) {
  const { workers = 1 } = options
  if (workers > 1 && db === 'memory:') {
    throw new UsageError('Workers share a database file: memory: has only one process')
  }
  const hasKey = config.masterKeys.length > 0
  if (hasKey && !isWorker) await till.operations.requireMasterKey()
  // V8 usually collects young objects in several threads. While an import keeps the processors
  // busy, the main thread waits for these threads. With one thread, the 90th percentile of the
  // pauses is about half as long.
  setFlagsFromString('--no-parallel-scavenge')
  const logFormat = options['log-format'] ?? (io.stderr.isTTY ? 'text' : 'json')
  const formatMessage = (level: 'info' | 'warn' | 'error', message: string) =>
    formatLogLine({ time: new Date().toISOString(), level, message }, logFormat)
  const writeLine = createLogWriter(io, (lines) =>
    formatMessage('warn', `Log lines that may be missing: ${lines}`),
  )
  const log = (level: 'info' | 'warn' | 'error', message: string) =>
    writeLine(formatMessage(level, message))
  const suspectDatabase = watchDatabase(till, log)
  const logRequest = (entry: LogEntry) => {
    const { level, status } = entry
    if (level === 'debug' && options.log !== 'debug') return
    writeLine(formatLogLine(entry, logFormat))
    if (level === 'error' && status === 503) suspectDatabase()
  }
  /** Prints a line on stdout. A collector that reads both streams gets only JSON lines. */
  const print = (text: string) =>
    output.line(options['log-format'] === 'json' ? formatMessage('info', text) : text)
  /** The part of a rate limit that one worker counts. */
  const shareOf = (limit: number | undefined) => limit && Math.ceil(limit / workers)
  const { host = '127.0.0.1', port, 'cors-origin': corsOrigins = [] } = options
  const noOrigin = corsOrigins.find((each) => !isOrigin(each))
  if (noOrigin !== undefined) {
    throw new UsageError(
      `--cors-origin, TILLKIT_CORS_ORIGIN: '${noOrigin}' is no origin: https://shop.example, or *`,
    )
  }
  const milliseconds = (seconds: number | undefined) => seconds && seconds * 1000
  const settings: ServeOptions = {
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
    console: options.console,
    metrics: options.metrics,
    poolMetrics: isWorker ? poolMetrics : undefined,
    log: options.log === 'off' ? undefined : logRequest,
    logOnlyErrors: options.log === 'errors',
  }
  watchQuotas(till, (message) => log('warn', message))
  if (!isWorker) watchTransactions(till, log)
  const sending = {
    allowPrivate: options['webhook-allow-private'],
    onError: (error: unknown) => log('error', `webhooks: ${(error as Error).message}`),
    onFailure: ({ webhook_id, endpoint_id, attempt, reason }: DeliveryFailure) =>
      log('warn', `Attempt ${attempt} to send ${webhook_id} to ${endpoint_id} failed: ${reason}`),
  }
  // With a pool, the workers serve requests, and this process sends the webhooks.
  const isPool = workers > 1 && !isWorker
  const startSending = () =>
    isPool
      ? startWebhooks(till, { ...sending, pollInterval: WORKERS_POLL_MS })
      : startSender(till, { ...sending, db, env })
  // Listens for signals before the URL is printed: a program that reads the URL may send a signal
  // at once.
  const stopped = stopSignal(io, isWorker)
  const webhooks = options['no-webhooks'] ? undefined : startSending()
  const start = async (): Promise<Served> => {
    if (!isPool) return listen(till, { ...settings, webhooks })
    if (options.metrics) serveWorkerMetrics(() => deliveryMetrics(webhooks))
    return startWorkerPool(workers, args, host, (message) => log('error', message))
  }
  const server = await start().catch(async (error) => {
    await webhooks?.close()
    throw error
  })
  const serve = async () => {
    const failed = server.failed?.then(() => true) ?? new Promise<never>(() => {})
    const hasFailed = await Promise.race([stopped, failed])
    await Promise.all([server.stop(), webhooks?.close()])
    if (hasFailed) throw new CommandFailure('The workers end as soon as they start')
  }
  if (isWorker) return serve()
  // Only now: if the port is taken, nobody would see the keys.
  const demo = options.demo ? await createDemo(till, Date.now()) : undefined
  const { url } = server
  log('info', `tillkit ${readVersion()} started on ${url}`)
  // Warns of a new database, because its path may be mistyped. With `--demo`, a new one is
  // expected.
  if (isNew && !options.demo) log('warn', `Created a new database ${db}`)
  for (const repair of storage.repairs ?? []) log('warn', repair)
  const warnings = [...exposed, ...(await findStartupWarnings(till, db, config, host))]
  for (const message of warnings) log('warn', message)
  const unsealed = hasKey ? await till.operations.listUnsealedSecrets() : []
  if (unsealed.length > 0) log('warn', unsealedWarning(unsealed))
  const unconfirmed = await till.outbox.countUnconfirmed()
  if (unconfirmed > 0) {
    log('warn', `Webhook URLs that wait for a confirmation: ${unconfirmed}; see webhooks list`)
  }
  if (output.json) output.record({ url, ...(demo ? { demo } : {}) })
  print(`tillkit listens on ${url}`)
  if (options.console) print(`The console is at ${url}/console`)
  if (demo) print(formatDemo(demo, url))
  else if (options.demo) {
    print('The database has accounts already: no demo was created')
    print('tillkit account keys add makes another account key')
  }
  await serve()
  log('info', 'tillkit stopped')
}

interface Served {
  readonly url: string
  /** Resolves when the workers can no longer serve. */
  readonly failed?: Promise<void>
  stop(): Promise<void>
}
