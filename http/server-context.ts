import type { PoolState, Till } from '../lib/index.ts'
import { mainThread, Turns } from '../lib/turns.ts'
import { createCors } from './cors.ts'
import { createHostAccount } from './host-account.ts'
import { createConcurrencyLimits, createMemoryBudget } from './in-flight.ts'
import { limits as defaultLimits, type Limits } from './limits.ts'
import { createObserver } from './log.ts'
import { createMetrics } from './metrics.ts'
import { assertOptions, type HandlerOptions } from './options.ts'
import { createRateLimit } from './rate-limit.ts'

/** The state that all requests of a server share. */
export type ServerContext = ReturnType<typeof createServerContext>

/**
 * Creates the turns of reads. PostgreSQL reads at the same time for several callers, but one account
 * uses a third of the connections. A page takes up to 40 ms of CPU time: an account reads one at a
 * time.
 */
function createTurns(pool: PoolState | undefined): { turns: Turns; pageTurns: Turns } {
  if (!pool) return { turns: mainThread, pageTurns: mainThread }
  const most = pool.size
  return {
    turns: new Turns({ most, mostOfOwner: most / 3 }),
    pageTurns: new Turns({ most, mostOfOwner: 1 }),
  }
}

/** Throws a TypeError for an unknown or wrong option: a misspelt limit would have no effect. */
export function createServerContext<Request>(till: Till, options: HandlerOptions<Request>) {
  assertTill(till)
  assertOptions(options)
  const { corsOrigins = [], trustProxy = false } = options
  const limits = completeLimits(options.limits)
  const concurrency = createConcurrencyLimits(limits)
  const memory = createMemoryBudget(limits)
  const connections = { open: 0, dropped: 0 }
  const { rateLimit, rateLimitAddress } = options
  const keyLimit = rateLimit ? createRateLimit('key', rateLimit) : undefined
  const addressLimit = rateLimitAddress ? createRateLimit('address', rateLimitAddress) : undefined
  const { changesOfProject, changesWindow: window } = limits
  const changeLimit = createRateLimit('project', changesOfProject, { window })
  const rateLimits = [keyLimit, addressLimit, changeLimit].filter((limit) => limit !== undefined)
  const { poolState, nearQuotas } = till.operator
  const { webhooks, poolMetrics } = options
  const gauges = { concurrency, memory: memory.requests, connections, rateLimits, webhooks }
  const metrics = options.metrics
    ? createMetrics({ ...gauges, poolState, nearQuotas }, poolMetrics)
    : undefined
  return {
    isStopping: false,
    basePath: options.basePath ?? '',
    hostAccount: createHostAccount(till, options.authenticateAccount),
    connections,
    limits,
    concurrency,
    ...createTurns(poolState()),
    memory,
    /** The number of trusted proxies. */
    trustProxy: Number(trustProxy),
    cors: corsOrigins.length > 0 ? createCors(corsOrigins) : undefined,
    keyLimit,
    addressLimit,
    changeLimit,
    metrics,
    /** Whether to serve the reference page. */
    docs: options.docs ?? false,
    /** Whether to serve the management API. */
    manage: Boolean(options.manage || options.console),
    /** Whether to serve the browser console. */
    console: options.console ?? false,
    observe: createObserver(options, metrics),
  }
}

function completeLimits(given: HandlerOptions['limits'] = {}): Limits {
  const set = Object.entries(given).filter(([, value]) => value !== undefined)
  return { ...defaultLimits, ...Object.fromEntries(set) }
}

function assertTill(till: Till): void {
  if (typeof till?.accounts?.authenticate === 'function') return
  throw new TypeError('a handler needs a till: createTill({ storage })')
}
