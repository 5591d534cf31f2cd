import type { IncomingMessage } from 'node:http'
import type { Account, Till } from '../lib/index.ts'
import { type ConcurrencyLimits, createConcurrencyLimits } from './concurrency.ts'
import { type Cors, createCors } from './cors.ts'
import type { Exchange } from './exchange.ts'
import { type AccountHook, createHostAccount } from './host-account.ts'
import { limits as defaultLimits, type Limits } from './limits.ts'
import { createRecorder, type LogOptions, type Recorder } from './log.ts'
import { createMemoryBudget, type MemoryBudget } from './memory-budget.ts'
import { createMetrics, type Metrics, type PoolMetrics } from './metrics.ts'
import { createRateLimit, type RateLimit } from './rate-limit.ts'
import { parseBasePath } from './target.ts'
import type { WebhookSender } from './webhooks/sender.ts'

/** Optional features. All default to off. */
export interface HandlerOptions<Request = IncomingMessage> extends LogOptions {
  /**
   * The path below which all routes are, such as `/shop`. Not needed where the host removes the
   * prefix from the request's path, as Express does for `app.use`.
   */
  readonly basePath?: string | undefined
  /**
   * Returns the id of the account that the host has authenticated by its own means, such as a
   * session cookie; undefined for none. Called for requests to the account's routes without an
   * account key. Requests of browsers from other origins get 401 instead, and bodies must have the
   * Content-Type `application/json`.
   */
  readonly authenticateAccount?: AccountHook<Request> | undefined
  readonly limits?: Partial<Limits>
  /** The origins whose scripts may call the routes for browsers; `*` for all. */
  readonly corsOrigins?: readonly string[] | undefined
  /** Requests a minute for each credential. */
  readonly rateLimit?: number | undefined
  /** Requests a minute for each address. */
  readonly rateLimitAddress?: number | undefined
  /**
   * The number of trusted proxies in front, each of which adds an entry to X-Forwarded-For; true
   * means one. If set, the client's address is taken from that header.
   */
  readonly trustProxy?: boolean | number | undefined
  /** Serves a reference page of the API at `/docs`. */
  readonly docs?: boolean | undefined
  /** Collects metrics and serves `/metrics`. */
  readonly metrics?: boolean | undefined
  /** Combines the metrics of several worker processes. */
  readonly poolMetrics?: PoolMetrics | undefined
  /** The sender of webhooks in this process, for the metrics. */
  readonly webhooks?: WebhookSender | undefined
}

/** The state that all requests of a server share. */
export interface ServerContext {
  isStopping: boolean
  readonly connections: { open: number; dropped: number }
  readonly basePath: string
  readonly hostAccount: ((exchange: Exchange) => Promise<Account>) | undefined
  readonly limits: Limits
  readonly concurrency: ConcurrencyLimits
  readonly memory: MemoryBudget
  /** The number of trusted proxies. */
  readonly trustProxy: number
  readonly cors: Cors | undefined
  readonly keyLimit: RateLimit | undefined
  readonly addressLimit: RateLimit | undefined
  /** The enabled ones of the two rate limits, by key and by address. */
  readonly rateLimits: readonly RateLimit[]
  readonly metrics: Metrics | undefined
  /** Whether to serve the reference page. */
  readonly docs: boolean
  readonly record: Recorder
}

const optionNames: { readonly [O in keyof Required<HandlerOptions>]: true } = {
  basePath: true,
  authenticateAccount: true,
  limits: true,
  corsOrigins: true,
  rateLimit: true,
  rateLimitAddress: true,
  trustProxy: true,
  docs: true,
  metrics: true,
  poolMetrics: true,
  webhooks: true,
  log: true,
  logOnlyErrors: true,
}

/** Throws a TypeError for an unknown or wrong option: a misspelt limit would not protect. */
export function createServerContext<Request>(
  till: Till,
  options: HandlerOptions<Request>,
): ServerContext {
  assertTill(till)
  assertNames('option', options, optionNames)
  assertNames('limit', options.limits ?? {}, defaultLimits)
  const { corsOrigins = [], trustProxy = false } = options
  const limits = { ...defaultLimits, ...options.limits }
  const concurrency = createConcurrencyLimits(limits)
  const memory = createMemoryBudget(limits.memoryBytes, limits.accountShare)
  const connections = { open: 0, dropped: 0 }
  const keyLimit = createRateLimit('key', options.rateLimit)
  const addressLimit = createRateLimit('address', options.rateLimitAddress)
  const rateLimits = [keyLimit, addressLimit].filter((limit) => limit !== undefined)
  const { poolState } = till.operations
  const { webhooks } = options
  const gauges = { concurrency, memory, connections, rateLimits, poolState, webhooks }
  const metrics = options.metrics ? createMetrics(gauges, options.poolMetrics) : undefined
  return {
    isStopping: false,
    basePath: parseBasePath(options.basePath),
    hostAccount: createHostAccount(till, options.authenticateAccount),
    connections,
    limits,
    concurrency,
    memory,
    trustProxy: Number(trustProxy),
    cors: corsOrigins.length > 0 ? createCors(corsOrigins) : undefined,
    keyLimit,
    addressLimit,
    rateLimits,
    metrics,
    docs: options.docs ?? false,
    record: createRecorder(options, metrics),
  }
}

function assertTill(till: Till): void {
  if (typeof till?.accounts?.authenticate === 'function') return
  throw new TypeError('a handler needs a till: createTill({ storage })')
}

function assertNames(kind: string, given: object, known: object): void {
  const unknown = Object.keys(given).find((name) => !Object.hasOwn(known, name))
  if (unknown !== undefined) throw new TypeError(`there is no ${kind} ${unknown}`)
}
