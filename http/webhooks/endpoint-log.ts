import { BoundedMap } from '../../lib/bounded-map.ts'
import type { OutgoingMessage } from '../../lib/index.ts'

export type WebhookLog = (level: 'info' | 'warn', message: string) => void

/** The maximum number of endpoints whose failures are remembered. */
const MAX_ENDPOINTS = 10_000
/** A failing endpoint gets at most one warning in this time. */
const QUIET_MS = 60_000

interface Failing {
  /** Whether the last line about the endpoint was a warning. */
  readonly isFailing: boolean
  /** The time of the last warning, as `performance.now()`. */
  readonly warnedAt: number
  /** The number of failed attempts since then. */
  readonly count: number
}

/**
 * Logs when an endpoint begins to fail, once a minute while it fails, and when it recovers. A dead
 * host may fail hundreds of attempts in a minute.
 */
export function createEndpointLog(log: WebhookLog, now: () => number = () => performance.now()) {
  const endpoints = new BoundedMap<Failing>(MAX_ENDPOINTS)
  return {
    failed({ endpoint_id, attempt, headers }: OutgoingMessage, reason: string): void {
      const last = endpoints.get(endpoint_id)
      if (last && now() - last.warnedAt < QUIET_MS) {
        endpoints.set(endpoint_id, { ...last, count: last.count + 1 })
        return
      }
      const others = last?.count ? `; since the last warning, ${last.count} others failed` : ''
      const what = `Attempt ${attempt} to send ${headers['webhook-id']} to ${endpoint_id}`
      log('warn', `${what} failed: ${reason}${others}`)
      endpoints.set(endpoint_id, { isFailing: true, warnedAt: now(), count: 0 })
    },
    delivered({ endpoint_id }: OutgoingMessage): void {
      const last = endpoints.get(endpoint_id)
      if (!last?.isFailing) return
      log('info', `The endpoint ${endpoint_id} works again`)
      endpoints.set(endpoint_id, { ...last, isFailing: false })
    },
    disabled(endpoint_id: string, reason: string): void {
      log('warn', `The endpoint ${endpoint_id} is disabled: ${reason}. Its events wait`)
    },
    resumed(endpoint_id: string): void {
      log('info', `The endpoint ${endpoint_id} is active again: a master key decrypts its secret`)
    },
  }
}
