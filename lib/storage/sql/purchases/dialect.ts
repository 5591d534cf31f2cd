import { orderRange } from '../../../domain/order.ts'
import type { Query } from '../program.ts'

/** The SQL of purchases and of the changes of their statuses that differs. */
export interface StatusChangeDialect {
  /**
   * The first changes of an import, after the purchase with a `seq`. `after` is the new status; null
   * if the change only fills values.
   */
  changesOfImport(import_id: string, after: string): Query
  /** The SQL of the current user of purchase `p`. */
  readonly userOfPurchase: string
  /** Whether a status change `c` is one of purchase `p`. */
  readonly isPurchaseOfChange: string
  /**
   * Whether status change `l` is a later one of the purchase of status change `c`. A purchase never
   * returns to an earlier status. A change that starts from the status that `c` has set is
   * therefore later than `c`.
   */
  readonly isChangedAgain: string
  /**
   * Finds a slice of the purchases with changes between the first and the last row of an import.
   * Selects `purchase`, the `latest` import that changed its status, and the import as `own`. The
   * parameters are the import, the purchase that precedes the slice, and the most rows.
   */
  readonly findOwnChanges: string
  /** Joins stores `s` with their purchase `p` that has a transaction id, the parameter. */
  readonly joinTransaction: string
  /** Joins stores `s` with their purchases `p` that have the ids of a JSON array, the parameter. */
  readonly joinTransactions: string
  /**
   * Joins stores `s` with the purchases `p` that a transaction id stands for: the one with this id
   * or, if the store has none, the first 1,000 of the order. See `orderValues`.
   */
  readonly joinOrder: string
  /** Ends with AND, or is empty: the condition that purchases `p` are numbered within store `s`. */
  readonly isOfStore: 'p.store = s.seq AND' | ''
}

/** The most purchases of an order that `joinOrder` finds. */
export const MOST_OF_ORDER = 1_000

/** The parameters of `joinOrder`. */
export function orderValues(transaction_id: string): readonly string[] {
  return [transaction_id, ...orderRange(transaction_id), transaction_id, transaction_id]
}
