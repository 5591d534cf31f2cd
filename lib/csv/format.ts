import type { PassedOver } from '../domain/import.ts'
import { PURCHASE_FIELDS, type PurchaseField, type PurchaseStatus } from '../domain/purchase.ts'
import type { Comparison } from '../domain/repeat.ts'
import type { TimeFormat } from './times.ts'

/** Returns the row's cell in a column of the format, or '' if the file lacks the column. */
export type Cell = (column: string) => string

/**
 * How to read a file. A vendor's preset, a layout file and the canonical columns are all formats. A
 * column map replaces some columns of a format.
 */
export interface Format {
  /** The name in the record of an import. */
  readonly name: string
  /** The possible names of each field's column. The first one that the file has is used. */
  readonly columns: { readonly [F in PurchaseField]?: string | readonly string[] }
  /** Whether a file with two possible columns for a field is refused. */
  readonly isUnambiguous?: boolean
  /** Columns that must be in the file, each with the message for a file that lacks it. */
  readonly needed?: readonly (readonly [column: string, message: string])[]
  /** Fields that a file must have, besides the id, the SKU and the time. */
  readonly required?: readonly PurchaseField[]
  /** The status for each lower-case text in the status column. Default: tillkit's own statuses. */
  readonly statuses?: { readonly [word: string]: PurchaseStatus }
  /** Whether amounts are in minor units (`499`) or in major ones (`4.99`). */
  readonly price_unit: 'minor' | 'major'
  /** The decimal mark. If it is missing, an amount like `1,500` is an error, because it is unclear. */
  readonly decimal?: '.' | ','
  /** Whether the layout does not state `decimal`. Some amounts are then unclear: `12,500` of KWD. */
  readonly isDecimalAssumed?: boolean
  /** The kind of a row whose amount is negative and whose status is not that of a refund. */
  readonly negative?: 'refunded' | 'skip'
  /** Whether equal transaction ids get numbers, because the file has no id for each sale. */
  readonly number_repeats?: boolean
  /** Default: times as in the canonical format. */
  readonly times?: TimeFormat
  /** The currency of amounts without one. Default: the store's currency. */
  readonly currency?: string
  /** For each column, the lower-case texts of the rows to pass over, and the reason. */
  readonly skip?: { readonly [column: string]: { readonly [word: string]: PassedOver } }
  /** The possible names of the column with the app. Rows of other apps are passed over. */
  readonly app?: readonly string[]
  /** The statuses of the rows that are passed over if they have no SKU. */
  readonly skuless?: readonly PurchaseStatus[]
  /**
   * Whether a file has all sales of a period, with each refund as a row of its own. Other files may
   * have all transactions that changed since the last export.
   */
  readonly setsPeriod?: boolean
  /** How a row is compared with the stored purchase that has its id; default `all`. */
  readonly comparison?: Comparison
  /** Columns that `derive` reads. They are not listed as ignored columns. */
  readonly uses?: readonly string[]
  /** Called once per file. The returned function derives cells from this row and earlier rows. */
  readonly derive?: (store: { readonly is_sandbox: boolean }) => (cell: Cell) => Derived
}

/** Cells that replace the row's canonical cells, and the reason if the row is left out. */
export type Derived = { readonly [F in PurchaseField]?: string } & {
  readonly passedOver?: PassedOver | undefined
}

/** Other accepted names for the columns of the canonical format. */
const ALIASES: { readonly [F in PurchaseField]?: readonly string[] } = {
  transaction_id: ['purchase_id', 'order_id'],
  sku: ['item', 'item_name', 'product_id'],
  purchased_at: ['date', 'created_at'],
}

/** tillkit's own columns. */
export const CANONICAL: Format = {
  name: 'canonical',
  columns: Object.fromEntries(
    PURCHASE_FIELDS.map((field) => [field, [field, ...(ALIASES[field] ?? [])]]),
  ),
  isUnambiguous: true,
  price_unit: 'minor',
}
