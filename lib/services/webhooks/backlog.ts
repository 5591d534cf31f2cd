import { setImmediate } from 'node:timers/promises'
import { EVENT_ACTIONS } from '../../domain/event.ts'
import type { Context } from '../context.ts'

export interface Backlog {
  /** The number of endpoints in each state. */
  readonly endpoints: {
    readonly [State in 'active' | 'unconfirmed' | 'paused' | 'disabled']: number
  }
  /** The number of active endpoints whose last attempt failed. */
  readonly failing: number
  /**
   * How many changes and messages the active endpoints have not received yet; counted up to about
   * 100,000.
   */
  readonly lag: number
  /** The age in seconds of the oldest change that an active endpoint has not received. */
  readonly lag_seconds: number
}

const ENDPOINTS = 1_000
/**
 * The maximum number of audit entries to examine: for one endpoint, and for all endpoints together.
 * At least one entry of each active endpoint is examined.
 */
const ENTRIES_OF_ENDPOINT = 10_000
const ENTRIES = 100_000
const CACHE_MS = 15_000

/** Returns a function that measures the backlog. Its result is cached for 15 seconds. */
export function createBacklog({ storage, now }: Context): () => Promise<Backlog> {
  const measure = async (): Promise<Backlog> => {
    const endpoints = { active: 0, unconfirmed: 0, paused: 0, disabled: 0 }
    let failing = 0
    let lag = 0
    let left = ENTRIES
    let lag_seconds = 0
    const { records } = await storage.listEndpoints({}, { limit: ENDPOINTS })
    for (const { endpoint_id, state, failing_since } of records) {
      endpoints[state]++
      if (state !== 'active') continue
      if (failing_since !== undefined) failing++
      const most = Math.max(1, Math.min(ENTRIES_OF_ENDPOINT, left))
      const { count, at, examined } = await storage.measureLag(endpoint_id, EVENT_ACTIONS, most)
      lag += count
      left -= examined
      if (at !== undefined) {
        lag_seconds = Math.max(lag_seconds, Math.floor((now() - Date.parse(at)) / 1000))
      }
      await setImmediate() // yields to the event loop, because the storage may answer without I/O
    }
    return { endpoints, failing, lag, lag_seconds }
  }

  let latest: { readonly backlog: Promise<Backlog>; readonly until: number } | undefined
  return () => {
    if (latest && performance.now() < latest.until) return latest.backlog
    const measured = { backlog: measure(), until: Number.POSITIVE_INFINITY }
    latest = measured
    measured.backlog.then(
      () => {
        measured.until = performance.now() + CACHE_MS
      },
      () => {
        latest = undefined
      },
    )
    return measured.backlog
  }
}
