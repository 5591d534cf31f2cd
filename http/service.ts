import { type Cors, createCors } from './cors.ts'
import { createLanes, type Lanes } from './lanes.ts'
import { limits as defaultLimits, type Limits } from './limits.ts'
import { createRecorder, type LogOptions, type Recorder } from './log.ts'
import { createMetrics, type Metrics, type PoolMetrics } from './metrics.ts'
import { createRateLimit, type RateLimit } from './ratelimit.ts'
import { createUnsent, type Unsent } from './unsent.ts'

/** What is off unless told, all of it. */
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
  /** Takes the address of a client from the last hop of X-Forwarded-For. */
  readonly trustProxy?: boolean | undefined
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
  readonly lanes: Lanes
  readonly unsent: Unsent
  readonly trustProxy: boolean
  readonly cors: Cors | undefined
  readonly keyLimit: RateLimit | undefined
  readonly addressLimit: RateLimit | undefined
  /** Those of the two that there are. */
  readonly rateLimits: readonly RateLimit[]
  readonly metrics: Metrics | undefined
  readonly record: Recorder
}

/** Throws a TypeError for options that it can not work with. */
export function createService(options: HandlerOptions): Service {
  const { corsOrigins = [], trustProxy = false } = options
  const limits = { ...defaultLimits, ...options.limits }
  const lanes = createLanes(limits)
  const connections = { open: 0, dropped: 0 }
  const keyLimit = createRateLimit('key', options.rateLimit)
  const addressLimit = createRateLimit('address', options.rateLimitAddress)
  const rateLimits = [keyLimit, addressLimit].filter((limit) => limit !== undefined)
  const gauges = { lanes, connections, rateLimits }
  const metrics = options.metrics ? createMetrics(gauges, options.poolMetrics) : undefined
  return {
    isStopping: false,
    connections,
    limits,
    lanes,
    unsent: createUnsent(limits.unsentBytes),
    trustProxy,
    cors: corsOrigins.length > 0 ? createCors(corsOrigins) : undefined,
    keyLimit,
    addressLimit,
    rateLimits,
    metrics,
    record: createRecorder(options, metrics),
  }
}
