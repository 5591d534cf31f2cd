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
  /** Prints a line for a person; nothing with --json. */
  const line = (text: string) => {
    if (!json) write(text)
  }
  /**
   * Prints a line for each record, with the named fields as columns that fit the terminal; nothing
   * with --json.
   */
  const table = (rows: readonly object[], columns: readonly string[], narrowing: Narrowing = []) =>
    line(formatTable(rows, columns, narrowing, width))
  return {
    json,
    line,
    /** Prints one record, a line for each field. */
    record: (record: object) => write(json ? formatJson(record) : formatRecord(record)),
    table,
    /** Prints a page of a list: with --json the page, an object with one array, else its `rows`. */
    page(
      page: object,
      rows: readonly object[],
      columns: readonly string[],
      narrowing: Narrowing = [],
      more = 'There are more:',
    ) {
      if (json) return write(formatJson(page))
      table(rows, columns, narrowing)
      const { next }: { readonly next?: string } = page
      if (next) stderr.write(`${more} --cursor ${next}\n`)
    },
    /** Prints a table of any number of records. With --json, streams an object with one array. */
    async list(
      name: string,
      rows: AsyncIterable<object>,
      columns: readonly string[],
      narrowing: Narrowing = [],
    ): Promise<void> {
      if (json) await writeList(stdout, name, rows)
      else write(formatTable(await pick(rows, columns), columns, narrowing, width))
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

/** Streams the same text as `formatJson({ [name]: rows })`, with backpressure. */
async function writeList(
  stdout: OutputStream,
  name: string,
  rows: AsyncIterable<object>,
): Promise<void> {
  const start = `{\n  "${name}": [`
  let before = start
  for await (const row of rows) {
    const text = formatJson(row).replaceAll('\n', '\n    ')
    if (!stdout.write(`${before}\n    ${text}`)) await once(stdout, 'drain')
    before = ','
  }
  stdout.write(before === start ? `${start}]\n}\n` : '\n  ]\n}\n')
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
