import type { Account, Till } from '../lib/index.ts'
import { type ConcurrencyLimits, createConcurrencyLimits } from './concurrency.ts'
import { type Cors, createCors } from './cors.ts'
import type { Exchange } from './exchange.ts'
import { createHostAccount } from './host-account.ts'
import { limits as defaultLimits, type Limits } from './limits.ts'
import { createRecorder, type Recorder } from './log.ts'
import { createMemoryBudget, type MemoryBudget } from './memory-budget.ts'
import { createMetrics, type Metrics } from './metrics.ts'
import { assertOptions, type HandlerOptions } from './options.ts'
import { createRateLimit, type RateLimit } from './rate-limit.ts'

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
  /** The rate limits that are enabled: by key, by address, or both. */
  readonly rateLimits: readonly RateLimit[]
  readonly metrics: Metrics | undefined
  /** Whether to serve the reference page. */
  readonly docs: boolean
  /** Whether to serve the management API. */
  readonly manage: boolean
  /** Whether to serve the browser console. */
  readonly console: boolean
  readonly record: Recorder
}

/** Throws a TypeError for an unknown or wrong option: a misspelt limit would have no effect. */
export function createServerContext<Request>(
  till: Till,
  options: HandlerOptions<Request>,
): ServerContext {
  assertTill(till)
  assertOptions(options)
  const { corsOrigins = [], trustProxy = false } = options
  const limits = completeLimits(options.limits)
  const concurrency = createConcurrencyLimits(limits)
  const memory = createMemoryBudget(limits.memoryBytes, limits.accountShare)
  const connections = { open: 0, dropped: 0 }
  const keyLimit = createRateLimit('key', options.rateLimit)
  const addressLimit = createRateLimit('address', options.rateLimitAddress)
  const rateLimits = [keyLimit, addressLimit].filter((limit) => limit !== undefined)
  const { poolState, nearQuotas } = till.operations
  const { webhooks } = options
  const gauges = { concurrency, memory, connections, rateLimits, poolState, nearQuotas, webhooks }
  const metrics = options.metrics ? createMetrics(gauges, options.poolMetrics) : undefined
  return {
    isStopping: false,
    basePath: options.basePath ?? '',
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
    manage: Boolean(options.manage || options.console),
    console: options.console ?? false,
    record: createRecorder(options, metrics),
  }
}

function completeLimits(given: Partial<Limits> = {}): Limits {
  const set = Object.entries(given).filter(([, value]) => value !== undefined)
  return { ...defaultLimits, ...Object.fromEntries(set) }
}

function assertTill(till: Till): void {
  if (typeof till?.accounts?.authenticate === 'function') return
  throw new TypeError('a handler needs a till: createTill({ storage })')
}
