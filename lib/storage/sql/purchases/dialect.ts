import type { Query } from '../program.ts'

/** The SQL of purchases and of the changes of their statuses that differs. */
export interface StatusChangeDialect {
  /** The first statuses that an import gave to purchases, after the purchase with a `seq`. */
  changesOfImport(import_id: string, after: string): Query
  /** Whether a status change `c` is one of purchase `p`. */
  readonly isPurchaseOfChange: string
  /**
   * Whether status change `l` is a later one of the purchase of status change `c`. A purchase never
   * returns to an earlier status. A change that starts from the status that `c` has set is
   * therefore later than `c`.
   */
  readonly isChangedAgain: string
  /**
   * Finds a slice of the purchases with status changes between the first and the last row of an
   * import. Selects `purchase`, and the import as `own`. The parameters are the import, the purchase
   * that precedes the slice, and the most rows.
   */
  readonly findOwnChanges: string
  /** Joins stores `s` with their purchase `p` that has a transaction id, the parameter. */
  readonly joinTransaction: string
}
