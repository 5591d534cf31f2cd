import type { Account, AccountKey } from '../domain/account.ts'
import type { AuditEntry } from '../domain/audit.ts'
import type { Authority } from '../domain/authority.ts'
import type { IdempotencyRecord } from '../domain/idempotency.ts'
import type { Item } from '../domain/item.ts'
import type { Project } from '../domain/project.ts'
import type { NewPurchase, PurchaseField, StoredPurchase } from '../domain/purchase.ts'
import type { PurchaseFilter } from '../domain/query.ts'
import type { Store } from '../domain/store.ts'

/**
 * The contract between the services and a database. Each method is atomic. A write is durable when
 * its promise resolves. A record is returned as it was inserted. Do not change a returned record: it
 * may be frozen or shared.
 *
 * A method throws `storage_unavailable` while the database cannot be used: locked, full or
 * unreachable. A write with an `authority` throws as `assertAuthority` does when it no longer holds.
 */
export interface Storage
  extends AccountMethods,
    ProjectMethods,
    StoreMethods,
    ItemMethods,
    PurchaseMethods,
    TokenMethods,
    AuditMethods,
    BucketMethods,
    CopyMethods {
  /** Rejects when the database does not answer, its file was moved, or it is an unfinished copy. */
  ping(): Promise<void>
  /** Checks the whole database. Resolves to a sentence for each problem. */
  check(): Promise<string[]>
  /** Writes a consistent copy into a new file. Only for a database that is a file. */
  backup?(path: string): Promise<void>
  /** Rewrites the file without replaced and deleted data. Only for a database that is a file. */
  forget?(): Promise<void>
  /** Empties the write-ahead log, which holds replaced data. Only for a database that is a file. */
  emptyLog?(): Promise<void>
  /** Resolves to the size on disk. Absent for a storage in memory. */
  size?(): Promise<StorageSize>
  /** Returns the state of the connection pool. Absent without a pool. */
  poolState?(): PoolState
  close(): Promise<void>
}

/** Sizes in bytes. */
export interface StorageSize {
  readonly database: number
  /** The write-ahead log; absent for a database server, where all databases share one. */
  readonly wal?: number
  /** Free space in the file system; absent for a database server. */
  readonly free?: number
}

export interface PoolState {
  /** The maximum number of connections. */
  readonly size: number
  readonly open: number
  readonly inUse: number
  /** The number of statements and transactions that wait for a connection. */
  readonly waiting: number
}

export interface AccountMethods {
  /** Inserts an account with its first key. */
  insertAccount(account: Account, key: AccountKey, write?: WriteOptions): Promise<void>
  findAccount(account_id: string): Promise<Account | undefined>
  /** Finds the account of an unrevoked key, with the id of the key. */
  findAccountByKeyHash(hash: string): Promise<KeyedAccount | undefined>
  /** Lists all accounts in order of creation. */
  listAccounts(page: Page): Promise<RecordPage<Account>>
  insertAccountKey(key: AccountKey, write?: WriteOptions): Promise<void>
  /** Lists the keys of an account in order of creation, including revoked ones. */
  listAccountKeys(account_id: string, page: Page): Promise<RecordPage<AccountKey>>
  /** Resolves to false when the account has no such unrevoked key. */
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
  /** Lists the projects of an account in order of creation. Large configs end a page early. */
  listProjects(account_id: string, page: Page): Promise<RecordPage<Project>>
  /**
   * Replaces a project by the result of `change`. Concurrent updates run one after the other. Writes
   * nothing, not even the audit entry, when `change` returns its argument. Resolves to the stored
   * project, or to undefined when there is none.
   */
  updateProject(
    id: string,
    change: (current: Project) => Project,
    write?: WriteOptions,
  ): Promise<Project | undefined>
  /**
   * Replaces the public key of a project. The previous key becomes a former key. Older former keys
   * expire at `former_until` too, unless they expire earlier.
   */
  rotatePublicKey(project_id: string, rotation: KeyRotation, write?: WriteOptions): Promise<void>
  findFormerPublicKey(public_key: string): Promise<FormerPublicKey | undefined>
  /** Lists the former keys of a project in order of their rotation. */
  listFormerPublicKeys(project_id: string, page: Page): Promise<RecordPage<FormerPublicKey>>
}

export interface StoreMethods {
  /** Resolves to `taken` when the account has a store with this `store_id`. */
  insertStore(store: Store, write?: WriteOptions): Promise<Insertion>
  /** With a `project_id`, finds only a store of that project, and does not read any other. */
  findStore(account_id: string, store_id: string, project_id?: string): Promise<Store | undefined>
  /** Lists the stores of a project in order of creation. Large configs end a page early. */
  listStores(project_id: string, page: Page): Promise<RecordPage<Store>>
  /** Lists the same stores without reading their configurations. */
  listStoreSummaries(project_id: string, page: Page): Promise<RecordPage<StoreSummary>>
  /** Like `updateProject`, for a store. */
  updateStore(
    store: StoreKey,
    change: (current: Store) => Store,
    write?: WriteOptions,
  ): Promise<Store | undefined>
}

export interface ItemMethods {
  /** Resolves to `taken` when the store has an item with this `name`. */
  insertItem(item: Item, write?: WriteOptions): Promise<Insertion>
  /** Inserts items in this order, for a copy. Skips items whose id exists. */
  insertItems(items: readonly Item[]): Promise<void>
  findItem(id: string): Promise<Item | undefined>
  /**
   * Lists the items of a store in order of creation. `after` is the id of an item in the store. A
   * page ends before its limit once its text reaches `PAGE_TEXT`. Throws `store_not_found`, before it
   * reads items, when there is no such store or it is not in the given project.
   */
  listItems(store: StoreOfProject, page: Page): Promise<ItemPage>
}

export interface PurchaseMethods {
  /** Starts an import into a store. Resolves to undefined while another import into it runs. */
  openImport(store: StoreKey, import_id: string): Promise<PurchaseImport | undefined>
  /** Lists the purchases of a store that match the filter, in the order of their import. */
  listPurchases(store: StoreKey, filter: PurchaseFilter, page: Page): Promise<StoredPurchasePage>
  /** Lists the erased purchases of a store, sorted by the UTF-8 bytes of their transaction ids. */
  listErasedPurchases(store: StoreKey, page: Page): Promise<RecordPage<ErasedPurchase>>
  /** Marks purchases as erased, for a copy. */
  insertErasedPurchases(store: StoreKey, erased: readonly ErasedPurchase[]): Promise<void>
}

export interface TokenMethods {
  /** Inserts a key, for a copy. */
  insertSigningKey(key: StoredSigningKey): Promise<void>
  /** Inserts a key if there is none. Of concurrent calls, one succeeds. */
  insertFirstSigningKey(key: StoredSigningKey): Promise<void>
  /**
   * Lists the keys that sign tokens, oldest first. Not paged: only the operator adds keys, and a
   * rotation deletes those that no valid token needs.
   */
  listSigningKeys(): Promise<StoredSigningKey[]>
  /**
   * Inserts a key, and deletes the keys whose `kid` is in the result of `drop`. `drop` gets all keys,
   * the new one included. Resolves to the result of `drop`. Concurrent rotations run one after the
   * other.
   */
  rotateSigningKeys(
    key: StoredSigningKey,
    drop: (keys: readonly StoredSigningKey[]) => readonly string[],
    write?: WriteOptions,
  ): Promise<readonly string[]>

  /**
   * Raises the revocation watermark of a project or of one of its users. The new value is `at`, or
   * one more than the highest watermark for the same tokens if that is higher.
   */
  revokeTokens(revocation: Revocation, write?: WriteOptions): Promise<void>
  /** Inserts a watermark, for a copy. Does not lower a stored one. */
  insertWatermark(watermark: Watermark): Promise<void>
  /**
   * Finds the higher of the revocation watermarks of a project and its user; 0 if there is none.
   * Tokens issued under a lower watermark are revoked.
   */
  findWatermark(project_id: string, user_id: string): Promise<number>
  /** Lists the watermarks of a project and its users, sorted by the UTF-8 bytes of `user_id`. */
  listWatermarks(project_id: string, page: Page): Promise<RecordPage<Watermark>>
  /** Moves a user's watermark to the user's pseudonym. Revoked tokens stay revoked. */
  pseudonymizeWatermark(user: UserKey, write?: WriteOptions): Promise<void>
}

export interface AuditMethods {
  /** Throws as `assertAuthority` does, without a write. */
  verifyAuthority(authority: Authority): Promise<void>
  findIdempotencyRecord(account_id: string, key: string): Promise<IdempotencyRecord | undefined>
  /** Writes audit entries and idempotency records without another change, in this order. */
  insertAudit(...writes: readonly WriteOptions[]): Promise<void>
  /** Replaces the fingerprints in one page of all idempotency records by the result of `change`. */
  updateFingerprints(
    change: (fingerprint: string) => string,
    page: Page,
  ): Promise<UpdatedFingerprints>
  /**
   * Lists the idempotency records of an account, sorted by the UTF-8 bytes of their keys. The list may
   * include expired ones.
   */
  listIdempotencyRecords(account_id: string, page: Page): Promise<RecordPage<IdempotencyRecord>>
  /** Deletes the record of `key`, and inserts another one of the same account unless it exists. */
  replaceIdempotencyRecord(key: string, by: IdempotencyRecord, write?: WriteOptions): Promise<void>
  /** Lists the audit log in order, of all accounts or of one. */
  listAudit(account_id: string | undefined, page: Page): Promise<AuditPage>
  /** Moves old audit entries into a file, and resolves to their number; see `archive.ts`. */
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
   * the bucket refills it. `elapsed` is the time since the server's previous call. Resolves to the
   * time until each bucket is full; negative when it already is. All times are in milliseconds. A
   * crash may lose the state.
   */
  consumeBuckets(costs: BucketTimes, elapsed: number): Promise<BucketTimes>
}

export interface CopyMethods {
  /**
   * Marks an empty storage as an unfinished copy, which opens only with `forCopy`, until `endCopy`.
   * Resolves to false, without a mark, when the storage has records and is not an unfinished copy.
   */
  beginCopy(): Promise<boolean>
  endCopy(): Promise<void>
}

/** Checks and additional writes in the transaction of a change. */
export interface WriteOptions {
  /**
   * The permission to verify again. When it no longer holds, nothing is written and the change is
   * rejected as by `assertAuthority`. A revocation resolves after all changes that it did not stop.
   */
  readonly authority?: Authority | undefined
  readonly audit?: AuditEntry
  readonly idempotency?: IdempotencyRecord
  /** Checked when the change increases the usage. */
  readonly quota?: Quota
}

/** The maximum usage after a change. A change beyond it throws `quota_exceeded` and writes nothing. */
export interface Quota {
  readonly account_id: string
  /** The project whose stores are counted. */
  readonly project_id?: string
  readonly projects?: number
  readonly stores?: number
  /** Bytes of `config` and `store_config` as JSON, the sum over all projects and stores. */
  readonly config_bytes?: number
}

/**
 * `taken`: a record with this name exists. `repeated`: a valid idempotency record with this key
 * exists. Only `inserted` writes.
 */
export type Insertion = 'inserted' | 'taken' | 'repeated'

export interface KeyedAccount extends Account {
  readonly key_id: string
}

export interface KeyRotation {
  readonly public_key: string
  /** The latest time at which former keys open sessions; ISO 8601, UTC. */
  readonly former_until: string
}

export interface FormerPublicKey {
  readonly public_key: string
  readonly project_id: string
  readonly expires_at: string
}

/** Revokes the earlier tokens of a project or of one of its users. */
export interface Watermark {
  readonly project_id: string
  /** '' for all users. */
  readonly user_id: string
  /** Unix seconds of the revocation, or one more than the previous watermark if that is higher. */
  readonly not_after: number
}

/** The tokens to revoke, and the time. */
export interface Revocation {
  readonly project_id: string
  /** '' for all users. */
  readonly user_id: string
  /** Unix seconds. */
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

/** Milliseconds by bucket name. */
export type BucketTimes = ReadonlyMap<string, number>

/** Identifies a store: a `store_id` is unique only within its account. */
export type StoreKey = Pick<Store, 'account_id' | 'store_id'>

/** Identifies a store, and optionally requires its project. */
export type StoreOfProject = StoreKey & { readonly project_id?: string }

/** A page to read. `after` is the `next` of the previous page, from the same storage. */
export interface Page {
  readonly limit: number
  readonly after?: string
}

export interface RecordPage<T> {
  /** At most `limit` records, perhaps fewer. */
  readonly records: readonly T[]
  /** The cursor of the next page; absent on the last page. */
  readonly next?: string
}

/** The part of a store that a client gets with its session. */
export type StoreSummary = Pick<Store, 'store_id' | 'store_type' | 'is_sandbox' | 'status'>

export interface ItemPage {
  readonly items: readonly Item[]
  /** The id of the last item; absent on the last page. */
  readonly next?: string
  /**
   * A version of the store's items, correct on the first page only. It changes with every change of
   * the items, and the page is never older than it.
   */
  readonly revision: string
}

export interface AuditPage {
  readonly entries: readonly AuditEntry[]
  readonly next?: string
}

export interface UpdatedFingerprints {
  /** The number of changed fingerprints. */
  readonly updated: number
  readonly next?: string
}

export interface ArchiveRequest {
  /** Entries up to the first that is not older than this are moved; ISO 8601, UTC. */
  readonly before: string
  /** The path of a new file, or of an earlier archive of the same log. */
  readonly file: string
  /** Written with the first moved entries. */
  readonly write?: WriteOptions
  /** Called after each batch with the number of entries moved so far. */
  readonly onProgress?: ((archived: number) => void) | undefined
  /** Stops the archive between two batches. */
  readonly signal?: AbortSignal | undefined
}

export interface StoredPurchasePage {
  readonly purchases: StoredPurchase[]
  /** The cursor of the next page; absent on the last page. */
  readonly next?: string
}

export interface StoredSigningKey {
  readonly kid: string
  readonly secret: Uint8Array
  readonly created_at: string
}

/**
 * A running import. `commit` makes all its rows visible at once. It never shares a transaction with
 * other writes, and holds no lock between calls.
 */
export interface PurchaseImport {
  /** Adds rows after those staged before. A later call may report their outcome. */
  stage(rows: readonly NewPurchase[]): Promise<StagedRows>
  /** Ends the staging, and reports the outcome of the remaining rows. */
  finish(): Promise<StagedRows>
  /** Makes all rows visible. Call `finish` before. */
  commit(write?: WriteOptions): Promise<void>
  /** Discards all staged rows. */
  abort(): Promise<void>
  /**
   * Erases stored purchases of the store at once. A row of a later import with the same transaction
   * id never restores them. Resolves to the number of erased purchases. For an import without rows.
   */
  erase(erasure: Erasure, write?: WriteOptions): Promise<number>
}

/** The outcome of staged rows. `compareRepeat` decides about a transaction that exists. */
export interface StagedRows {
  readonly added: number
  readonly skipped: number
  readonly updated: number
  readonly conflicts: readonly { readonly line: number; readonly field: PurchaseField }[]
  /** The lines whose SKU is not an item of the store. These rows are left out. */
  readonly unknown: readonly number[]
}
