import { once } from 'node:events'
import type { WriteStream } from 'node:tty'
import { formatTable, type Yielding } from './table.ts'
import { formatValue, WIDTH, wrap } from './text.ts'

/** Where a command prints: records and tables for a person, or one JSON document. */
export interface Output {
  /** One thing, a line a field. */
  record(record: object): void
  /** Many things, a line each, the named fields as columns: on a terminal as wide as it is. */
  table(rows: readonly object[], columns: readonly string[], yielding?: Yielding): void
  /** The same for any number of things, which are not in memory together. */
  list(rows: AsyncIterable<object>, columns: readonly string[], yielding?: Yielding): Promise<void>
  /** A line for a person; with --json nothing. */
  line(text: string): void
  readonly json: boolean
}

export function createOutput(stdout: WriteStream, json: boolean): Output {
  const write = (text: string) => void stdout.write(`${text}\n`)
  if (json) {
    const document = (value: unknown) => write(JSON.stringify(value, null, 2))
    const list = (rows: AsyncIterable<object>) => writeArray(stdout, rows)
    return { record: document, table: document, list, line() {}, json }
  }
  const width = stdout.isTTY ? stdout.columns || WIDTH : Number.POSITIVE_INFINITY
  const table: Output['table'] = (rows, columns, yielding = {}) =>
    write(formatTable(rows, columns, yielding, width))
  return {
    record: (record) => write(formatRecord(record)),
    table,
    async list(rows, columns, yielding) {
      table(await pick(rows, columns), columns, yielding)
    },
    line: write,
    json,
  }
}

/** Writes what `JSON.stringify(rows, null, 2)` gives, as fast as it is taken. */
async function writeArray(stdout: WriteStream, rows: AsyncIterable<object>): Promise<void> {
  let before = '['
  for await (const row of rows) {
    const text = JSON.stringify(row, null, 2).replaceAll('\n', '\n  ')
    if (!stdout.write(`${before}\n  ${text}`)) await once(stdout, 'drain')
    before = ','
  }
  stdout.write(before === '[' ? '[]\n' : '\n]\n')
}

/** The named fields of rows, whose other fields may be large. */
async function pick(rows: AsyncIterable<object>, columns: readonly string[]): Promise<object[]> {
  const picked: object[] = []
  for await (const row of rows) {
    const fields = row as { readonly [name: string]: unknown }
    picked.push(Object.fromEntries(columns.map((name) => [name, fields[name]])))
  }
  return picked
}

function formatRecord(record: object): string {
  const entries = Object.entries(record)
  const width = Math.max(...entries.map(([name]) => name.length))
  return entries.map(([name, value]) => `${name.padEnd(width)}  ${formatValue(value)}`).join('\n')
}

/** Lines as wide as the terminal, those that go on indented; whole for any other stream. */
export function wrapLines(text: string, { isTTY, columns }: WriteStream): string {
  if (!isTTY) return text
  const wrapLine = (line: string) => {
    const [, indent = '', first = '', rest = ''] = /^( *)(\S*)(.*)$/s.exec(line) ?? []
    const words = rest.trimStart().split(' ')
    return wrap(words, `${indent}${first} `, `${indent}    `, columns || WIDTH)
  }
  return text.split('\n').map(wrapLine).join('\n')
}

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
