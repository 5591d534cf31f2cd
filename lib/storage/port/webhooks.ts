import type { AuditAction, NumberedEntry } from '../../domain/audit.ts'
import type { StoredEndpoint } from '../../domain/endpoint.ts'
import type { MessageKey, NewMessage, StoredMessage } from '../../domain/message.ts'
import type { PurchaseStatus } from '../../domain/purchase.ts'
import type { WebhookDeliveryState } from '../../domain/webhook.ts'
import type { Page, RecordPage } from './page.ts'
import type { StoreKey } from './stores.ts'
import type { WriteOptions } from './write.ts'

/**
 * Endpoints of webhooks and their messages. Each endpoint has a position in the audit log. Entries
 * after it are unread. Reading an entry inserts its messages and moves the position, in one
 * transaction. A write of the delivery state may be lost in a crash of the machine, then messages
 * are sent again.
 */
export interface WebhookMethods {
  findEndpoint(endpoint_id: string): Promise<StoredEndpoint | undefined>
  /** Lists endpoints of all accounts, of one, or of one project, sorted by id. */
  listEndpoints(owner: EndpointsOf, page: Page): Promise<RecordPage<StoredEndpoint>>
  /** Replaces an endpoint by the result of `change`. Resolves to undefined if there is none. */
  updateEndpoint(
    endpoint_id: string,
    change: (current: StoredEndpoint) => StoredEndpoint,
    move?: EndpointMove,
    write?: WriteOptions,
  ): Promise<StoredEndpoint | undefined>
  /**
   * Counts the unread entries with one of these actions, and the waiting messages. Examines at most
   * `most` of each; default 10,000.
   */
  measureLag(
    endpoint_id: string,
    actions: readonly AuditAction[],
    most?: number,
  ): Promise<EndpointLag>
  /** Counts the endpoints with a URL that waits for the account. */
  countUnconfirmed(): Promise<number>
  /**
   * Finds active endpoints that have due messages or unread entries, and that no other holder has.
   * Examines up to 100 endpoints of each of up to 100 accounts, in the order of their ids.
   */
  findReady(request: ReadyRequest): Promise<ReadyPage>
  /**
   * Leases those of these endpoints that are active, and whose lease ended or is the holder's. The
   * storage's own clock ends leases.
   */
  leaseEndpoints(request: LeaseRequest): Promise<LeasedEndpoint[]>
  /** The first unread entries of the endpoint's project that no open transaction can precede. */
  listUnread(endpoint_id: string, limit: number): Promise<NumberedEntry[]>
  /** Inserts new messages, and gives the due ones to the holder until `hidden_until`. */
  takeMessages(request: TakeRequest): Promise<StoredMessage[]>
  /**
   * Replaces the holder's messages with these keys, and their endpoints, by the results of
   * `settle`. Messages of other holders are left out. Renews the leases for `lease` milliseconds.
   */
  settleMessages(
    holder: string,
    keys: readonly MessageKey[],
    lease: number,
    settle: SettleMessages,
  ): Promise<void>
  /** Ends the leases of a holder. Its messages are due at `now`. */
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
   * Deletes each settled message of an endpoint that is older than `before`, or not among its newest
   * `keep` ones.
   */
  pruneMessages(endpoint_id: string, before: number, keep: number): Promise<void>
  /** Deletes the answers in the delivery log of a project. */
  clearAnswers(project_id: string, write?: WriteOptions): Promise<void>
  findEntries(sequences: readonly number[]): Promise<NumberedEntry[]>
  /** The number of the project's first entry that is not older than this time; ISO 8601, UTC. */
  findSequence(project_id: string, since: string): Promise<number | undefined>
  /**
   * Lists the purchases that an import moved to refunded or cancelled, in a fixed order. Examines at
   * most 5,000 of its changes, and may return none with a `next`. An undo of the import deletes the
   * list.
   */
  listRefunds(import_id: string, page: Page): Promise<RecordPage<Refund>>
  /** Finds the user of a stored purchase. Undefined without one. */
  findPurchaseUser(store: StoreKey, transaction_id: string): Promise<string | undefined>
}

export interface EndpointsOf {
  readonly account_id?: string | undefined
  readonly project_id?: string | undefined
}

export interface EndpointMove {
  /** Moves the position after the newest entry, or back before an entry. */
  readonly to?: 'newest' | number | undefined
  /** Makes all waiting messages due. */
  readonly retry?: boolean | undefined
  /** Waiting messages are given up as if they were new at this time; Unix milliseconds. */
  readonly renewed_at?: number | undefined
}

export interface EndpointLag {
  readonly count: number
  /** The number of entries and messages that were examined. */
  readonly examined: number
  /** The first number that is not settled, or the next number. A lower one if it was not found. */
  readonly cursor: number
  /** The time of that entry; missing if everything is settled. */
  readonly at?: string
}

export interface ReadyRequest {
  readonly holder: string
  readonly now: number
  /** The waiting messages with which no further entries are read. */
  readonly most: number
  /** Endpoints and accounts to leave out. */
  readonly except: readonly string[]
  readonly exceptAccounts: readonly string[]
  /** Examines the accounts after this one. */
  readonly after: string
  /** Of these accounts, examines only the endpoints after the given one. */
  readonly examined: ReadonlyMap<string, string>
}

export interface ReadyPage {
  readonly accounts: readonly ReadyAccount[]
  /** The account after which further ones follow; missing for none. */
  readonly next?: string
}

export interface ReadyAccount {
  readonly account_id: string
  /** Its endpoints that are ready, sorted. */
  readonly endpoint_ids: readonly string[]
  /** The last endpoint that was examined, if further ones may follow. */
  readonly examined?: string
}

export interface LeaseRequest {
  readonly holder: string
  /** Milliseconds. */
  readonly lease: number
  readonly now: number
  /** The most waiting messages to count. */
  readonly most: number
  readonly endpoint_ids: readonly string[]
}

/** A position in the audit log. */
export interface LogPosition {
  /** The entries after this number are unread. */
  readonly seq: number
  /** How far entry `seq + 1` is read; '' for not at all. */
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
    /** The position that the entries were read after. If it has changed, inserts nothing. */
    readonly position: LogPosition
    /** The new position, with the number of the last entry that was read; missing if none was. */
    readonly read?: (LogPosition & { readonly entry: number }) | undefined
    readonly messages: readonly NewMessage[]
    /** The maximum number of messages to take. */
    readonly limit: number
  }[]
}

/** Returns the endpoint and its messages after their attempts. Must be synchronous. */
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
