import type { Till } from '../lib/index.ts'
import { type ConcurrencyLimits, createConcurrencyLimits } from './concurrency.ts'
import { type Cors, createCors } from './cors.ts'
import { limits as defaultLimits, type Limits } from './limits.ts'
import { createRecorder, type LogOptions, type Recorder } from './log.ts'
import { createMemoryBudget, type MemoryBudget } from './memory-budget.ts'
import { createMetrics, type Metrics, type PoolMetrics } from './metrics.ts'
import { createRateLimit, type RateLimit } from './ratelimit.ts'

/** Optional features. All default to off. */
export interface HandlerOptions extends LogOptions {
  readonly limits?: Partial<Limits>
  /**
   * Origins whose scripts may call what is for browsers, or `*`; never what takes an account key.
   */
  readonly corsOrigins?: readonly string[] | undefined
  /** Requests a minute of one credential. */
  readonly rateLimit?: number | undefined
  /** Requests a minute from one address. */
  readonly rateLimitAddress?: number | undefined
  /**
   * Takes the address of a client from X-Forwarded-For: how many proxies are in front that each add
   * an entry; true for one.
   */
  readonly trustProxy?: boolean | number | undefined
  /** Counts, and opens `/metrics`. */
  readonly metrics?: boolean | undefined
  /** Where several processes serve together: tells the figures of all. */
  readonly poolMetrics?: PoolMetrics | undefined
}

/** What all requests of a server share. */
export interface Service {
  isStopping: boolean
  readonly connections: { open: number; dropped: number }
  readonly limits: Limits
  readonly concurrency: ConcurrencyLimits
  readonly memory: MemoryBudget
  /** How many proxies are in front. */
  readonly trustProxy: number
  readonly cors: Cors | undefined
  readonly keyLimit: RateLimit | undefined
  readonly addressLimit: RateLimit | undefined
  /** Those of the two that there are. */
  readonly rateLimits: readonly RateLimit[]
  readonly metrics: Metrics | undefined
  readonly record: Recorder
}

const optionNames: { readonly [O in keyof Required<HandlerOptions>]: true } = {
  limits: true,
  corsOrigins: true,
  rateLimit: true,
  rateLimitAddress: true,
  trustProxy: true,
  metrics: true,
  poolMetrics: true,
  log: true,
  logOnlyErrors: true,
}

/** Throws a TypeError for a wrong option: a misspelt limit would disable protection. */
export function createService(till: Till, options: HandlerOptions): Service {
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
  const gauges = { concurrency, memory, connections, rateLimits, poolState }
  const metrics = options.metrics ? createMetrics(gauges, options.poolMetrics) : undefined
  return {
    isStopping: false,
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
    record: createRecorder(options, metrics),
  }
}

function assertNames(kind: string, given: object, known: object): void {
  const unknown = Object.keys(given).find((name) => !Object.hasOwn(known, name))
  if (unknown !== undefined) throw new TypeError(`there is no ${kind} ${unknown}`)
}
