import { PURCHASE_STATUSES, type PurchaseStatus } from '../../../domain/purchase.ts'
import { FILLABLE_FIELDS, type Fills, pickFills } from '../../../domain/repeat.ts'

/** A change of a purchase: its status after the change, and the values that the change fills. */
export interface PurchaseChange {
  readonly status: PurchaseStatus
  readonly fills: Fills
}

/** The columns of a purchase that an import may change. */
type ChangedColumn = 'status' | keyof Fills

/** The SQL of the current values of purchases `p`. A committed change `c` may not be applied yet. */
export type CurrentColumns = { readonly [C in ChangedColumn]: string }

/** The bit of a column in the mask `filled`. Databases store it. */
export function bitOf(column: keyof Fills): number {
  return 1 << FILLABLE_FIELDS.indexOf(column)
}

/** The columns of `purchase_changes` that `valuesOf` writes, with their types. */
export const CHANGE_COLUMNS = {
  status: 'smallint',
  filled: 'smallint',
  user_id: 'text',
  price: 'bigint',
  currency: 'text',
  expires_at: 'bigint',
} as const

/** The values of a change in the order of `CHANGE_COLUMNS`. */
export function valuesOf({ status, fills }: PurchaseChange) {
  const values = FILLABLE_FIELDS.map((field) => fills[field] ?? null)
  const filled = FILLABLE_FIELDS.filter((field) => fills[field] !== undefined)
  const mask = filled.reduce((sum, field) => sum + bitOf(field), 0)
  return [PURCHASE_STATUSES.indexOf(status), mask, ...values] as const
}

/** The values of a purchase whose bits are set in the mask `filled`. */
export function filledOf(current: Fills, filled: number): Fills {
  return pickFills(current, (field) => (filled & bitOf(field)) > 0)
}

/** The SQL that sets each column of purchase `p` by `value`. */
export function settingAll(value: (column: keyof Fills) => string): string {
  return FILLABLE_FIELDS.map((field) => `${field} = ${value(field)}`).join(', ')
}

/** The SQL of a column of purchase `p` after its change `c`, which may be missing. */
export function columnAfter(column: keyof Fills): string {
  return `CASE WHEN c.filled & ${bitOf(column)} > 0 THEN c.${column} ELSE p.${column} END`
}

/** The SQL of the status of purchase `p` after the undo of a status change `c`, which may only fill. */
export const STATUS_BEFORE = 'CASE WHEN c.before <> c.after THEN c.before ELSE p.status END'

/** The SQL of a column of purchase `p` after the undo of a status change `c`. */
export function columnBefore(column: keyof Fills): string {
  return `CASE WHEN c.filled & ${bitOf(column)} > 0 THEN NULL ELSE p.${column} END`
}
