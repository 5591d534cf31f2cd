// The records, pages and options that the methods of a storage take and return. Those of purchases
// and webhooks have a file in their directories.
import type { Account, AccountKey } from '../../domain/account.ts'
import type { AuditEntry, NumberedEntry } from '../../domain/audit.ts'
import type { Authority } from '../../domain/authority.ts'
import type { EndpointWrite } from '../../domain/endpoint.ts'
import type { Item, ItemValues } from '../../domain/item.ts'
import type { Project } from '../../domain/project.ts'
import type { Store } from '../../domain/store.ts'
import type { IDEMPOTENCY_RECORDS, KEY_USES, SIGNING_KEYS, WATERMARKS } from './tables.ts'

/** A page to read. `after` is the `next` of the previous page, from the same storage. */
export interface Page {
  readonly limit: number
  readonly after?: string
}

/** A page to read from a list with a filter. */
export interface FilteredPage extends Page {
  /** The maximum number of records to examine; default 10,000. */
  readonly examine?: number
  /** Whether the last record comes first. */
  readonly newestFirst?: boolean | undefined
}

export interface RecordPage<T> {
  /** At most `limit` records. A page may have fewer even if it is not the last. */
  readonly records: readonly T[]
  /** The cursor of the next page; missing on the last page. */
  readonly next?: string
}

export type KeyUse = ReturnType<typeof KEY_USES.read>

export interface KeyedAccount extends Account, Pick<AccountKey, 'key_id' | 'scopes'> {}

/** The fields of a key that may change. */
export type KeyChange = Partial<Pick<AccountKey, 'name' | 'scopes' | 'revoked_at'>>

/** Identifies a store, whose `store_id` is unique only within its account. */
export type StoreKey = Pick<Store, 'account_id' | 'store_id'>

/** Selects one store of an account, or all its stores, or only the sandbox or the live ones. */
export type StoresOfAccount = Pick<Store, 'account_id'> &
  Partial<Pick<Store, 'is_sandbox'>> & { readonly store_id?: string | undefined }

/** The fields of a store that a client gets with its session. */
export type StoreSummary = Pick<Store, 'store_id' | 'store_type' | 'is_sandbox' | 'status'>

/**
 * The items of a store to list: all, only the archived ones (`true`), or only the active ones
 * (`false`). If `project_id` is given, the store must be in that project.
 */
export type ItemSelection = StoreKey &
  Partial<Pick<Item, 'project_id'>> & { readonly archived?: boolean }

export interface ItemPage {
  readonly items: readonly Item[]
  /** The id of the last item on the page; missing on the last page. */
  readonly next?: string
  /**
   * A text that changes with every change of an item in the store. Correct only on the first page.
   * The items of the page may be newer than the revision, but never older.
   */
  readonly revision: string
}

/** The next `version` and the state of a stored item, and the values of its fields that change. */
export interface ItemUpdate extends Pick<Item, 'id' | 'version'>, Partial<ItemValues> {
  readonly archived_at?: string | undefined
}

/** The values of a store's fields that change. */
export interface StoreUpdate
  extends StoreKey,
    Partial<Pick<Store, 'is_sandbox' | 'status' | 'store_config'>> {}

/** The changed records of a catalog, and the audit entries of these changes. */
export interface CatalogChanges {
  readonly project_id: string
  /** The result of `findCatalogState` on which the changes are based. */
  readonly state: string
  /** The changed project. Missing if only stores and items change. */
  readonly project?: Project | undefined
  readonly newStores: readonly Store[]
  readonly stores: readonly StoreUpdate[]
  readonly newItems: readonly Item[]
  readonly items: readonly ItemUpdate[]
  readonly entries: readonly AuditEntry[]
}

export type StoredSigningKey = ReturnType<typeof SIGNING_KEYS.read>

type Watermark = ReturnType<typeof WATERMARKS.read>

/** Identifies a user: a user id is unique only within its project. '' stands for all users. */
export type UserKey = Pick<Watermark, 'project_id' | 'user_id'>

/** Which tokens to revoke, and the time of the revocation in Unix seconds. */
export type Revocation = UserKey & { readonly at: number }

export interface AuditPage {
  readonly entries: readonly AuditEntry[]
  readonly next?: string
}

export interface SettledPage {
  readonly entries: readonly NumberedEntry[]
  /** The position after the last listed entry. Without entries, the given position. */
  readonly position: string
}

export interface ArchiveRequest {
  /** Stops at the first audit entry that is not older than this time; ISO 8601, UTC. */
  readonly before: string
  /** The path of a new file. */
  readonly file: string
  /**
   * Also stops at the first audit entry that may still have to be sent to a webhook endpoint.
   * Ignores endpoints that were stopped or failing before this time. Unix milliseconds; default 0.
   */
  readonly stopped_before?: number | undefined
  /** The audit entry that records the archive run. Written with the first moved entries. */
  readonly write: AuditedWrite
  /** Called after each batch with the number of entries moved so far. */
  readonly onProgress?: ((archived: number) => void) | undefined
  /** Stops the archive run between two batches. */
  readonly signal?: AbortSignal | undefined
}

export type IdempotencyRecord = ReturnType<typeof IDEMPOTENCY_RECORDS.read>

/** The checks and additional writes in the transaction of a change. */
export interface WriteOptions {
  /**
   * The conditions under which the caller may write. The transaction of the change checks them
   * again. If one fails, the change throws the error of `assertAuthority` and writes nothing. A
   * revocation waits for the transactions that have already checked the conditions.
   */
  readonly authority?: Authority | undefined
  readonly audit?: AuditEntry
  readonly idempotency?: IdempotencyRecord
  /** A quota, which is checked after the change. */
  readonly quota?: Quota | undefined
  /** Changes of webhook endpoints. */
  readonly endpoints?: readonly EndpointWrite[]
  /** Set if the change stores secrets. */
  readonly keyChecks?: readonly KeyCheck[]
}

/**
 * The result of a change: the new record, and what its transaction also writes or checks. With the
 * current record itself, the change writes nothing.
 */
export interface Changed<R> extends Pick<WriteOptions, 'quota' | 'endpoints' | 'keyChecks'> {
  readonly record: R
  /** The `data` of the audit entry. */
  readonly data?: AuditEntry['data']
}

/**
 * Verifies that the master keys of a writer belong to the secrets of the storage. Throws
 * `master_key_mismatch` if the storage has a check value that none of `values` equals. If the
 * storage has none, writes the first of `values`.
 */
export interface KeyCheck {
  /** The check values of the master keys, newest first; empty without a master key. */
  readonly values: readonly string[]
  /** Whether to delete the stored check value first. */
  readonly isReplaced?: true
}

/** The author and the entries of a change, known before it. The change returns the other writes. */
export type AuthorizedChange = Pick<WriteOptions, 'authority' | 'audit' | 'idempotency'>

/** The options of a change that also writes an audit entry. */
export type AuditedWrite = WriteOptions & { readonly audit: AuditEntry }

/** The maximum usage. A change that would exceed it throws `quota_exceeded` and writes nothing. */
export interface Quota {
  readonly account_id: string
  /** The project whose stores are counted and compared with `stores`. */
  readonly project_id?: string
  readonly projects?: number
  /** Account keys that are not revoked. */
  readonly keys?: number
  readonly stores?: number
  /** Bytes of `config` and `store_config` as JSON, summed over all projects and stores. */
  readonly config_bytes?: number
}

/**
 * The outcome of an insertion. `taken`: a record with this name exists. `repeated`: a valid
 * idempotency record with this key exists. Only `inserted` has written the record.
 */
export type Insertion = 'inserted' | 'taken' | 'repeated'

/** The sizes of a database in bytes. */
export interface StorageSize {
  readonly database: number
  /**
   * The size of the write-ahead log. Missing for a database server, where all databases share one
   * log.
   */
  readonly wal?: number
  /** The free space in the file system; missing for a database server. */
  readonly free?: number
}

export interface OpenTransaction {
  /** The session or the prepared transaction: `process 4711 (psql)`. */
  readonly holder: string
  /** The age of the transaction. */
  readonly seconds: number
}

export interface PoolState {
  /** The maximum number of connections that the pool opens. */
  readonly size: number
  readonly open: number
  readonly inUse: number
  /** How many statements and transactions wait for a connection. */
  readonly waiting: number
}
