import { FILLABLE_FIELDS, type Fills } from '../../../domain/purchase.ts'

/** The columns of a purchase that an import may change. */
export type ChangedColumn = 'status' | keyof Fills

/** The SQL of the current values of purchases `p`. A committed change `c` may not be applied yet. */
export type CurrentColumns = { readonly [C in ChangedColumn]: string }

/** The bit of a column in the mask `filled`. Databases store it. */
export function bitOf(column: keyof Fills): number {
  return 1 << FILLABLE_FIELDS.indexOf(column)
}

/** The mask of the columns that have a value. */
export function maskOf(fills: Fills): number {
  return FILLABLE_FIELDS.reduce(
    (mask, field) => (fills[field] === undefined ? mask : mask | bitOf(field)),
    0,
  )
}

/** The SQL of a column of purchase `p` after its change `c`, which may be missing. */
export function columnAfter(column: keyof Fills): string {
  return `CASE WHEN c.filled & ${bitOf(column)} > 0 THEN c.${column} ELSE p.${column} END`
}

/** The SQL of a column of purchase `p` after the undo of a status change `c`. */
export function columnBefore(column: keyof Fills): string {
  return `CASE WHEN c.filled & ${bitOf(column)} > 0 THEN NULL ELSE p.${column} END`
}
