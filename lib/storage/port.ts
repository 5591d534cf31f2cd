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
 * What tillkit asks of a database, in domain words. Every verb is one atomic step of its own, and a
 * write is durable when its promise resolves. A record goes in and comes out unchanged; what comes
 * out is not to be changed, and may be frozen. A database that can not be used right now (locked,
 * full, gone) is a `TillError` `storage_unavailable`.
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
  /** Resolves when the database answers, is still in its place and no copy that is not whole. */
  ping(): Promise<void>
  /** Looks the whole database through; a sentence for each thing that is wrong. */
  check(): Promise<string[]>
  /** Writes a consistent copy into a new file; only where the database is a file. */
  backup?(path: string): Promise<void>
  /** Leaves nothing in the file of what was replaced or deleted; only where it is a file. */
  forget?(): Promise<void>
  /** What the database takes on the disk; only where there is one. */
  size?(): Promise<StorageSize>
  /** The connection pool of this process; only where there is one. */
  poolState?(): PoolState
  close(): Promise<void>
}

/** Bytes on the disk. */
export interface StorageSize {
  readonly database: number
  /** The write-ahead log; undefined for a server, which keeps one for all of its databases. */
  readonly wal?: number
  /** What the file system has left; undefined for a server. */
  readonly free?: number
}

export interface PoolState {
  /** The most connections that there may be. */
  readonly size: number
  readonly open: number
  readonly inUse: number
  /** Statements and transactions that wait for a connection. */
  readonly waiting: number
}

export interface AccountMethods {
  /** Adds an account together with its first key. */
  insertAccount(account: Account, key: AccountKey, write?: WriteOptions): Promise<void>
  findAccount(account_id: string): Promise<Account | undefined>
  /** The account of a key that is not revoked, and that key's id. */
  findAccountByKeyHash(hash: string): Promise<KeyedAccount | undefined>
  /** All accounts, in order of creation, one page. */
  listAccounts(page: Page): Promise<RecordPage<Account>>
  insertAccountKey(key: AccountKey, write?: WriteOptions): Promise<void>
  /** An account's keys, the revoked ones too, in order of creation, one page. */
  listAccountKeys(account_id: string, page: Page): Promise<RecordPage<AccountKey>>
  /** False when the account has no such key that is not revoked. */
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
  /** An account's projects, in order of creation, one page; it ends early as `listItems` does. */
  listProjects(account_id: string, page: Page): Promise<RecordPage<Project>>
  /**
   * Replaces a project by what `change` makes of it; two at once follow one another. When that is
   * the same object, nothing is written, the audit entry neither.
   */
  updateProject(
    id: string,
    change: (current: Project) => Project,
    write?: WriteOptions,
  ): Promise<Project | undefined>
  /**
   * Gives a project a new public key; the one before is a former key from now on. The keys that
   * were former ones already expire no later than it.
   */
  rotatePublicKey(project_id: string, rotation: KeyRotation, write?: WriteOptions): Promise<void>
  findFormerPublicKey(public_key: string): Promise<FormerPublicKey | undefined>
  /** A project's former keys, in order of their rotation, one page. */
  listFormerPublicKeys(project_id: string, page: Page): Promise<RecordPage<FormerPublicKey>>
}

export interface StoreMethods {
  /** `taken` when the account has a store of that `store_id`. */
  insertStore(store: Store, write?: WriteOptions): Promise<Insertion>
  /** Of one project alone when it is named: another's store is not even read. */
  findStore(account_id: string, store_id: string, project_id?: string): Promise<Store | undefined>
  /** A project's stores, in order of creation, one page; it ends early as `listItems` does. */
  listStores(project_id: string, page: Page): Promise<RecordPage<Store>>
  /** The same without reading their configurations. */
  listStoreSummaries(project_id: string, page: Page): Promise<RecordPage<StoreSummary>>
  /** The same as `updateProject`, for a store. */
  updateStore(
    store: StoreKey,
    change: (current: Store) => Store,
    write?: WriteOptions,
  ): Promise<Store | undefined>
}

export interface ItemMethods {
  /** `taken` when the store has an item of that `name`. */
  insertItem(item: Item, write?: WriteOptions): Promise<Insertion>
  /**
   * Adds many at once in this order, for a copy; those whose id is there already are passed over.
   */
  insertItems(items: readonly Item[]): Promise<void>
  findItem(id: string): Promise<Item | undefined>
  /**
   * A store's items in order of creation, one page; `after` is the id of an item of the store. It
   * ends before the limit once its items have much text (`PAGE_TEXT`). Throws `store_not_found`,
   * before anything is read of the store, also when it is not of the project that is named.
   */
  listItems(store: StoreOfProject, page: Page): Promise<ItemPage>
}

export interface PurchaseMethods {
  /**
   * Starts an import into a store, or resolves to undefined while another one is under way there.
   */
  openImport(store: StoreKey, import_id: string): Promise<PurchaseImport | undefined>
  /** Those of a store's purchases that the filter lets pass, in the order of import, one page. */
  listPurchases(store: StoreKey, filter: PurchaseFilter, page: Page): Promise<StoredPurchasePage>
}

export interface TokenMethods {
  /** Adds a key to those of a copy. */
  insertSigningKey(key: StoredSigningKey): Promise<void>
  /** Adds a key unless there is one: of several that do so at once, one is added. */
  insertFirstSigningKey(key: StoredSigningKey): Promise<void>
  /**
   * The keys that sign tokens, oldest first. Not paged: only the operator adds keys, and a rotation
   * drops those that no valid token needs.
   */
  listSigningKeys(): Promise<StoredSigningKey[]>
  /**
   * Adds a key and deletes those that `drop` chooses by their `kid`, of all that there are then;
   * resolves to the deleted ones. Two at once follow one another.
   */
  rotateSigningKeys(
    key: StoredSigningKey,
    drop: (keys: readonly StoredSigningKey[]) => readonly string[],
    write?: WriteOptions,
  ): Promise<readonly string[]>

  /**
   * Raises the revocation watermark of a project, or of one of its users, to `at` or past all those
   * that it covers, whichever is higher: of revocations at once each ends what was issued before.
   */
  revokeTokens(revocation: Revocation, write?: WriteOptions): Promise<void>
  /** Adds a watermark of a copy; one that lies before the stored one changes nothing. */
  insertWatermark(watermark: Watermark): Promise<void>
  /**
   * The higher of the revocation watermarks of a project and of its user; 0 without any. Tokens
   * that were issued under an earlier one are revoked.
   */
  findWatermark(project_id: string, user_id: string): Promise<number>
  /** Those of a project and of its users, by the bytes of `user_id`, one page. */
  listWatermarks(project_id: string, page: Page): Promise<RecordPage<Watermark>>
}

export interface AuditMethods {
  /** Throws as a write does when the authority does not hold any more. */
  verifyAuthority(authority: Authority): Promise<void>
  findIdempotencyRecord(account_id: string, key: string): Promise<IdempotencyRecord | undefined>
  /**
   * Trails of their own, in this order: for what changes nothing in the storage, and for copies.
   */
  insertAudit(...writes: readonly WriteOptions[]): Promise<void>
  /** Replaces the fingerprints of one page of all idempotency records by what `change` makes of them. */
  updateFingerprints(
    change: (fingerprint: string) => string,
    page: Page,
  ): Promise<UpdatedFingerprints>
  /** An account's idempotency records, perhaps expired ones too, by the bytes of their keys, one page. */
  listIdempotencyRecords(account_id: string, page: Page): Promise<RecordPage<IdempotencyRecord>>
  /** The audit log in its order, one page; of one account when it is named. */
  listAudit(account_id: string | undefined, page: Page): Promise<AuditPage>
  /** Moves old entries from the log into a file, and resolves to their number; see `archive.ts`. */
  archiveAudit(request: ArchiveRequest): Promise<number>
}

export interface BucketMethods {
  /**
   * Takes from buckets of rate limits, for all servers that share them: what each is charged is the
   * time in which it fills again, in milliseconds, and was taken since `elapsed` ago. In how many
   * milliseconds each will be full, by what all have taken. May be forgotten at a crash.
   */
  consumeBuckets(charges: BucketTimes, elapsed: number): Promise<BucketTimes>
}

export interface CopyMethods {
  /**
   * Marks an empty storage as a copy that is not whole, which opens for a copy alone, until
   * `endCopy`. False, and nothing is marked, when it holds something and is no such copy.
   */
  beginCopy(): Promise<boolean>
  endCopy(): Promise<void>
}

/** What is verified and written in the same transaction as a change. */
export interface WriteOptions {
  /**
   * What must still hold. When it does not, nothing is written, and the change is rejected as by
   * `assertAuthority`. No revocation is acknowledged before the changes that it came too late for.
   */
  readonly authority?: Authority | undefined
  readonly audit?: AuditEntry
  readonly idempotency?: IdempotencyRecord
  /** Asserted after a change that grows what it counts. */
  readonly quota?: Quota
}

/**
 * What an account may have after a change. A change that exceeds it throws `quota_exceeded` and is
 * undone.
 */
export interface Quota {
  readonly account_id: string
  /** The project whose stores are counted. */
  readonly project_id?: string
  readonly projects?: number
  readonly stores?: number
  /** Bytes of `config` and `store_config` as JSON, of all projects and stores together. */
  readonly config_bytes?: number
}

/** `repeated`: the idempotency record's key has a idempotency record already. Nothing is written but by `inserted`. */
export type Insertion = 'inserted' | 'taken' | 'repeated'

export interface KeyedAccount extends Account {
  readonly key_id: string
}

export interface KeyRotation {
  readonly public_key: string
  /** Until when former keys open sessions, at the latest; ISO 8601, UTC. */
  readonly former_until: string
}

export interface FormerPublicKey {
  readonly public_key: string
  readonly project_id: string
  readonly expires_at: string
}

/** Revokes what was issued before: a project's tokens, or those of one user when one is named. */
export interface Watermark {
  readonly project_id: string
  /** '' for all users. */
  readonly user_id: string
  /** Unix seconds of the revocation, or one more than the watermark before, if that is later. */
  readonly not_after: number
}

/** Whose tokens are revoked, and when. */
export interface Revocation {
  readonly project_id: string
  /** '' for all users. */
  readonly user_id: string
  /** Unix seconds. */
  readonly at: number
}

/** Milliseconds by the name of a bucket. */
export type BucketTimes = ReadonlyMap<string, number>

/** What names a store: its id is unique within its account only. */
export type StoreKey = Pick<Store, 'account_id' | 'store_id'>

/** A store, of one project alone when it is named. */
export type StoreOfProject = StoreKey & { readonly project_id?: string }

/** `after` is a page's `next`, from the same storage. A page may end before its limit. */
export interface Page {
  readonly limit: number
  readonly after?: string
}

export interface RecordPage<T> {
  readonly records: readonly T[]
  /** Where the next page begins; absent on the last. */
  readonly next?: string
}

/** What a client is told of a store. */
export type StoreSummary = Pick<Store, 'store_id' | 'store_type' | 'is_sandbox' | 'status'>

export interface ItemPage {
  readonly items: readonly Item[]
  /** The last item's id; absent on the last page. */
  readonly next?: string
  /** On the first page: differs whenever the store's items do. The page is at least as new. */
  readonly revision: string
}

export interface AuditPage {
  readonly entries: readonly AuditEntry[]
  readonly next?: string
}

export interface UpdatedFingerprints {
  /** How many differ now. */
  readonly updated: number
  readonly next?: string
}

export interface ArchiveRequest {
  /** Entries are moved up to the first that is not older than this; ISO 8601, UTC. */
  readonly before: string
  /** A new file, or the one of an earlier archive of the same log. */
  readonly file: string
  /** Written when anything is moved. */
  readonly write?: WriteOptions
  /** Told after each batch how many entries have been moved. */
  readonly onProgress?: ((archived: number) => void) | undefined
  /** Ends the archive between two batches. */
  readonly signal?: AbortSignal | undefined
}

export interface StoredPurchasePage {
  readonly purchases: StoredPurchase[]
  /** Where the next page begins; absent on the last. */
  readonly next?: string
}

export interface StoredSigningKey {
  readonly kid: string
  readonly secret: Uint8Array
  readonly created_at: string
}

/**
 * An import under way. Nothing of it is seen before `commit`, and all of it after. It never shares
 * a transaction with other writes, and holds no lock between calls.
 */
export interface PurchaseImport {
  /** Adds rows that follow those staged before. What becomes of them may be told later. */
  stage(rows: readonly NewPurchase[]): Promise<StagedRows>
  /** Ends the staging: tells what became of all rows not yet told of. */
  finish(): Promise<StagedRows>
  /** Lets all be seen; after `finish`. Throws when the audit entry's authority does not hold. */
  commit(write?: WriteOptions): Promise<void>
  /** Takes back all that was staged. */
  abort(): Promise<void>
}

/** What became of rows. A transaction that is there already is judged by `compareRepeat`. */
export interface StagedRows {
  readonly added: number
  readonly skipped: number
  readonly updated: number
  readonly conflicts: readonly { readonly line: number; readonly field: PurchaseField }[]
  /** The lines whose sku names no item of the store; such rows are left out. */
  readonly unknown: readonly number[]
}
