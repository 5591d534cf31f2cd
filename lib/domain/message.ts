import { TillError } from '../errors.ts'
import type { WebhookEventType } from './event.ts'
import type { WebhookDeliveryState } from './webhook.ts'

/** Identifies a message. */
export interface MessageKey {
  readonly endpoint_id: string
  /** The number of the audit entry. */
  readonly sequence: number
  /** 0, or the number of the part of a split message. */
  readonly part: number
}

/** The key as a text. */
export function messageKey({ endpoint_id, sequence, part }: MessageKey): string {
  return `${endpoint_id} ${sequence} ${part}`
}

/** The error for a message that the delivery log does not have, or no longer. */
export function messageNotFound(): TillError {
  return new TillError('webhook_not_found', 'The delivery log has no message with this id')
}

/** A message for an endpoint. Its body is not stored: each attempt creates it. */
export interface NewMessage extends MessageKey {
  readonly type: WebhookEventType
  readonly webhook_id: string
  /**
   * The records in this part of a split message, as `<cursor>:<number>`: the cursor before the
   * first record, and the number of records.
   */
  readonly part_range?: string
}

/** A message as it is stored. All times are Unix milliseconds. */
export interface StoredMessage extends NewMessage {
  readonly state: WebhookDeliveryState
  readonly attempts: number
  /** When the sender read the audit entry and created the message. */
  readonly created_at: number
  /** The start of the latest attempt. */
  readonly at?: number
  /** When a waiting message is due. */
  readonly next_at: number
  readonly status?: number
  readonly error?: string
  readonly answer?: string
  readonly duration_ms?: number
}
