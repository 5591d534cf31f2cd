import type { Writable } from 'node:stream'

/** Where a command prints: records and tables for a person, or one JSON document. */
export interface Output {
  /** One thing, a line a field. */
  record(record: object): void
  /** Many things, a line each, the named fields as columns. */
  table(rows: readonly object[], columns: readonly string[]): void
  /** A line for a person; with --json nothing. */
  line(text: string): void
  readonly json: boolean
}

export function createOutput(stdout: Writable, json: boolean): Output {
  const write = (text: string) => void stdout.write(`${text}\n`)
  if (json) {
    const document = (value: unknown) => write(JSON.stringify(value, null, 2))
    return { record: document, table: document, line() {}, json }
  }
  return {
    record: (record) => write(formatRecord(record)),
    table: (rows, columns) => write(formatTable(rows, columns)),
    line: write,
    json,
  }
}

function formatRecord(record: object): string {
  const entries = Object.entries(record)
  const width = Math.max(...entries.map(([name]) => name.length))
  return entries.map(([name, value]) => `${name.padEnd(width)}  ${formatValue(value)}`).join('\n')
}

function formatTable(rows: readonly object[], columns: readonly string[]): string {
  if (rows.length === 0) return 'none'
  const cells = rows.map((row) => {
    const values = row as { [name: string]: unknown }
    return columns.map((column) => formatValue(values[column]))
  })
  const lines = [columns, ...cells]
  const widths = columns.map((_, column) =>
    Math.max(...lines.map((line) => (line[column] ?? '').length)),
  )
  // Numbers stand at the right of their column.
  const isNumeric = columns.map((_, column) =>
    cells.every((line) => /^[\d,.]*$/.test(line[column] ?? '')),
  )
  const pad = (cell: string, column: number) =>
    isNumeric[column] ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0)
  return lines
    .map((line) => line.map((cell, column) => pad(cell, column)).join('  '))
    .map((line) => line.trimEnd())
    .join('\n')
}

// Control characters from the database must not reach the terminal.
export function formatValue(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '')
  return text.replace(/\p{Cc}/gu, (each) => JSON.stringify(each).slice(1, -1))
}

const WIDTH = 80

/** `label: one, two` on as many lines as it takes; an entry is never cut. */
export function wrapList(label: string, entries: readonly string[]): string {
  const lines = [`${label}:`]
  entries.map(formatValue).forEach((entry, i) => {
    const word = ` ${entry}${i < entries.length - 1 ? ',' : ''}`
    const line = lines.at(-1) ?? ''
    if (line.length + word.length <= WIDTH) lines[lines.length - 1] = line + word
    else lines.push(` ${word}`)
  })
  return lines.join('\n')
}
