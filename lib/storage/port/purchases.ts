import type { Authority } from '../../domain/authority.ts'
import type { ImportDetails } from '../../domain/import.ts'
import type {
  Comparison,
  NewPurchase,
  PurchaseField,
  RecordedPurchase,
  UnequalCount,
} from '../../domain/purchase.ts'
import type { WriteOptions } from './write.ts'

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
   * an import have the same `comparison`; default `all`.
   */
  add(rows: readonly NewPurchase[], comparison?: Comparison): Promise<RowOutcomes>
  /** Advances the statuses of stored purchases, and adds none. Compares only the ids. */
  advance(rows: readonly StatusRow[]): Promise<AdvancedRows>
  /** Writes all remaining rows. Reports the outcome of all rows that have not been reported. */
  finish(): Promise<RowOutcomes>
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
  readonly skipped: number
  readonly updated: number
  readonly conflicts: readonly { readonly line: number; readonly field: PurchaseField }[]
  /** The rows that were not added because no item has their SKU. */
  readonly unknown: readonly Pick<NewPurchase, 'line' | 'sku'>[]
  /** How many skipped or updated rows have values that the stored purchases do not have. */
  readonly unequal: readonly UnequalCount[]
}

/** A row that may advance the status of a stored purchase. */
export type StatusRow = Pick<NewPurchase, 'transaction_id' | 'status'>

export interface AdvancedRows {
  readonly updated: number
  /** The number of rows whose `transaction_id` is not stored. */
  readonly unknown: number
  /** The number of rows whose status is not later than the stored one. */
  readonly notLater: number
}

/**
 * The outcome of a recorded purchase. If its `transaction_id` is already stored, `compareRepeat`
 * decides the outcome.
 */
export type RecordedRow =
  | RecordedPurchase
  | { readonly outcome: 'conflict'; readonly field: PurchaseField }
  /** No item of the store has this SKU. */
  | { readonly outcome: 'unknown' }

export interface ImportUndo {
  readonly import_id: string
  readonly undone_at: string
  /** Whether to undo the import although later imports skipped rows that it had added. */
  readonly force: boolean
}

/**
 * `changed`: later imports changed `rows` of the affected purchases. `skipped`: later imports
 * skipped `rows` rows that this import had added, and `force` is not set. Only the outcome `undone`
 * means that data was changed.
 */
export type UndoOutcome =
  | { readonly outcome: 'undone' }
  | { readonly outcome: 'changed' | 'skipped'; readonly rows: number }

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
