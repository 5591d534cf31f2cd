import { WEBHOOK_EVENTS, type WebhookEventType } from './event.ts'
import { type InputOf, invalidField, parseObject } from './fields.ts'
import type { JsonObject } from './json.ts'
import { instant, limitField, listFields } from './query.ts'
import { list, note, oneOf, optional, required, text, wholeNumber, withSchema } from './rules.ts'

/** The body of a webhook message. As JSON it has at most 64 KiB. */
export interface WebhookBody {
  readonly type: WebhookEventType
  /** The time of the change; ISO 8601, UTC. */
  readonly timestamp: string
  /** The unique number of the change. On PostgreSQL, it may not follow the order of commits. */
  readonly sequence: number
  /** 1 for the second message about the same change, 2 for the third, …; missing in the first. */
  readonly part?: number
  readonly data: JsonObject
}

/**
 * `unconfirmed`: a session set the URL, and the account has not confirmed it. `paused`: the account
 * paused the endpoint. `disabled`: the receiver answered 410, or no master key decrypts the
 * secret. A sender with a key that decrypts it resumes the endpoint.
 */
export type WebhookState = 'active' | 'unconfirmed' | 'paused' | 'disabled'

/** A URL that receives the events of a project or of one of its stores. */
export interface WebhookEndpoint {
  /** The id: `<project_id>` for a project's endpoint, `<project_id>/<store_id>` for a store's. */
  readonly endpoint_id: string
  readonly project_id: string
  /** The store; '' for the endpoint of a project. */
  readonly store_id: string
  /** The confirmed URL, which receives the messages, normalised to ASCII; '' if there is none. */
  readonly url: string
  readonly state: WebhookState
  /** The reason for `disabled`. */
  readonly reason?: 'gone' | 'secret'
  /**
   * A URL that a session set, normalised to ASCII. It receives nothing until the account confirms
   * it. If it equals `url`, the session set only another secret, or removed the secret.
   */
  readonly unconfirmed_url?: string
  /** Whether messages to the `unconfirmed_url` would be signed. */
  readonly unconfirmed_is_signed?: boolean
  /** When the unconfirmed URL or secret was set. Give it to `confirm`. */
  readonly unconfirmed_at?: string
  /**
   * Whether messages are signed: with the endpoint's `webhook_secret`, or for a store without one with
   * that of its project.
   */
  readonly is_signed: boolean
  /** Set if only a sender with `allowPrivate` (`serve --webhook-allow-private`) sends to the `url`. */
  readonly is_private?: true
  /** The only events that it receives, besides tests. Missing if it receives all. */
  readonly events?: readonly WebhookEventType[]
  /** All changes with a lower `sequence` were delivered, or are no longer retried. */
  readonly cursor: number
  /** The number of messages and changes that are not delivered yet, counted up to 10,000. */
  readonly lag: number
  /** The age in seconds of the oldest undelivered message or change; 0 if there is none. */
  readonly lag_seconds: number
  /** The time of the first failure since the last success; ISO 8601, UTC. */
  readonly failing_since?: string
  readonly last_failure?: WebhookFailure
}

export interface WebhookFailure {
  /** The time of the failure; ISO 8601, UTC. */
  readonly at: string
  /** The HTTP status; missing without an answer. */
  readonly status?: number
  /** Why there was no answer: `timeout`, `ECONNREFUSED`, … */
  readonly error?: string
}

/**
 * `waiting`: not delivered yet, and due at `next_at`. `failed`: no longer retried; `replay` sends
 * it again.
 */
export const WEBHOOK_DELIVERY_STATES = ['waiting', 'delivered', 'failed'] as const
export type WebhookDeliveryState = (typeof WEBHOOK_DELIVERY_STATES)[number]

/** A message of the delivery log as an attempt would send it now. */
export interface WebhookRequest {
  readonly endpoint_id: string
  readonly webhook_id: string
  /** The URL of the endpoint; '' if none is confirmed. */
  readonly url: string
  /** The headers by lower-case name, without `webhook-signature`, which needs the secret. */
  readonly headers: { readonly [name: string]: string }
  /** The body as JSON. Missing if the event was archived, or its import was undone. */
  readonly body?: string
}

/** A message in the delivery log. */
export interface WebhookDelivery {
  readonly endpoint_id: string
  /** The header `webhook-id`, the same in each attempt. */
  readonly webhook_id: string
  readonly sequence: number
  readonly type: WebhookEventType
  readonly state: WebhookDeliveryState
  /** The number of finished attempts. */
  readonly attempts: number
  /** The time of the last attempt; ISO 8601, UTC. Missing before the first. */
  readonly at?: string
  /** The time of the next attempt; ISO 8601, UTC. Missing unless the state is `waiting`. */
  readonly next_at?: string
  /** The HTTP status of the last attempt. */
  readonly status?: number
  readonly error?: string
  /** The first 4 KiB of the last answer that was not 2xx. */
  readonly answer?: string
  /** The duration of the last attempt in milliseconds. */
  readonly duration_ms?: number
}

const endpointId = text(1, 255)

export const webhookListFields = {
  /** If given, lists only the endpoints of this project and its stores. */
  project_id: optional(text(1, 64)),
  ...limitField,
  /** The `next` of the previous page. If missing, the first page is read. */
  cursor: optional(endpointId),
}

export interface WebhookQuery extends InputOf<typeof webhookListFields> {}

export const deliveryListFields = {
  endpoint_id: required(endpointId),
  /** If given, lists only the messages in this state. */
  state: optional(oneOf(WEBHOOK_DELIVERY_STATES)),
  ...listFields,
}

export interface WebhookLogQuery extends InputOf<typeof deliveryListFields> {}

export const deliveryFields = {
  endpoint_id: required(endpointId),
  webhook_id: required(text(1, 64)),
}

/** Identifies a message of the delivery log. */
export interface WebhookDeliveryKey extends InputOf<typeof deliveryFields> {}

export const replayFields = {
  endpoint_id: required(endpointId),
  /** The `sequence` of the first event. */
  from: optional(wholeNumber(0, Number.MAX_SAFE_INTEGER)),
  /** Events from this time on: ISO 8601 with a zone, or a date, which means midnight UTC. */
  since: optional(instant),
}

const EVENTS_SCHEMA = {
  type: ['array', 'null'],
  items: { enum: WEBHOOK_EVENTS },
  minItems: 1,
  description: 'The only events to send. `null` selects all.',
}

const events = withSchema<readonly WebhookEventType[] | null>(
  EVENTS_SCHEMA,
  (value, field, problems) => {
    if (value === null) return null
    const given = list(oneOf(WEBHOOK_EVENTS), 100)(value, field, problems)
    if (Array.isArray(value) && value.length === 0) {
      problems.push({ field, code: 'invalid', message: 'must name at least one event' })
    }
    return WEBHOOK_EVENTS.filter((each) => given.includes(each))
  },
)

export const webhookChangeFields = {
  endpoint_id: required(endpointId),
  /** The only events that the endpoint receives. `null` selects all. */
  events: optional(events),
}

/** The input to change which events an endpoint receives. */
export interface WebhookChange extends InputOf<typeof webhookChangeFields> {}

export const confirmationFields = {
  endpoint_id: required(endpointId),
  /** The URL to confirm. The call fails unless it is the `unconfirmed_url`. */
  url: optional(
    note(
      'The URL to confirm. The request fails unless it is the `unconfirmed_url`.',
      text(0, 65_536),
    ),
  ),
  /** The `unconfirmed_at` that the account has seen. */
  unconfirmed_at: optional(
    note('The request fails if a session has set the URL or the secret since.', text(0, 64)),
  ),
}

/** The unconfirmed change that an account has seen. */
export interface WebhookConfirmation extends InputOf<typeof confirmationFields> {}

/** Give one of `from` and `since`. */
export interface WebhookReplay extends InputOf<typeof replayFields> {}

/** Throws `invalid_request` unless exactly one of `from` and `since` is given. */
export function parseReplay(input: unknown) {
  const parsed = parseObject(input, replayFields)
  if ((parsed.from === undefined) !== (parsed.since === undefined)) return parsed
  throw invalidField('from', 'required', 'or since is required, and not both')
}
