/** Saves a text as a file of the browser's downloads. */
export function download(name: string, type: string, text: string): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(new Blob([text], { type }))
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000)
}

/** Saves the given fields of records as a CSV file, which a spreadsheet can open. */
export function downloadCsv(
  name: string,
  columns: readonly string[],
  records: readonly object[],
): void {
  const cellsOf = (record: object) =>
    columns.map((column) => record[column as keyof typeof record] as unknown)
  const rows = [columns, ...records.map(cellsOf)]
  const lines = rows.map((cells) => `${cells.map(formatCell).join(',')}\r\n`)
  download(name, 'text/csv', lines.join(''))
}

/** Quotes a cell. Guards one that a spreadsheet would run as a formula. */
export function formatCell(value: unknown = ''): string {
  const text = typeof value === 'object' ? JSON.stringify(value) : String(value)
  const guarded = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text
  return `"${guarded.replaceAll('"', '""')}"`
}
