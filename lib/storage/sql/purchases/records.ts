// The inputs and results of the methods for purchases.
import type { Authority } from '../../../domain/authority.ts'
import type { ImportDetails } from '../../../domain/import.ts'
import type {
  NewPurchase,
  Purchase,
  PurchaseField,
  RecordedPurchase,
} from '../../../domain/purchase.ts'
import type { Conflict, Repeat, RepeatRules, UnequalCount } from '../../../domain/repeat.ts'
import type { WriteOptions } from '../records.ts'

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
  readonly conflicts: readonly Conflict[]
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
