import type { Account, AccountKey } from '../domain/account.ts'
import type { AuditAction, AuditEntry, NumberedEntry } from '../domain/audit.ts'
import type { Authority } from '../domain/authority.ts'
import type { EndpointWrite, StoredEndpoint } from '../domain/endpoint.ts'
import type { JsonObject } from '../domain/fields.ts'
import type { IdempotencyRecord } from '../domain/idempotency.ts'
import type { ImportDetails, ImportRecord } from '../domain/import.ts'
import type { Item } from '../domain/item.ts'
import type { MessageKey, NewMessage, StoredMessage } from '../domain/message.ts'
import type { Project } from '../domain/project.ts'
import type {
  NewPurchase,
  PurchaseField,
  PurchaseStatus,
  StoredPurchase,
} from '../domain/purchase.ts'
import type { PurchaseFilter } from '../domain/query.ts'
import type { Store } from '../domain/store.ts'
import type { PurchaseSummary, SummaryKey } from '../domain/summary.ts'
import type { WebhookDeliveryState } from '../domain/webhook.ts'

/**
 * The contract between the services and a database. Each method is atomic. A write is durable when
 * its promise resolves. Records are returned as they were inserted. Do not change a returned
 * record: it may be frozen or shared.
 *
 * A method throws `storage_unavailable` while the database cannot be used: locked, full or
 * unreachable. A write with an `authority` throws as `assertAuthority` does if one of its
 * conditions is not met.
 */
export interface Storage
  extends AccountMethods,
    ProjectMethods,
    StoreMethods,
    ItemMethods,
    CatalogMethods,
    PurchaseMethods,
    TokenMethods,
    AuditMethods,
    BucketMethods,
    WebhookMethods,
    CopyMethods {
  /** Rejects if the database does not answer, was moved, or is an unfinished copy. */
  ping(): Promise<void>
  /** Checks the whole database. Resolves to a list with one sentence for each problem. */
  check(): Promise<string[]>
  /** Writes a consistent copy into a new file. Missing unless the database is a file. */
  backup?(path: string): Promise<void>
  /** Rewrites the file without replaced and deleted data. Missing unless the database is a file. */
  forget?(): Promise<void>
  /** Empties the write-ahead log, which holds replaced data. Only for a database that is a file. */
  emptyLog?(): Promise<void>
  /** Resolves to the size on disk. Missing for a storage in memory. */
  size?(): Promise<StorageSize>
  /** Returns the state of the connection pool. Missing without a pool. */
  poolState?(): PoolState
  close(): Promise<void>
}

/** The sizes of a database in bytes. */
export interface StorageSize {
  readonly database: number
  /** The size of the write-ahead log; missing for a server, where all databases share one. */
  readonly wal?: number
  /** The free space in the file system; missing for a database server. */
  readonly free?: number
}

export interface PoolState {
  /** The most connections that the pool opens. */
  readonly size: number
  readonly open: number
  readonly inUse: number
  /** How many statements and transactions wait for a connection. */
  readonly waiting: number
}

export interface AccountMethods {
  /** Inserts an account with its first key. */
  insertAccount(account: Account, key: AccountKey, write?: WriteOptions): Promise<void>
  findAccount(account_id: string): Promise<Account | undefined>
  /** Finds the account of an unrevoked key. Adds the id of the key. */
  findAccountByKeyHash(hash: string): Promise<KeyedAccount | undefined>
  /** Lists all accounts in order of creation. */
  listAccounts(page: Page): Promise<RecordPage<Account>>
  insertAccountKey(key: AccountKey, write?: WriteOptions): Promise<void>
  /** Lists the keys of an account in order of creation, including revoked ones. */
  listAccountKeys(account_id: string, page: Page): Promise<RecordPage<AccountKey>>
  /** Revokes a key. Resolves to false if the account has no such key or it is already revoked. */
  revokeAccountKey(
    account_id: string,
    key_id: string,
    revoked_at: string,
    write?: WriteOptions,
  ): Promise<boolean>
}

export interface ProjectMethods {
  insertProject(project: Project, write?: WriteOptions): Promise<Insertion>
  findProject(id: string): Promise<Project | undefined>
  findProjectByPublicKey(public_key: string): Promise<Project | undefined>
  /** Lists the projects of an account in order of creation. A page of large configs ends early. */
  listProjects(account_id: string, page: Page): Promise<RecordPage<Project>>
  /**
   * Replaces a project by the result of `change`. Concurrent updates run one after the other. If
   * `change` returns its argument, writes nothing, not even the audit entry. Resolves to the stored
   * project, or to undefined if there is none.
   */
  updateProject(
    id: string,
    change: (current: Project) => Project,
    write?: WriteOptions,
  ): Promise<Project | undefined>
  /**
   * Replaces the public key of a project, and makes the previous one a former key. The older former
   * keys expire at `former_until` at the latest.
   */
  rotatePublicKey(project_id: string, rotation: KeyRotation, write?: WriteOptions): Promise<void>
  findFormerPublicKey(public_key: string): Promise<FormerPublicKey | undefined>
  /** Lists the former keys of a project, in the order in which they were replaced. */
  listFormerPublicKeys(project_id: string, page: Page): Promise<RecordPage<FormerPublicKey>>
}

export interface StoreMethods {
  /** Inserts a store. Resolves to `taken` if the account has a store with this `store_id`. */
  insertStore(store: Store, write?: WriteOptions): Promise<Insertion>
  /** Finds a store. With a `project_id`, does not read the stores of other projects. */
  findStore(account_id: string, store_id: string, project_id?: string): Promise<Store | undefined>
  /** Lists the stores of a project in order of creation. A page of large configs ends early. */
  listStores(project_id: string, page: Page): Promise<RecordPage<Store>>
  /** Lists the stores of a project like `listStores`, but without reading their configurations. */
  listStoreSummaries(project_id: string, page: Page): Promise<RecordPage<StoreSummary>>
  /** Replaces a store, as `updateProject` does a project. */
  updateStore(
    store: StoreKey,
    change: (current: Store) => Store,
    write?: WriteOptions,
  ): Promise<Store | undefined>
}

export interface ItemMethods {
  /** Inserts an item. Resolves to `taken` if the store has an item with this `name`. */
  insertItem(item: Item, write?: WriteOptions): Promise<Insertion>
  /** Inserts items in this order, for `copyStorage`. Skips items whose id exists. */
  insertItems(items: readonly Item[]): Promise<void>
  findItem(id: string): Promise<Item | undefined>
  findItemByName(store: StoreKey, name: string): Promise<Item | undefined>
  /** Like `updateProject`, for an item. Also adds 1 to its `version`. */
  updateItem(
    id: string,
    change: (current: Item) => Item,
    write?: UpdateOptions<Item>,
  ): Promise<Item | undefined>
  /**
   * Lists the items of a store in order of creation. `after` is the id of an item in the store. A
   * page ends early once its text reaches `PAGE_TEXT`. Throws `store_not_found` before reading
   * items if the store does not exist or is not in the given project.
   */
  listItems(items: ItemSelection, page: Page): Promise<ItemPage>
}

export interface CatalogMethods {
  /**
   * A digest of a project with its stores and items, archived ones too. It changes with every change
   * of them. Resolves to undefined when there is no such project.
   */
  findCatalogState(project_id: string): Promise<string | undefined>
  /** Lists the items of a store in order of creation, archived ones too. Large texts end a page. */
  listCatalogItems(store: StoreKey, page: Page): Promise<RecordPage<Item>>
  /**
   * Writes all changes in one transaction, with an audit entry for each changed record besides that
   * of `write`. Throws `catalog_changed`, and writes nothing, when the state of the project is not
   * `state`, or a new name is taken.
   */
  applyCatalog(changes: CatalogChanges, write?: WriteOptions): Promise<void>
}

export interface PurchaseMethods {
  /**
   * Inserts one purchase, or updates the status of a stored one, as an import of its own, whose
   * `import_id` begins with `rec_`. Changes no purchase if the outcome is another. When a file's
   * import has the purchase already, an undo of that import counts it as skipped.
   */
  recordPurchase(
    store: StoreKey,
    import_id: string,
    purchase: NewPurchase,
    write?: WriteOptions,
  ): Promise<RecordedRow>
  /**
   * Lists what a user owns, in order of SKU: the purchases with the status `purchased`. The cursor
   * is the last SKU.
   */
  listOwned(store: StoreKey, user_id: string, page: Page): Promise<RecordPage<OwnedRow>>
  /**
   * Completes the index that finds the purchases of a user. Imports leave it to the background, and
   * reads are exact without it. Absent when each write completes it.
   */
  indexUsers?(): Promise<void>
  /** Starts an import into a store. Resolves to undefined while another import into it runs. */
  openImport(store: StoreKey, import_id: string): Promise<PurchaseImport | undefined>
  /** Finds a finished import into a store of the account. */
  findImport(account_id: string, import_id: string): Promise<ImportRecord | undefined>
  /** Lists the finished imports into a store in order of their start, without recorded purchases. */
  listImports(store: StoreKey, page: Page): Promise<RecordPage<ImportRecord>>
  /**
   * Removes the rows that a finished import with details added, and restores the statuses that it
   * changed. All reads see this at once. Resolves to undefined while an import into the store runs.
   * Does nothing when the import was undone before.
   */
  undoImport(
    store: StoreKey,
    undo: ImportUndo,
    write?: WriteOptions,
  ): Promise<UndoOutcome | undefined>
  /** Lists the purchases of a store that match the filter, in the order of import. */
  listPurchases(store: StoreKey, filter: PurchaseFilter, page: Page): Promise<StoredPurchasePage>
  /** Lists the erased purchases of a store, sorted by the UTF-8 bytes of their transaction ids. */
  listErasedPurchases(store: StoreKey, page: Page): Promise<RecordPage<ErasedPurchase>>
  /** Marks purchases as erased, for a copy. */
  insertErasedPurchases(store: StoreKey, erased: readonly ErasedPurchase[]): Promise<void>
  /**
   * Summarizes the purchases that match the filter, sorted by the fields of `by`. All sums are of one
   * moment and exact. Does not block the event loop for long.
   */
  summarizePurchases(
    stores: StoresOfAccount,
    filter: PurchaseFilter,
    by: readonly SummaryKey[],
  ): Promise<PurchaseSummary[]>
}

export interface TokenMethods {
  /** Inserts a signing key, for `copyStorage`. */
  insertSigningKey(key: StoredSigningKey): Promise<void>
  /** Inserts a signing key if there is none. Of concurrent calls, only one inserts. */
  insertFirstSigningKey(key: StoredSigningKey): Promise<void>
  /**
   * Lists the signing keys, oldest first. Not paged, because there are few: only the operator adds
   * keys, and a rotation deletes those that no valid token needs.
   */
  listSigningKeys(): Promise<StoredSigningKey[]>
  /**
   * Inserts a key, and deletes the keys whose `kid` is in the result of `drop`. `drop` gets all
   * keys, including the new one. Resolves to the result of `drop`. Concurrent rotations run one
   * after the other.
   */
  rotateSigningKeys(
    key: StoredSigningKey,
    drop: (keys: readonly StoredSigningKey[]) => readonly string[],
    write?: WriteOptions,
  ): Promise<readonly string[]>

  /**
   * Raises the revocation watermark of a project or of one of its users to `at`. If a watermark for
   * the same tokens is already as high, raises it to one more than that.
   */
  revokeTokens(revocation: Revocation, write?: WriteOptions): Promise<void>
  /** Raises a revocation watermark to this value, for `copyStorage`. Never lowers a stored one. */
  insertWatermark(watermark: Watermark): Promise<void>
  /**
   * Finds the higher of the revocation watermarks of a project and its user; 0 if there is none. A
   * token is revoked if it was issued under a lower watermark.
   */
  findWatermark(project_id: string, user_id: string): Promise<number>
  /** Lists the revocation watermarks of a project and its users, sorted by bytes of `user_id`. */
  listWatermarks(project_id: string, page: Page): Promise<RecordPage<Watermark>>
  /** Moves a user's watermark to the user's pseudonym. Revoked tokens stay revoked. */
  pseudonymizeWatermark(user: UserKey, write?: WriteOptions): Promise<void>
}

export interface AuditMethods {
  /** Checks the conditions of an authority for a call that writes nothing. Throws if one fails. */
  verifyAuthority(authority: Authority): Promise<void>
  findIdempotencyRecord(account_id: string, key: string): Promise<IdempotencyRecord | undefined>
  /** Writes audit entries and idempotency records in this order, without another change. */
  insertAudit(...writes: readonly WriteOptions[]): Promise<void>
  /** Replaces the fingerprints in one page of idempotency records by the results of `change`. */
  updateFingerprints(
    change: (fingerprint: string) => string,
    page: Page,
  ): Promise<UpdatedFingerprints>
  /**
   * Lists the idempotency records of an account, sorted by the UTF-8 bytes of their keys. May
   * include expired records.
   */
  listIdempotencyRecords(account_id: string, page: Page): Promise<RecordPage<IdempotencyRecord>>
  /** Deletes the record of `key`, and inserts another one of the same account unless it exists. */
  replaceIdempotencyRecord(key: string, by: IdempotencyRecord, write?: WriteOptions): Promise<void>
  /** Lists the audit log of one account or of all, oldest entries first. */
  listAudit(account_id: string | undefined, page: Page): Promise<AuditPage>
  /**
   * Lists entries of all accounts in an order in which none can be committed later before one that
   * was listed. `after` is an earlier `position`. With `limit` 0, resolves to the newest position.
   */
  listSettled(page: Page): Promise<SettledPage>
  /** Moves old audit entries into a file. Resolves to their number. See `archive.ts`. */
  archiveAudit(request: ArchiveRequest): Promise<number>
  /** Replaces a user's id by the pseudonym in one page of an account's entries. */
  pseudonymizeAudit(
    account_id: string,
    user: UserKey,
    page: Page,
    write?: WriteOptions,
  ): Promise<PseudonymizedEntries>
}

export interface BucketMethods {
  /**
   * Consumes from the token buckets of rate limits that servers share. A cost is the time in which
   * the bucket refills by it. `elapsed` is the time since this server's previous call. Resolves to
   * the time until each bucket is full; negative if it is full already. All times are in
   * milliseconds. A crash may lose the buckets.
   */
  consumeBuckets(costs: BucketTimes, elapsed: number): Promise<BucketTimes>
}

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
  /** Counts the unread entries with one of these actions, and the waiting messages. */
  measureLag(endpoint_id: string, actions: readonly AuditAction[]): Promise<EndpointLag>
  /**
   * Leases active endpoints that have due messages or unread entries, and whose lease ended or is
   * the holder's. The storage's own clock ends leases.
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
  /** Deletes settled messages older than `before`, and all but the newest `keep`. */
  pruneMessages(endpoint_id: string, before: number, keep: number): Promise<void>
  /** Deletes the answers in the delivery log of a project. */
  clearAnswers(project_id: string, write?: WriteOptions): Promise<void>
  findEntries(sequences: readonly number[]): Promise<NumberedEntry[]>
  /** The number of the project's first entry that is not older than this time; ISO 8601, UTC. */
  findSequence(project_id: string, since: string): Promise<number | undefined>
  /**
   * Lists the purchases that an import moved to refunded or cancelled, in a fixed order. An undo of
   * the import deletes the list.
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
  /** Counted up to 10,000. */
  readonly count: number
  /** The first number that is not settled, or the next number. */
  readonly cursor: number
  /** The time of that entry; missing without a lag. */
  readonly at?: string
}

export interface LeaseRequest {
  readonly holder: string
  /** Milliseconds. */
  readonly lease: number
  readonly now: number
  readonly limit: number
  /** The waiting messages with which no further entries are read. */
  readonly most: number
  readonly except: readonly string[]
}

export interface LeasedEndpoint {
  readonly endpoint: StoredEndpoint
  /** Identifies the position. */
  readonly position: number
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
    readonly position: number
    /** The number of the last entry that was read; missing if none was. */
    readonly read?: number | undefined
    readonly messages: readonly NewMessage[]
    /** The most messages to take. */
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

export interface CopyMethods {
  /**
   * Marks an empty storage as an unfinished copy until `endCopy`. While marked, it opens only with
   * `forCopy`. Resolves to false and sets no mark if the storage has records without such a mark.
   */
  beginCopy(): Promise<boolean>
  endCopy(): Promise<void>
}

/** The checks and additional writes in the transaction of a change. */
export interface WriteOptions {
  /**
   * The caller's conditions, to be verified again. If one fails, the change throws as
   * `assertAuthority` does and writes nothing. A revocation resolves only after the changes that it
   * came too late for.
   */
  readonly authority?: Authority | undefined
  readonly audit?: AuditEntry
  readonly idempotency?: IdempotencyRecord
  /** A quota to check if the change increases the usage. */
  readonly quota?: Quota
  /** Changes of webhook endpoints. Read after the change was made. */
  readonly endpoints?: readonly EndpointWrite[]
}

/** The same for an update. */
export interface UpdateOptions<R> extends WriteOptions {
  /** Makes the `data` of the audit entry, from the record before and after the change. */
  readonly describe?: (before: R, after: R) => JsonObject
}

/** The maximum usage after a change. A change beyond it throws `quota_exceeded` and writes nothing. */
export interface Quota {
  readonly account_id: string
  /** The project whose stores count for the quota. */
  readonly project_id?: string
  readonly projects?: number
  readonly stores?: number
  /** Bytes of `config` and `store_config` as JSON, summed over all projects and stores. */
  readonly config_bytes?: number
}

/**
 * The outcome of an insertion. `taken`: a record with this name exists. `repeated`: a valid
 * idempotency record with this key exists. Only `inserted` has written the record.
 */
export type Insertion = 'inserted' | 'taken' | 'repeated'

export interface KeyedAccount extends Account {
  readonly key_id: string
}

export interface KeyRotation {
  readonly public_key: string
  /** Former keys work until this time at the latest; ISO 8601, UTC. */
  readonly former_until: string
}

export interface FormerPublicKey {
  readonly public_key: string
  readonly project_id: string
  readonly expires_at: string
}

/**
 * The revocation watermark of a project or of one of its users. A revocation raises it, and tokens
 * that were issued under a lower watermark are invalid.
 */
export interface Watermark {
  readonly project_id: string
  /** The user; '' for all users of the project. */
  readonly user_id: string
  /** Unix seconds of the revocation, or one more than the previous watermark if that is higher. */
  readonly not_after: number
}

/** Which tokens to revoke, and when. */
export interface Revocation {
  readonly project_id: string
  /** The user; '' for all users of the project. */
  readonly user_id: string
  /** The time of the revocation in Unix seconds. */
  readonly at: number
}

/** Identifies a user: a user id is unique only within its project. */
export interface UserKey {
  readonly project_id: string
  readonly user_id: string
}

export interface PseudonymizedEntries {
  /** The number of changed entries. */
  readonly changed: number
  readonly next?: string
}

/** A purchase whose user was erased. */
export interface ErasedPurchase {
  readonly transaction_id: string
  /** Whether the purchase was deleted. A later row with its transaction id is skipped. */
  readonly is_deleted: boolean
}

/** Purchases of a user to erase. */
export interface Erasure {
  readonly user_id: string
  readonly transaction_ids: readonly string[]
  /** Whether to delete the purchases. Otherwise they lose only user and metadata. */
  readonly deletes: boolean
}

/** A time in milliseconds for each bucket. */
export type BucketTimes = ReadonlyMap<string, number>

/** Identifies a store, whose `store_id` is unique only within its account. */
export type StoreKey = Pick<Store, 'account_id' | 'store_id'>

/** One store of an account, or all of them. */
export type StoresOfAccount = Pick<Store, 'account_id'> & { readonly store_id?: string | undefined }

/** Identifies a store. If `project_id` is given, the store must be in that project. */
export type StoreOfProject = StoreKey & { readonly project_id?: string }

/** The items to list: all, only the archived ones (`true`), or only the active ones (`false`). */
export type ItemSelection = StoreOfProject & { readonly archived?: boolean }

/** A page to read. `after` is the `next` of the previous page, from the same storage. */
export interface Page {
  readonly limit: number
  readonly after?: string
}

export interface RecordPage<T> {
  /** At most `limit` records. A page may have fewer even if it is not the last. */
  readonly records: readonly T[]
  /** The cursor of the next page; missing on the last page. */
  readonly next?: string
}

/** The fields of a store that a client gets with its session. */
export type StoreSummary = Pick<Store, 'store_id' | 'store_type' | 'is_sandbox' | 'status'>

export interface ItemPage {
  readonly items: readonly Item[]
  /** The id of the last item on the page; missing on the last page. */
  readonly next?: string
  /**
   * A version of the store's items, which changes with each change of them. Correct only on the
   * first page. The items on that page are at least as new as the version.
   */
  readonly revision: string
}

/** The new values of an item, and the version that they replace. */
export interface CatalogItemChange
  extends Pick<Item, 'id' | 'version'>,
    Partial<Pick<Item, 'display_name' | 'description' | 'price' | 'metadata'>> {
  /** Null restores the item. */
  readonly archived_at?: string | null
  /** Replaces these fields of the write's audit entry, in an entry for this item. */
  readonly audit?: Partial<AuditEntry>
}

export interface CatalogChanges {
  readonly project_id: string
  /** The `findCatalogState` that the changes were made from. */
  readonly state: string
  /** A random id for the changed items, in order of time. */
  readonly change_id: string
  /** Absent when the project itself does not change. */
  readonly project?: Project | undefined
  readonly newStores: readonly Store[]
  readonly stores: readonly Store[]
  /** Read once in each attempt to write. */
  readonly newItems: Iterable<Item>
  readonly items: Iterable<CatalogItemChange>
}

export interface AuditPage {
  readonly entries: readonly AuditEntry[]
  readonly next?: string
}

export interface SettledPage {
  readonly entries: readonly NumberedEntry[]
  /** The position after the last entry, or the given one. */
  readonly position: string
}

export interface UpdatedFingerprints {
  /** The number of fingerprints that were changed. */
  readonly updated: number
  readonly next?: string
}

export interface ArchiveRequest {
  /** Moves the entries up to the first that is not older than this time; ISO 8601, UTC. */
  readonly before: string
  /** The path of a new file, or of an earlier archive of the same log. */
  readonly file: string
  /**
   * The archive ends before the first entry that a webhook endpoint has not delivered. Endpoints
   * that were stopped before this time do not count. Unix milliseconds; default 0.
   */
  readonly stopped_before?: number | undefined
  /** The audit entry of the archive run, written with the first moved entries. */
  readonly write?: WriteOptions
  /** Called after each batch with the number of entries moved so far. */
  readonly onProgress?: ((archived: number) => void) | undefined
  /** Stops the archive between two batches. */
  readonly signal?: AbortSignal | undefined
}

export interface StoredPurchasePage {
  readonly purchases: StoredPurchase[]
  /** The cursor of the next page; missing on the last page. */
  readonly next?: string
}

export interface StoredSigningKey {
  readonly kid: string
  readonly secret: Uint8Array
  readonly created_at: string
}

/**
 * A running import. `commit` makes all its rows visible at once. Between two calls it holds no
 * lock, and it shares no transaction with other writes.
 */
export interface PurchaseImport {
  /** Adds rows after all earlier ones. A later call may report the outcome of these rows. */
  stage(rows: readonly NewPurchase[]): Promise<StagedRows>
  /** Ends the staging. Reports the outcome of all rows not yet reported. */
  finish(): Promise<StagedRows>
  /** Makes all rows visible. Call `finish` first. Without details the import cannot be undone. */
  commit(write?: WriteOptions, details?: ImportDetails): Promise<void>
  /** Discards all staged rows. */
  abort(): Promise<void>
  /**
   * Erases stored purchases of the store at once. A row of a later import with the same transaction
   * id never restores them. Resolves to the number of erased purchases. For an import without rows.
   */
  erase(erasure: Erasure, write?: WriteOptions): Promise<number>
}

export interface ImportUndo {
  readonly import_id: string
  readonly undone_at: string
  /** Whether to remove rows that later imports skipped as already present. */
  readonly force: boolean
}

/**
 * `changed`: later imports changed `rows` of the affected rows. `skipped`: later imports skipped
 * them as already present, and `force` is not set. Only `undone` writes.
 */
export type UndoOutcome =
  | { readonly outcome: 'undone' }
  | { readonly outcome: 'changed' | 'skipped'; readonly rows: number }

/** The outcome of a recorded purchase; `compareRepeat` decides about a transaction that exists. */
export type RecordedRow =
  | {
      readonly outcome: 'added' | 'updated' | 'skipped'
      /** The purchase as it is stored now. Absent when it was deleted with its user. */
      readonly purchase?: StoredPurchase
    }
  | { readonly outcome: 'conflict'; readonly field: PurchaseField }
  /** The SKU is not an item of the store. */
  | { readonly outcome: 'unknown' }
  /** An import under way has the transaction, or has used all numbers that it left free. */
  | { readonly outcome: 'busy' }

/** The purchases of one SKU by one user. */
export interface OwnedRow {
  readonly sku: string
  /** The sum of their quantities. */
  readonly quantity: number
  /** Unix milliseconds. */
  readonly first_purchased_at: number
  readonly last_purchased_at: number
}

/** The outcome of staged rows. `compareRepeat` decides about a transaction that exists. */
export interface StagedRows {
  readonly added: number
  readonly skipped: number
  readonly updated: number
  readonly conflicts: readonly { readonly line: number; readonly field: PurchaseField }[]
  /** The lines whose SKU is no item of the store. These rows are not added. */
  readonly unknown: readonly number[]
}
