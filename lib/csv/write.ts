/** One record (RFC 4180), its line end included. */
export function formatRow(cells: readonly string[]): string {
  return `${cells.map(formatCell).join(',')}\r\n`
}

function formatCell(cell: string): string {
  return /[",\r\n;\t]|^ | $/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell
}

const GUARDED = /^'+[=+\-@\t\r]/

/**
 * A cell that a spreadsheet does not take for a formula: one that begins with `=`, `+`, `-` or `@`
 * gets an apostrophe. Plain numbers stay. `unguard` takes it off again.
 */
export function guard(cell: string): string {
  const isFormula = /^[=+\-@\t\r]/.test(cell) && !/^[+-]?[\d.,]+$/.test(cell)
  return isFormula || GUARDED.test(cell) ? `'${cell}` : cell
}

export function unguard(cell: string): string {
  return cell.startsWith("'") && GUARDED.test(cell) ? cell.slice(1) : cell
}
