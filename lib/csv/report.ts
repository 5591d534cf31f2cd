import { normalize } from './options.ts'
import { EXPORT_COLUMN, EXPORT_MARK, unguard } from './write.ts'

/** The columns that a report of bad rows has before the file's own. The last one marks it. */
export const REPORT_COLUMNS: readonly string[] = [
  'line',
  'column',
  'code',
  'message',
  EXPORT_COLUMN,
]

/** The cells of a line with so many report columns, as they were before the report guarded them. */
export function restoreCells(cells: readonly string[], reported: number): readonly string[] {
  const mark = normalize(cells[reported - 1] ?? '')
  return mark === EXPORT_MARK || mark === EXPORT_COLUMN ? cells.map(unguard) : cells
}

/** How many columns at the head of a file are those of a report: all of them, or none. */
export function countReportColumns(header: readonly string[]): number {
  const names = header.map(normalize)
  const isReport = REPORT_COLUMNS.every((name, i) => name === names[i])
  return isReport ? REPORT_COLUMNS.length : 0
}
