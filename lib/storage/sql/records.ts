// The records, pages and options that the methods of a storage take and return.
import type { Account, AccountKey } from '../../domain/account.ts'
import type { AuditEntry, NumberedEntry } from '../../domain/audit.ts'
import type { Authority } from '../../domain/authority.ts'
import type { EndpointWrite, StoredEndpoint } from '../../domain/endpoint.ts'
import type { ImportDetails } from '../../domain/import.ts'
import type { Item, ItemValues } from '../../domain/item.ts'
import type { NewMessage, StoredMessage } from '../../domain/message.ts'
import type { Project } from '../../domain/project.ts'
import type {
  NewPurchase,
  Purchase,
  PurchaseField,
  PurchaseStatus,
  RecordedPurchase,
  Repeat,
  RepeatRules,
  UnequalCount,
} from '../../domain/purchase.ts'
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

export type Watermark = ReturnType<typeof WATERMARKS.read>

/** Identifies a user: a user id is unique only within its project. '' stands for all users. */
export type UserKey = Pick<Watermark, 'project_id' | 'user_id'>

/** Which tokens to revoke, and the time of the revocation in Unix seconds. */
export type Revocation = UserKey & { readonly at: number }

/** Which groups of a summary to return; default all. */
export interface MostGroups {
  /** Whether the groups with the most purchases of status `purchased` come first. */
  readonly isTop: boolean
  readonly limit: number
}

/**
 * A running import. Reads see none of its rows before `commit`, and all of them afterwards. Between
 * two calls, the import holds no lock. It shares no transaction with other writes.
 */
export interface PurchaseImport {
  /**
   * Adds rows after those of earlier calls. A later call may report their outcome. All calls of
   * an import have the same `rules`.
   */
  add(rows: readonly NewPurchase[], rules?: RepeatRules): Promise<RowOutcomes>
  /** Advances the statuses of stored purchases, and adds none. Compares only the ids. */
  advance(rows: readonly StatusRow[]): Promise<AdvancedRows>
  /** Writes all remaining rows. Reports the outcome of all rows that have not been reported. */
  finish(): Promise<RowOutcomes>
  /** Marks the rows as not delivered. Call `finish` first. */
  markUndelivered(): Promise<void>
  /** Lets reads see all rows. Call `finish` first. An import without `details` cannot be undone. */
  commit(write?: WriteOptions, details?: ImportDetails): Promise<void>
  /** Discards all added rows. */
  abort(): Promise<void>
}

/**
 * The outcome of added rows. If the `transaction_id` of a row is already stored, `compareRepeat`
 * decides the outcome of the row.
 */
export interface RowOutcomes {
  readonly added: number
  /** The number of rows that add nothing to stored purchases. Leaves out `repeated` rows. */
  readonly skipped: number
  /** The rows that equal an earlier row of the same file. */
  readonly repeated: readonly RepeatedRow[]
  /**
   * The status of rows without a price whose purchase has one, with the price of the purchase. Leaves
   * out `repeated` rows.
   */
  readonly priced: readonly RowAmount[]
  readonly updated: number
  readonly conflicts: readonly { readonly line: number; readonly field: PurchaseField }[]
  /** The rows that were not added because no item has their SKU. */
  readonly unknown: readonly NewPurchase[]
  /** How many skipped or updated rows have values that the stored purchases do not have. */
  readonly unequal: readonly UnequalCount[]
}

export type RowAmount = Pick<NewPurchase, 'status' | 'currency' | 'price'>

export type RepeatedRow = RowAmount & Pick<NewPurchase, 'line'>

/** Rows of a file, compared with the stored purchases that have their ids. */
export interface MatchedRows {
  readonly matched: readonly MatchedRow[]
  /** The rows whose SKU no item has. */
  readonly unknown: RowOutcomes['unknown']
}

export interface MatchedRow {
  readonly row: NewPurchase
  /** Missing if no purchase has the id. */
  readonly stored?: Purchase
  /** How `compareRepeat` compares them, with the comparison `product`. */
  readonly repeat?: Repeat
  /** Whether the purchase was deleted with its user. */
  readonly is_deleted: boolean
}

/**
 * A row that may advance the status of a stored purchase. A `transaction_id` that is not stored may
 * be an order: it then stands for all purchases whose ids begin with it and a slash.
 */
export type StatusRow = Pick<NewPurchase, 'line' | 'transaction_id' | 'status'>

export interface AdvancedRows {
  readonly updated: number
  /** The number of rows whose `transaction_id` is not stored. */
  readonly unknown: number
  /** The number of rows whose status is not later than the stored one. */
  readonly notLater: number
  /**
   * The rows that may stand for several orders: for too many purchases, or for purchases of more
   * than 48 hours. `purchases` is at most `MAX_ORDER_PURCHASES` + 1.
   */
  readonly ambiguous: readonly { readonly line: number; readonly purchases: number }[]
}

/**
 * The outcome of a recorded purchase. If its `transaction_id` is already stored, `compareRepeat`
 * decides the outcome.
 */
export type RecordedRow =
  | RecordedPurchase
  | { readonly outcome: 'conflict'; readonly field: PurchaseField | 'is_grant' }
  /** No item of the store has this SKU. */
  | { readonly outcome: 'unknown' }

/**
 * The outcome of a change of an order. `unknown`: no purchase is stored. `ambiguous`: the id begins
 * the ids of too many `purchases`, at most `MAX_ORDER_PURCHASES` + 1, or of more than 48 hours.
 */
export type OrderChange<T> =
  | { readonly outcome: 'changed'; readonly purchases: readonly T[] }
  | { readonly outcome: 'unknown' }
  | { readonly outcome: 'ambiguous'; readonly purchases: number }

export interface ImportUndo {
  readonly import_id: string
  readonly undone_at: string
  /** Whether to undo the import although later imports skipped rows that it had added. */
  readonly force: boolean
}

/**
 * `changed`: later imports, the last of which is `by`, changed `rows` of the affected purchases. `skipped`: later imports
 * skipped `rows` rows that this import had added, and `force` is not set. Only the outcome `undone`
 * means that data was changed.
 */
export type UndoOutcome =
  | { readonly outcome: 'undone' }
  | { readonly outcome: 'changed'; readonly rows: number; readonly by: string }
  | { readonly outcome: 'skipped'; readonly rows: number }

/** The erasure of a user's purchases. */
export interface Erasure {
  readonly user_id: string
  /** Whether to delete the purchases. Otherwise, only their user and metadata are deleted. */
  readonly deletes: boolean
  /** The transaction of each batch checks its conditions. */
  readonly authority?: Authority | undefined
  /** Called after each batch with the number of its purchases. */
  readonly onErased?: (purchases: number) => void
  /** Stops after a batch. */
  readonly signal?: AbortSignal | undefined
}

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
export interface LogPosition {
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
