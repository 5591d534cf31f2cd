/** The columns that a report of bad rows has before the file's own. */
export const REPORT_COLUMNS: readonly string[] = ['line', 'column', 'code', 'message']

/** How many columns at the head of a file are those of a report: all of them, or none. */
export function countReportColumns(header: readonly string[]): number {
  const isReport = REPORT_COLUMNS.every((name, i) => header[i]?.trim().toLowerCase() === name)
  return isReport ? REPORT_COLUMNS.length : 0
}
