import type { WebhookEventType } from './event.ts'
import type { JsonObject } from './json.ts'

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
 * paused the endpoint. `disabled`: the receiver answered 410, or no master key decrypts the secret.
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
  /** Set if only a server with `--webhook-allow-private` sends to the `url`. */
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
