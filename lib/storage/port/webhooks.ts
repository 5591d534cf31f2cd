import type { AuditAction, NumberedEntry } from '../../domain/audit.ts'
import type { StoredEndpoint } from '../../domain/endpoint.ts'
import type { MessageKey, NewMessage, StoredMessage } from '../../domain/message.ts'
import type { PurchaseStatus } from '../../domain/purchase.ts'
import type { WebhookDeliveryState } from '../../domain/webhook.ts'
import type { Page, RecordPage } from './page.ts'
import type { StoreKey } from './stores.ts'
import type { WriteOptions } from './write.ts'

/**
 * Webhook endpoints and their messages. Each endpoint has a position in the audit log. The entries
 * after the position are unread. Reading an entry inserts its messages and moves the position, in
 * one transaction. A crash of the machine may lose the results of the latest deliveries. The
 * messages are then sent again.
 */
export interface WebhookMethods {
  findEndpoint(endpoint_id: string): Promise<StoredEndpoint | undefined>
  /** Lists endpoints of all accounts, of one, or of one project, sorted by id. */
  listEndpoints(owner: EndpointsOf, page: Page): Promise<RecordPage<StoredEndpoint>>
  /** Replaces an endpoint by the result of `change`. Resolves to undefined if it does not exist. */
  updateEndpoint(
    endpoint_id: string,
    change: (current: StoredEndpoint) => StoredEndpoint,
    move?: EndpointMove,
    write?: WriteOptions,
  ): Promise<StoredEndpoint | undefined>
  /**
   * Counts the unread audit entries with one of the `actions`, and the waiting messages. Examines
   * at most `most` of each; default 10,000.
   */
  measureLag(
    endpoint_id: string,
    actions: readonly AuditAction[],
    most?: number,
  ): Promise<EndpointLag>
  /** Counts the endpoints with a URL that the account has not confirmed yet. */
  countUnconfirmed(): Promise<number>
  /**
   * Finds active endpoints with due messages or unread entries, except those that another holder
   * has leased. Examines up to 100 endpoints of each of up to 100 accounts, in the order of their
   * ids.
   */
  findReady(request: ReadyRequest): Promise<ReadyPage>
  /**
   * Leases the given endpoints to the holder, except inactive ones and those that another holder
   * has leased. The storage's own clock decides when a lease ends.
   */
  leaseEndpoints(request: LeaseRequest): Promise<LeasedEndpoint[]>
  /**
   * Lists the first unread entries of the endpoint's project. Leaves out an entry if an open
   * transaction could still insert another one before it.
   */
  listUnread(endpoint_id: string, limit: number): Promise<NumberedEntry[]>
  /**
   * Inserts the new messages. Assigns due messages to the holder, and hides them from other holders
   * until `hidden_until`.
   */
  takeMessages(request: TakeRequest): Promise<StoredMessage[]>
  /**
   * For each endpoint of `keys`, calls `settle` with the endpoint and with those of its messages
   * that are in `keys` and assigned to the holder. Stores the results. Ignores messages of other
   * holders. Renews the leases of the endpoints for `lease` milliseconds.
   */
  settleMessages(
    holder: string,
    keys: readonly MessageKey[],
    lease: number,
    settle: SettleMessages,
  ): Promise<void>
  /** Ends the leases of a holder. The messages that are assigned to it become due at `now`. */
  releaseEndpoints(holder: string, now: number): Promise<void>
  /** The earliest time after `now` at which a message is due. */
  findNextDue(now: number): Promise<number | undefined>
  /** Lists the messages of an endpoint, newest first. */
  listMessages(
    endpoint_id: string,
    state: WebhookDeliveryState | undefined,
    page: Page,
  ): Promise<RecordPage<StoredMessage>>
  findMessage(key: MessageKey): Promise<StoredMessage | undefined>
  /**
   * Deletes the delivered and failed messages of an endpoint that are older than `before`, or not
   * among its newest `keep` ones.
   */
  pruneMessages(endpoint_id: string, before: number, keep: number): Promise<void>
  /** Deletes the bodies of HTTP responses from the delivery logs of a project. */
  clearAnswers(project_id: string, write?: WriteOptions): Promise<void>
  findEntries(sequences: readonly number[]): Promise<NumberedEntry[]>
  /** Finds the `seq` of the project's first audit entry at or after `since`; ISO 8601, UTC. */
  findSequence(project_id: string, since: string): Promise<number | undefined>
  /**
   * Lists the purchases whose status an import changed to refunded or cancelled, in a fixed order.
   * A page examines at most 5,000 status changes, and may be empty although `next` is set. After an
   * undo of the import, the list is empty.
   */
  listRefunds(import_id: string, page: Page): Promise<RecordPage<Refund>>
  /**
   * Finds the user of a stored purchase. Undefined for an unknown purchase, and for one without a
   * user.
   */
  findPurchaseUser(store: StoreKey, transaction_id: string): Promise<string | undefined>
}

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
