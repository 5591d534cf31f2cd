import type { StoredEndpoint } from '../../domain/endpoint.ts'
import type { NewMessage, StoredMessage } from '../../domain/message.ts'
import type { PurchaseStatus } from '../../domain/purchase.ts'

export interface EndpointsOf {
  readonly account_id?: string | undefined
  readonly project_id?: string | undefined
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

export interface ReadyRequest {
  readonly holder: string
  readonly now: number
  /** With this many waiting messages, an endpoint reads no further entries. */
  readonly most: number
  /** Endpoints and accounts to leave out. */
  readonly except: readonly string[]
  readonly exceptAccounts: readonly string[]
  /** Examines only accounts with ids greater than this one. */
  readonly after: string
  /** By account id: the last endpoint that an earlier call examined. Continues after it. */
  readonly examined: ReadonlyMap<string, string>
}

export interface ReadyPage {
  readonly accounts: readonly ReadyAccount[]
  /** The `after` of the next call; missing if no further accounts follow. */
  readonly next?: string
}

export interface ReadyAccount {
  readonly account_id: string
  /** The account's endpoints with something to send, sorted by id. */
  readonly endpoint_ids: readonly string[]
  /** The last endpoint that was examined; missing if the account has no further endpoints. */
  readonly examined?: string
}

export interface LeaseRequest {
  readonly holder: string
  /** The duration of the lease in milliseconds. */
  readonly lease: number
  readonly now: number
  /** The maximum number of waiting messages to count. */
  readonly most: number
  readonly endpoint_ids: readonly string[]
}

/** A position in the audit log. */
export interface LogPosition {
  /** The `seq` of the last entry that was read completely. */
  readonly seq: number
  /**
   * A cursor within the next entry, if only a part of it was read; otherwise ''. An import with
   * many refunds is read in several steps.
   */
  readonly rest: string
}

export interface LeasedEndpoint {
  readonly endpoint: StoredEndpoint
  readonly position: LogPosition
  /** The number of waiting messages, counted up to `most`. */
  readonly waiting: number
}

export interface TakeRequest {
  readonly holder: string
  readonly now: number
  readonly hidden_until: number
  readonly endpoints: readonly {
    readonly endpoint_id: string
    /**
     * The position after which the entries were read. If the endpoint's position has changed since,
     * no message is inserted.
     */
    readonly position: LogPosition
    /**
     * The position after the entries that were read. `entry` is the `seq` of the last of them.
     * Missing if no entry was read.
     */
    readonly read?: (LogPosition & { readonly entry: number }) | undefined
    readonly messages: readonly NewMessage[]
    /** The maximum number of messages to take. */
    readonly limit: number
  }[]
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
