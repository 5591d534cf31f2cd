/** One record (RFC 4180), its line end included. */
export function formatRow(cells: readonly string[]): string {
  return `${cells.map(formatCell).join(',')}\r\n`
}

function formatCell(cell: string): string {
  return /[",\r\n;\t]|^ | $/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell
}

/**
 * The column that marks an export or a report of tillkit. In rows with the mark in it, an import
 * undoes `guard`. The mark is not empty, as spreadsheets may leave out the delimiter before an empty last cell.
 */
export const EXPORT_COLUMN = 'tillkit_export'
export const EXPORT_MARK = '1'

/** The columns of a report of bad rows, before the file's own. An import refuses such a file. */
export const REPORT_COLUMNS: readonly string[] = [
  'line',
  'column',
  'code',
  'message',
  EXPORT_COLUMN,
]

const GUARDED = /^'+[=+\-@\t\r]/

/**
 * A cell that a spreadsheet does not take for a formula: one that begins with `=`, `+`, `-` or `@`
 * gets an apostrophe. Plain numbers stay. `unguard` takes it off again: only for files that tillkit
 * wrote, since elsewhere the apostrophe is part of the cell.
 */
export function guard(cell: string): string {
  const isFormula = /^[=+\-@\t\r]/.test(cell) && !/^[+-]?[\d.,]+$/.test(cell)
  return isFormula || GUARDED.test(cell) ? `'${cell}` : cell
}

export function unguard(cell: string): string {
  return cell.startsWith("'") && GUARDED.test(cell) ? cell.slice(1) : cell
}
