// The inputs and results of the methods for webhooks.
import type { StoredEndpoint } from '../../../domain/endpoint.ts'
import type { NewMessage, StoredMessage } from '../../../domain/message.ts'
import type { PurchaseStatus } from '../../../domain/purchase.ts'

export interface EndpointsOf {
  readonly account_id?: string | undefined
  readonly project_id?: string | undefined
  /** Also lists those that have no URL, confirmed or not. */
  readonly all?: true
}

export interface EndpointMove {
  /**
   * The new position: after the newest entry, or before the entry with this `seq`. A `seq` can move
   * the position only back. Throws `invalid_request` for a `seq` while an earlier replay is unread.
   */
  readonly to?: 'newest' | number | undefined
  /** Whether all waiting messages become due now. */
  readonly retry?: boolean | undefined
  /**
   * The time from which the age of all waiting messages is counted; Unix milliseconds. A message is
   * given up when it is too old.
   */
  readonly renewed_at?: number | undefined
  /** A message that waits again and is due now, as if it were created at this time. */
  readonly resend?: Pick<StoredMessage, 'sequence' | 'part' | 'created_at'> | undefined
}

export interface EndpointLag {
  readonly count: number
  /** The number of entries and messages that were examined to compute this lag. */
  readonly examined: number
  /**
   * The `seq` of the first entry that is unread or has a waiting message. Without such an entry,
   * the `seq` that the next entry will have. May be too low if more than `most` entries are unread.
   */
  readonly cursor: number
  /** The time of the entry at `cursor`; missing if no entry is unread and no message waits. */
  readonly at?: string
}

/** The right to send. One process has it at a time. */
export interface SenderLease {
  /** A random name of the sender, new at each start. */
  readonly holder: string
  /** The duration in milliseconds. The storage's own clock decides when the lease ends. */
  readonly lease: number
}

export interface ReadyRequest {
  readonly holder: string
  readonly now: number
  /** The maximum number of endpoints. */
  readonly limit: number
  /** With this many waiting messages, an endpoint reads no further entries. */
  readonly most_waiting: number
  /** The number of claimed messages by endpoint. */
  readonly claimed: readonly { readonly endpoint_id: string; readonly claimed: number }[]
  /** The ids of accounts to leave out. */
  readonly full_accounts: readonly string[]
  /** The ids of endpoints to leave out. */
  readonly full_endpoints: readonly string[]
  /** The ids of endpoints to leave out if they are failing. */
  readonly full_if_failing: readonly string[]
}

/** A position in the audit log. */
interface LogPosition {
  /** The `seq` of the last entry that was read completely. */
  readonly seq: number
  /**
   * A cursor within the next entry, if only a part of it was read; otherwise ''. An import with
   * many refunds is read in several steps.
   */
  readonly rest: string
}

/** The position of an endpoint. */
interface EndpointPosition extends LogPosition {
  /** Differs from that of each other position, and is only compared. */
  readonly key: string
}

export interface ReadyEndpoint {
  readonly endpoint: StoredEndpoint
  readonly position: EndpointPosition
  /** The number of waiting messages, counted up to `most_waiting`. */
  readonly waiting: number
  /**
   * The `seq` of the last of the next unread entries if all are about other projects or stores.
   * Otherwise missing.
   */
  readonly last_foreign?: number
}

export interface EndpointReading {
  readonly endpoint: StoredEndpoint
  /**
   * The position after which the entries were read. If the endpoint's position has changed since, no
   * message is inserted.
   */
  readonly position: EndpointPosition
  /**
   * The `seq` of the last entry that was read, and the cursor within it if only a part of it was
   * read. Missing if no entry was read.
   */
  readonly read?: LogPosition | undefined
  /** The messages of these entries. */
  readonly messages: readonly NewMessage[]
  /** The maximum number of due messages to return. */
  readonly limit: number
}

/** Returns the endpoint and messages with the results of the deliveries. Must be synchronous. */
export type SettleMessages = (
  endpoint: StoredEndpoint,
  messages: readonly StoredMessage[],
) => {
  readonly endpoint: StoredEndpoint
  readonly messages: readonly StoredMessage[]
  readonly retry?: boolean
}

export interface Refund {
  /** The cursor of the next page. */
  readonly cursor: string
  readonly transaction_id: string
  readonly user_id?: string
  readonly sku: string
  readonly status: PurchaseStatus
}
