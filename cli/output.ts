import { once } from 'node:events'
import { pipeline } from 'node:stream/promises'
import type { OutputStream } from './io.ts'
import { formatTable, type Narrowing } from './table.ts'
import { escapeLines, formatJson, formatValue, WIDTH, wrap } from './text.ts'

export type Output = ReturnType<typeof createOutput>

/** Prints the result of a command, as text or as one JSON document. */
export function createOutput(
  { stdout, stderr }: { readonly [S in 'stdout' | 'stderr']: OutputStream },
  json: boolean,
) {
  const write = (text: string) => void stdout.write(`${text}\n`)
  const width = stdout.isTTY ? stdout.columns || WIDTH : Number.POSITIVE_INFINITY
  /** Prints one line for each record, with the named fields as columns that fit the terminal. */
  const table = (rows: readonly object[], columns: readonly string[], narrowing: Narrowing = []) =>
    write(json ? formatJson(rows) : formatTable(rows, columns, narrowing, width))
  return {
    json,
    /** Prints one record, a line for each field. */
    record: (record: object) => write(json ? formatJson(record) : formatRecord(record)),
    table,
    /** Prints a page of a list: with --json the page, else a table of its `rows`. */
    page(
      page: { readonly next?: string },
      rows: readonly object[],
      columns: readonly string[],
      narrowing: Narrowing,
      more = 'There are more:',
    ) {
      if (json) return write(formatJson(page))
      table(rows, columns, narrowing)
      if (page.next) stderr.write(`${more} --cursor ${page.next}\n`)
    },
    /** Prints a table of any number of records. With --json, streams them. */
    async list(
      rows: AsyncIterable<object>,
      columns: readonly string[],
      narrowing: Narrowing = [],
    ): Promise<void> {
      if (json) await writeArray(stdout, rows)
      else write(formatTable(await pick(rows, columns), columns, narrowing, width))
    },
    /** Prints a line for a person; nothing with --json. */
    line(text: string): void {
      if (!json) write(text)
    },
  }
}

/** Prints an exported file. On a terminal, escapes characters that could change what it shows. */
export function printFile(chunks: AsyncIterable<string>, stdout: OutputStream): Promise<void> {
  async function* escaped() {
    for await (const chunk of chunks) yield escapeLines(chunk)
  }
  return pipeline(stdout.isTTY ? escaped() : chunks, stdout, { end: false })
}

/** Streams the same text as `formatJson(rows)`, with backpressure. */
async function writeArray(stdout: OutputStream, rows: AsyncIterable<object>): Promise<void> {
  let before = '['
  for await (const row of rows) {
    const text = formatJson(row).replaceAll('\n', '\n  ')
    if (!stdout.write(`${before}\n  ${text}`)) await once(stdout, 'drain')
    before = ','
  }
  stdout.write(before === '[' ? '[]\n' : '\n]\n')
}

/** Keeps only the named fields of each row: other fields may be large. */
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

/** Wraps lines to the terminal's width, with an indent. Does nothing for other streams. */
export function wrapLines(text: string, { isTTY, columns }: OutputStream): string {
  if (!isTTY) return text
  const wrapLine = (line: string) => {
    const [, indent = '', first = '', rest = ''] = /^( *)(\S*)(.*)$/s.exec(line) ?? []
    const words = rest.trimStart().split(' ')
    return wrap(words, `${indent}${first} `, `${indent}    `, columns || WIDTH)
  }
  return text.split('\n').map(wrapLine).join('\n')
}

/** Formats `label: one, two`. Lines break only between entries. */
export function wrapList(label: string, entries: readonly string[]): string {
  const last = entries.length - 1
  const words = entries.map((entry, i) => formatValue(entry) + (i < last ? ',' : ''))
  return wrap(words, `${label}: `, ' ', WIDTH + 1)
}
