import type { Authority } from './authority.ts'
import type { WebhookEventType } from './event.ts'
import { isObject, isSameJson } from './json.ts'
import type { Project } from './project.ts'
import type { Store } from './store.ts'
import type { WebhookFailure, WebhookState } from './webhook.ts'

/** A webhook endpoint as it is stored. */
export interface StoredEndpoint extends EndpointOwner {
  readonly endpoint_id: string
  /** The confirmed URL; '' if there is none. */
  readonly url: string
  /**
   * The secrets that sign its messages, newest first. Empty if the messages are unsigned. A project
   * without a URL keeps its secrets in such a record, for its stores: see `isShown`.
   */
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
interface EndpointConfig {
  /** '' if a project has only a secret. */
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

/** `prj_1` for the endpoint of a project, `prj_1/main` for that of a store. */
export function endpointIdOf({ project_id, store_id }: Omit<EndpointOwner, 'account_id'>): string {
  return store_id === '' ? project_id : `${project_id}/${store_id}`
}

/**
 * Reads the webhook settings of a configuration. Undefined for a store that does not enable webhooks,
 * and without a URL, unless a project has a secret for its stores.
 */
export function endpointConfigOf(record: Project | Store): EndpointConfig | undefined {
  const config = 'store_id' in record ? record.store_config : record.config
  const { webhook_enabled, webhook_url, webhook_secret } = config
  if ('store_id' in record && webhook_enabled !== true) return undefined
  const url = typeof webhook_url === 'string' ? webhook_url : ''
  const hasSecret = typeof webhook_secret === 'string' || isObject(webhook_secret)
  if (url === '' && ('store_id' in record || !hasSecret)) return undefined
  return { url, ...(hasSecret && { secret: webhook_secret }) }
}

/** Whether an endpoint has a URL, confirmed or not. Others only keep what the account has set. */
export function isShown({ url, unconfirmed }: StoredEndpoint): boolean {
  return url !== '' || unconfirmed !== undefined
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

/**
 * Returns the endpoint after a change of the webhook settings; undefined if there is none then. Only
 * an account changes the secrets: they also sign the messages of stores.
 */
export function changeEndpoint(
  current: StoredEndpoint | undefined,
  owner: EndpointOwner,
  { before, after, mayActivate, now, isSame }: EndpointConfigChange,
): StoredEndpoint | undefined {
  const known = current ?? newEndpoint(owner)
  const isUrlKept = (before?.url ?? '') === (after?.url ?? '')
  const isSecretKept = isSame(before?.secret, after?.secret)
  const isKept = isUrlKept && isSecretKept
  if (!mayActivate) {
    if (isKept) return current
    // Does not stop the account's endpoint either: anyone with the public key can get a session.
    const { unconfirmed: _, ...confirmed } = known
    if (!after?.url) return unlessEmpty(confirmed)
    const stopped_at = known.url === '' ? { stopped_at: now } : {}
    return { ...known, ...stopped_at, unconfirmed: { ...after, set_at: now } }
  }
  if (!after?.url) {
    // A URL whose removal is unconfirmed stays active.
    if (isKept) return current
    const isProject = owner.store_id === ''
    const rest = isUrlKept
      ? known
      : { ...newEndpoint(owner), secrets: isProject ? known.secrets : [] }
    const { secrets } = rest
    if (isSecretKept) return unlessEmpty(rest)
    return unlessEmpty({ ...rest, secrets: withSecret(secrets, after?.secret, now, isSame) })
  }
  // The account changed something other than the URL. An unconfirmed URL stays unconfirmed.
  if (isUrlKept && known.url !== after.url) {
    return { ...known, unconfirmed: { ...after, set_at: now } }
  }
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
  // `stopped_at`: holds no audit entries back from an archive.
  const stopped = { state: 'unconfirmed', stopped_at: 0, due_at: 0 } as const
  return { endpoint_id, ...owner, url: '', secrets: [], ...stopped }
}

/** Keeps an endpoint without a URL only for its secrets or its selection of events. */
function unlessEmpty(endpoint: StoredEndpoint): StoredEndpoint | undefined {
  return isShown(endpoint) || endpoint.secrets.length > 0 || endpoint.events ? endpoint : undefined
}

/** Replaces the newest secret, which then still signs for a while. */
function withSecret(
  current: readonly EndpointSecret[],
  secret: unknown,
  now: number,
  isSame: EndpointConfigChange['isSame'],
): readonly EndpointSecret[] {
  const [newest] = current
  if (secret === undefined) return []
  if (!newest) return [{ secret }]
  if (isSame(newest.secret, secret)) return current
  return [{ secret }, { secret: newest.secret, until: now + OVERLAP_MS }]
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
  const secrets = url === current.url || current.url === '' ? current.secrets : []
  return { ...active, url, secrets: withSecret(secrets, secret, now, isSame) }
}

/** Pauses an endpoint or, for a `reason`, disables it. `now` is Unix milliseconds. */
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

/** The endpoint as active: without a reason, failures and a wait. */
export function activated(current: StoredEndpoint): StoredEndpoint {
  const { reason: _, stopped_at: _at, failing_since: _since, ...kept } = current
  return { ...kept, state: 'active', due_at: 0 }
}
