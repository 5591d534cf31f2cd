import { type ColumnMap, normalize } from './options.ts'

/** The columns that a report of bad rows has before the file's own. */
export const REPORT_COLUMNS: readonly string[] = ['line', 'column', 'code', 'message']

/**
 * How many columns at the head of a file are those of a report: all of them, or none. Where the map
 * names one that does not come again behind them, they are the file's own.
 */
export function countReportColumns(header: readonly string[], map: ColumnMap = {}): number {
  const names = header.map(normalize)
  const isReport = REPORT_COLUMNS.every((name, i) => name === names[i])
  const behind = names.slice(REPORT_COLUMNS.length)
  const mapped = Object.values(map).map(normalize)
  const isOwn = mapped.some((name) => REPORT_COLUMNS.includes(name) && !behind.includes(name))
  return isReport && !isOwn ? REPORT_COLUMNS.length : 0
}
