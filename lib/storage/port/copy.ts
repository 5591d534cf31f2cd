import type { ImportRecord } from '../../domain/import.ts'
import type { PurchaseStatus, StoredPurchase } from '../../domain/purchase.ts'
import type { Page, RecordPage } from './page.ts'
import type { StoreKey } from './stores.ts'

/**
 * Methods that only `copyStorage` uses. An insertion keeps the order of its records. Inserting the
 * same records again adds nothing, or throws `storage_unavailable`.
 */
export interface CopyMethods {
  /**
   * Marks an empty storage as an unfinished copy until `endCopy`. A marked storage opens only with
   * `forCopy`. Does not mark a storage that already has records. Resolves to whether the storage is
   * marked now, by this call or an earlier one.
   */
  beginCopy(): Promise<boolean>
  endCopy(): Promise<void>
  /**
   * Lists the finished imports of all stores, including undone imports and the imports that
   * `recordPurchase` created for single purchases.
   */
  listAllImports(page: Page): Promise<RecordPage<StoredImport>>
  insertImports(imports: readonly StoredImport[]): Promise<void>
  /** Adds purchases to existing imports. Purchases of the same import must follow each other. */
  insertPurchases(store: StoreKey, purchases: readonly StoredPurchase[]): Promise<void>
  /** Lists the status changes of all imports that are not undone. */
  listStatusChanges(page: Page): Promise<RecordPage<StatusChange>>
  insertStatusChanges(changes: readonly StatusChange[]): Promise<void>
  /**
   * For each pair of imports, lists how many rows the later import skipped because the earlier one
   * had added them. Leaves out undone imports.
   */
  listOverlaps(page: Page): Promise<RecordPage<ImportOverlap>>
  insertOverlaps(overlaps: readonly ImportOverlap[]): Promise<void>
}

export interface StoredImport extends StoreKey, ImportRecord {}

/** A change of a purchase's status by an import. */
export interface StatusChange {
  readonly import_id: string
  readonly transaction_id: string
  readonly before: PurchaseStatus
  readonly after: PurchaseStatus
}

/** How many rows an import skipped because an earlier import had added them. */
export interface ImportOverlap {
  readonly import_id: string
  readonly earlier_id: string
  readonly rows: number
}
