import type { Authority } from './authority.ts'
import type { WebhookEventType } from './event.ts'
import { isObject, isSameJson } from './fields.ts'
import type { Project } from './project.ts'
import type { Store } from './store.ts'
import type { WebhookFailure, WebhookState } from './webhook.ts'

/** A webhook endpoint as it is stored. */
export interface StoredEndpoint extends EndpointOwner {
  readonly endpoint_id: string
  /** The confirmed URL; '' if there is none. */
  readonly url: string
  /** The secrets that sign its messages, newest first. Empty if the messages are unsigned. */
  readonly secrets: readonly EndpointSecret[]
  /** The URL and secret that wait for a confirmation: see `mayActivateWebhooks`. */
  readonly unconfirmed?: UnconfirmedConfig
  readonly state: WebhookState
  readonly reason?: 'gone' | 'secret'
  /** When the endpoint stopped being active; Unix milliseconds. */
  readonly stopped_at?: number
  /** No message is due before this time; Unix milliseconds. */
  readonly due_at: number
  /** Unix milliseconds. */
  readonly failing_since?: number
  readonly last_failure?: WebhookFailure
  /** The only events that it receives; all without this list. */
  readonly events?: readonly WebhookEventType[]
}

export interface EndpointOwner {
  readonly account_id: string
  readonly project_id: string
  /** The store of the endpoint; '' for the endpoint of a project. */
  readonly store_id: string
}

export interface EndpointSecret {
  /** The secret as it is stored in the configuration, encrypted or not. */
  readonly secret: unknown
  /** A replaced secret signs messages until this time, beside the new secret; Unix milliseconds. */
  readonly until?: number
}

/** The webhook settings in the configuration of a project or store. */
export interface EndpointConfig {
  readonly url: string
  readonly secret?: unknown
}

/** Changes an endpoint in the transaction that changes its project or store. */
export interface EndpointWrite {
  readonly endpoint_id: string
  /** The condition under which the caller may activate a URL, verified in the transaction. */
  readonly authority?: Authority | undefined
  /** Returns the endpoint to store. Returns `current` to change nothing, undefined to delete it. */
  change(current: StoredEndpoint | undefined): StoredEndpoint | undefined
}

/** How long a replaced secret still signs messages, beside the new secret. */
const OVERLAP_MS = 24 * 3_600_000

export function endpointIdOf({ project_id, store_id }: Omit<EndpointOwner, 'account_id'>): string {
  return store_id === '' ? project_id : `${project_id}/${store_id}`
}

export function endpointConfigOf(record: Project | Store): EndpointConfig | undefined {
  const config = 'store_id' in record ? record.store_config : record.config
  const { webhook_enabled, webhook_url, webhook_secret } = config
  if ('store_id' in record && webhook_enabled !== true) return undefined
  if (typeof webhook_url !== 'string') return undefined
  const hasSecret = typeof webhook_secret === 'string' || isObject(webhook_secret)
  return { url: webhook_url, ...(hasSecret && { secret: webhook_secret }) }
}

/** A URL and secret that the account has not confirmed. */
export interface UnconfirmedConfig extends EndpointConfig {
  /** When it was set; Unix milliseconds. Versions before 0.3.0 did not store it. */
  readonly set_at?: number
}

interface EndpointConfigChange {
  readonly before: EndpointConfig | undefined
  readonly after: EndpointConfig | undefined
  /** Whether the caller may activate a URL. Otherwise the account must confirm it. */
  readonly mayActivate: boolean
  /** Unix milliseconds. */
  readonly now: number
  /** Whether two stored secrets have the same text, even if one was encrypted again. */
  isSame(one: unknown, other: unknown): boolean
}

/** Returns the endpoint after a change of the webhook settings; undefined if there is none then. */
export function changeEndpoint(
  current: StoredEndpoint | undefined,
  owner: EndpointOwner,
  { before, after, mayActivate, now, isSame }: EndpointConfigChange,
): StoredEndpoint | undefined {
  const known = current ?? newEndpoint(owner)
  const isKept =
    before?.url === after?.url && (after === undefined || isSame(before?.secret, after.secret))
  if (!mayActivate) {
    if (isKept) return current
    // Does not stop the account's endpoint either: anyone with the public key can get a session.
    const { unconfirmed: _, ...confirmed } = known
    // Keeps the selection of events, which only the account sets.
    if (!after) return known.url === '' && !known.events ? undefined : confirmed
    const stopped_at = known.url === '' ? { stopped_at: now } : {}
    return { ...known, ...stopped_at, unconfirmed: { ...after, set_at: now } }
  }
  if (before?.url === after?.url) {
    // The account changed something other than the URL. An unconfirmed URL stays unconfirmed, and a
    // URL whose removal is unconfirmed stays active.
    if (!after) return current
    if (known.url !== after.url) return { ...known, unconfirmed: { ...after, set_at: now } }
  }
  if (!after) return undefined
  if (!isKept || !current) return withConfig(known, after, now, isSame)
  // The text of the secret is the same. If it was encrypted again, stores the new ciphertext.
  const [newest, ...replaced] = current.secrets
  if (current.url !== after.url || !newest || isSameJson(newest.secret, after.secret)) {
    return current
  }
  return isSame(newest.secret, after.secret)
    ? { ...current, secrets: [{ secret: after.secret }, ...replaced] }
    : current
}

function newEndpoint(owner: EndpointOwner): StoredEndpoint {
  const endpoint_id = endpointIdOf(owner)
  return { endpoint_id, ...owner, url: '', secrets: [], state: 'unconfirmed', due_at: 0 }
}

/**
 * Activates an endpoint with another URL and secret, unless it is paused. A replaced secret still
 * signs for a while.
 */
export function withConfig(
  current: StoredEndpoint,
  { url, secret }: EndpointConfig,
  now: number,
  isSame: EndpointConfigChange['isSame'],
): StoredEndpoint {
  const { unconfirmed: _, ...kept } = current
  // An endpoint that was disabled because its secret cannot be decrypted stays disabled when the
  // account removes the secret. Otherwise it would send its messages unsigned.
  const isStopped = kept.state === 'paused' || (kept.reason === 'secret' && secret === undefined)
  const active = isStopped ? kept : activated(kept)
  const newest = url === current.url ? current.secrets[0] : undefined
  if (secret === undefined) return { ...active, url, secrets: [] }
  if (!newest) return { ...active, url, secrets: [{ secret }] }
  if (isSame(newest.secret, secret)) return { ...active, url, secrets: current.secrets }
  const replaced = { secret: newest.secret, until: now + OVERLAP_MS }
  return { ...active, url, secrets: [{ secret }, replaced] }
}

export function stopEndpoint(
  current: StoredEndpoint,
  now: number,
  reason?: 'gone' | 'secret',
): StoredEndpoint {
  const { reason: _, ...kept } = current
  const stopped_at = current.stopped_at ?? now
  return reason
    ? { ...kept, state: 'disabled', reason, stopped_at }
    : { ...kept, state: 'paused', stopped_at }
}

export function activated(current: StoredEndpoint): StoredEndpoint {
  const { reason: _, stopped_at: _at, failing_since: _since, ...kept } = current
  return { ...kept, state: 'active', due_at: 0 }
}
