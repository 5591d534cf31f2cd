import type { ImportRecord } from '../../domain/import.ts'
import type { PurchaseStatus, StoredPurchase } from '../../domain/purchase.ts'
import type { Page, RecordPage } from './page.ts'
import type { StoreKey } from './stores.ts'

/**
 * Methods that only copies use. An insertion keeps the order of its records. An insertion that
 * repeats an earlier one adds nothing, or throws `storage_unavailable`.
 */
export interface CopyMethods {
  /**
   * Marks an empty storage as an unfinished copy until `endCopy`. While marked, it opens only with
   * `forCopy`. Resolves to false and sets no mark if the storage has records without such a mark.
   */
  beginCopy(): Promise<boolean>
  endCopy(): Promise<void>
  /**
   * Lists the finished imports of all stores, also undone ones, and the imports that hold a
   * recorded purchase.
   */
  listAllImports(page: Page): Promise<RecordPage<StoredImport>>
  insertImports(imports: readonly StoredImport[]): Promise<void>
  /** Adds purchases of existing imports. The purchases of one import follow each other. */
  insertPurchases(store: StoreKey, purchases: readonly StoredPurchase[]): Promise<void>
  /** Lists the status changes of all imports that are not undone. */
  listStatusChanges(page: Page): Promise<RecordPage<StatusChange>>
  insertStatusChanges(changes: readonly StatusChange[]): Promise<void>
  /**
   * For each pair of imports, lists how many rows of the earlier one the later one skipped as
   * already present. Leaves out undone imports.
   */
  listOverlaps(page: Page): Promise<RecordPage<ImportOverlap>>
  insertOverlaps(overlaps: readonly ImportOverlap[]): Promise<void>
}

export interface StoredImport extends StoreKey, ImportRecord {}

/** A status that an import changed. */
export interface StatusChange {
  readonly import_id: string
  readonly transaction_id: string
  readonly before: PurchaseStatus
  readonly after: PurchaseStatus
}

/** How many rows of an earlier import a later import skipped. */
export interface ImportOverlap {
  readonly import_id: string
  readonly earlier_id: string
  readonly rows: number
}
