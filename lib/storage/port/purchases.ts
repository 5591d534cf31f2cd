import type { ImportDetails, ImportRecord } from '../../domain/import.ts'
import type { BuyerCount, Period, PurchaseTotal } from '../../domain/overview.ts'
import type { NewPurchase, PurchaseField, StoredPurchase } from '../../domain/purchase.ts'
import type { PurchaseFilter } from '../../domain/query.ts'
import type { PurchaseSummary, SummaryKey } from '../../domain/summary.ts'
import type { FilteredPage, Page, RecordPage } from './page.ts'
import type { StoreKey, StoresOfAccount } from './stores.ts'
import type { WriteOptions } from './write.ts'

export interface PurchaseMethods {
  /**
   * Records one purchase as an import of its own, whose `import_id` begins with `rec_`. Inserts the
   * purchase, or updates the status of a stored one. Any other outcome changes no purchase. If the
   * outcome is `skipped` and an import of a file has added the purchase, the undo of that import
   * then needs `force`.
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
   * Indexes the users of purchases that an earlier version imported; newer versions do so during
   * the import. Reads are correct without it, but slower. Missing in a storage that needs no such
   * index.
   */
  indexUsers?(): Promise<void>
  /** Starts an import into a store. Resolves to undefined while another import into it runs. */
  openImport(store: StoreKey, import_id: string): Promise<PurchaseImport | undefined>
  /** Finds a finished import into a store of the account. */
  findImport(account_id: string, import_id: string): Promise<ImportRecord | undefined>
  /**
   * Lists the finished imports into a store in order of their start, without recorded purchases.
   */
  listImports(store: StoreKey, page: Page): Promise<RecordPage<ImportRecord>>
  /**
   * Removes the rows that a finished import added, and restores the statuses that it changed. The
   * import must have been committed with details. All reads see the undo at once. Resolves to
   * undefined while an import into the store runs. Does nothing when the import was undone before.
   */
  undoImport(
    store: StoreKey,
    undo: ImportUndo,
    write?: WriteOptions,
  ): Promise<UndoOutcome | undefined>
  /**
   * Lists the purchases of a store that match the filter, in the order of import. A filter by other
   * fields than `user_id` and `import_id` examines at most `examine` purchases. The page may then
   * have fewer than `limit`, or none, and still a `next`.
   */
  listPurchases(
    store: StoreKey,
    filter: PurchaseFilter,
    page: FilteredPage,
  ): Promise<StoredPurchasePage>
  /** Lists the erased purchases of a store, sorted by the UTF-8 bytes of their transaction ids. */
  listErasedPurchases(store: StoreKey, page: Page): Promise<RecordPage<ErasedPurchase>>
  /** Marks purchases as erased, for a copy. */
  insertErasedPurchases(store: StoreKey, erased: readonly ErasedPurchase[]): Promise<void>
  /**
   * Summarizes the purchases that match the filter, sorted by the fields of `by`. All sums are
   * exact and from the same moment. Does not block the event loop for long.
   */
  summarizePurchases(
    stores: StoresOfAccount,
    filter: PurchaseFilter,
    by: readonly SummaryKey[],
    most?: MostGroups,
  ): Promise<PurchaseSummary[]>
  /**
   * Reads the totals of a store, all of the same moment. Resolves to the number of purchases that
   * are still to be counted while they are many, and counts them in the background.
   */
  readTotals(store: StoreKey, query: TotalsQuery): Promise<StoreTotals | number>
  /**
   * Counts all purchases of a store for its totals. Reads are correct without it. Missing where
   * each read counts them.
   */
  completeTotals?(store: StoreKey): Promise<void>
  /** Returns a text that changes with each change of the store's visible purchases. */
  findPurchaseVersion(store: StoreKey): Promise<string>
  /** Counts the buyers in each currency since a time, sorted by currency. */
  countBuyers(store: StoreKey, from: number): Promise<BuyerCount[]>
}

export interface TotalsQuery {
  /** The start of the first day, in Unix milliseconds. */
  readonly from: number
  /** The start of the month of the first day, in Unix milliseconds. */
  readonly month: number
  readonly by: Period
}

export interface StoreTotals {
  /** By currency, since `from`. Those with the most purchases of status `purchased` come first. */
  readonly currencies: readonly PurchaseTotal[]
  /**
   * By period and currency, since `from`. Sorted by both. Has the first `MOST_CHARTS` currencies.
   * Ends after `MOST_PERIODS` and one more.
   */
  readonly periods: readonly PurchaseTotal[]
  /** By SKU and currency, since `month`: the 100 with the most purchases of status `purchased`. */
  readonly items: readonly PurchaseTotal[]
}

/** Which groups of a summary to return; default all. */
export interface MostGroups {
  /** Whether the groups with the most purchases of status `purchased` come first. */
  readonly isTop: boolean
  readonly limit: number
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
  /** Makes all rows visible. Call `finish` first. An import without `details` cannot be undone. */
  commit(write?: WriteOptions, details?: ImportDetails): Promise<void>
  /** Discards all staged rows. */
  abort(): Promise<void>
  /**
   * Erases stored purchases of the store, all at once. A row of a later import with the same
   * transaction id never restores them. Resolves to the number of erased purchases. Call it only on
   * an import without rows.
   */
  erase(erasure: Erasure, write?: WriteOptions): Promise<number>
}

/**
 * The outcome of staged rows. `compareRepeat` decides about a row whose `transaction_id` is already
 * stored.
 */
export interface StagedRows {
  readonly added: number
  readonly skipped: number
  readonly updated: number
  readonly conflicts: readonly { readonly line: number; readonly field: PurchaseField }[]
  /** The lines whose SKU is no item of the store. These rows are not added. */
  readonly unknown: readonly number[]
}

export interface StoredPurchasePage {
  readonly purchases: StoredPurchase[]
  /** The cursor of the next page; missing on the last page. */
  readonly next?: string
}

/**
 * The outcome of a recorded purchase. `compareRepeat` decides if its `transaction_id` is already
 * stored.
 */
export type RecordedRow =
  | {
      readonly outcome: 'added' | 'updated' | 'skipped'
      /** The purchase as it is stored now. Absent when it was deleted with its user. */
      readonly purchase?: StoredPurchase
    }
  | { readonly outcome: 'conflict'; readonly field: PurchaseField }
  /** The SKU is not an item of the store. */
  | { readonly outcome: 'unknown' }
  /**
   * A running import contains the same `transaction_id`, or has left no free number for this
   * purchase.
   */
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

export interface ImportUndo {
  readonly import_id: string
  readonly undone_at: string
  /** Whether to remove rows that later imports skipped as already present. */
  readonly force: boolean
}

/**
 * `changed`: later imports changed `rows` of the affected rows. `skipped`: later imports skipped
 * them as already present, and `force` is not set. Only the outcome `undone` has written anything.
 */
export type UndoOutcome =
  | { readonly outcome: 'undone' }
  | { readonly outcome: 'changed' | 'skipped'; readonly rows: number }

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
