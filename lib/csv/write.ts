/** Formats one row with its line end (RFC 4180). */
export function formatRow(cells: readonly string[]): string {
  return `${cells.map(formatCell).join(',')}\r\n`
}

function formatCell(cell: string): string {
  return /[",\r\n;\t]|^ | $/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell
}

/**
 * The column that identifies the rows that tillkit exported. An import removes the apostrophes that
 * `guard` has added to these rows. The cells of the column are not empty, because spreadsheets may
 * drop an empty last cell with its delimiter.
 */
export const EXPORT_COLUMN = 'tillkit_export'
export const EXPORT_MARK = '1'

/** The first columns of a report of bad rows. An import rejects a file with these columns. */
export const REPORT_COLUMNS: readonly string[] = [
  'line',
  'column',
  'code',
  'message',
  EXPORT_COLUMN,
]

const GUARDED = /^'+[=+\-@\t\r]/

/**
 * Puts an apostrophe before a cell that a spreadsheet would run as a formula: one that begins with
 * `=`, `+`, `-`, `@`, a tab or CR. Plain numbers stay as they are.
 */
export function guard(cell: string): string {
  const isFormula = /^[=+\-@\t\r]/.test(cell) && !/^[+-]?[\d.,]+$/.test(cell)
  return isFormula || GUARDED.test(cell) ? `'${cell}` : cell
}

/**
 * Removes the apostrophe that `guard` has added to a cell. Call it only for rows that tillkit
 * exported, and for SKU maps. In other rows, the apostrophe is data.
 */
export function unguard(cell: string): string {
  return cell.startsWith("'") && GUARDED.test(cell) ? cell.slice(1) : cell
}
