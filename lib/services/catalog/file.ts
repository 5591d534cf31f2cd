import { setImmediate } from 'node:timers/promises'
import { findItemColumns, type ItemColumns, type ItemColumnsOptions } from '../../csv/items.ts'
import { createCsvParser } from '../../csv/parser.ts'
import {
  type Catalog,
  type CatalogFileItem,
  MAX_MISTAKES,
  type ParsedItem,
  parseCatalog,
} from '../../domain/catalog.ts'
import type { InputOf } from '../../domain/fields.ts'
import { optional, unchecked } from '../../domain/rules.ts'
import { type ErrorDetail, TillError } from '../../errors.ts'
import { parseItems } from './items.ts'
import { assertNoMistakes } from './mistakes.ts'

export const fileFields = {
  catalog: optional(unchecked<Catalog>()),
  /** The columns of a spreadsheet that are not stored. */
  ignored_columns: optional(unchecked<readonly string[]>()),
  /** The line of each item of a spreadsheet, by store and item, for messages about mistakes. */
  lines: optional(unchecked<readonly (readonly number[])[]>()),
  /** The mistakes that were found while the file was read. */
  mistakes: optional(unchecked<readonly ErrorDetail[]>()),
}

/** A catalog as it was read from a file. */
export interface CatalogFile extends InputOf<typeof fileFields> {}

type Chunks = AsyncIterable<Uint8Array | string> | Iterable<Uint8Array | string>

/** The maximum size of a catalog file; 100,000 items take about 30 MiB of JSON. */
const MAX_MIB = 64
/** How much of a spreadsheet is read in one turn of the event loop: some 10 ms. */
const SLICE_BYTES = 16 * 1024

/**
 * Reads a catalog file: the JSON of `catalog.export`, a spreadsheet of items, or Google Play's file
 * of in-app products. A file that begins with `{` or `[` is JSON. Throws `invalid_request` for
 * malformed JSON. `catalog.plan` reports all other mistakes.
 *
 * @example
 * const file = await readCatalog(createReadStream('catalog.json'))
 * const plan = await till.catalog.plan(account, file)
 */
export async function readCatalog(
  file: Chunks,
  options: ItemColumnsOptions = {},
): Promise<CatalogFile> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of file) {
    chunks.push(typeof chunk === 'string' ? Buffer.from(chunk) : chunk)
    bytes += chunk.length
    if (bytes > MAX_MIB * 1024 ** 2) throw invalidFile(`A catalog takes at most ${MAX_MIB} MiB`)
  }
  const whole = Buffer.concat(chunks)
  const isJson = /^[\s\uFEFF]*[{[]/.test(whole.toString('utf8', 0, 1024))
  return isJson ? { catalog: parseJson(whole) as Catalog } : readSpreadsheet(whole, options)
}

/**
 * Parses the items of a catalog without a stored project, by store. Throws `invalid_request` that
 * names every mistake with its JSON path or line.
 */
export async function parseCatalogItems({
  catalog,
  mistakes = [],
  lines,
}: CatalogFile): Promise<Map<string, ParsedItem[]>> {
  const problems = [...mistakes]
  const stores = new Map<string, ParsedItem[]>()
  const parsed = parseCatalog(catalog, problems)
  for (const [index, { store_id, items = [] }] of parsed.stores.entries()) {
    const listed = await parseItems(items, `$.stores[${index}].items`, problems)
    stores.set(
      store_id,
      [...listed.values()].map(({ item }) => item),
    )
  }
  assertNoMistakes(problems, lines)
  return stores
}

async function readSpreadsheet(
  file: Uint8Array,
  options: ItemColumnsOptions,
): Promise<CatalogFile> {
  const mistakes: ErrorDetail[] = []
  const stores = new Map<string, { items: CatalogFileItem[]; lines: number[] }>()
  let columns: ItemColumns | undefined
  const parser = createCsvParser({
    header(cells) {
      const found = findItemColumns(cells, options)
      if ('read' in found) columns = found
      else mistakes.push(...found)
    },
    row(cells, line) {
      const wrong = (column: string, message: string) =>
        mistakes.push({ line, column, code: 'invalid', message })
      const row = columns?.read(cells, wrong)
      if (!row) return
      const store = stores.get(row.store_id) ?? { items: [], lines: [] }
      if (store.items.length === 0) stores.set(row.store_id, store)
      store.items.push(row.item)
      store.lines.push(line)
    },
    error: ({ line, code, message }) => mistakes.push({ line, code, message }),
  })
  for (let start = 0; start < file.length; start += SLICE_BYTES) {
    parser.push(file.subarray(start, start + SLICE_BYTES))
    if (mistakes.length >= MAX_MISTAKES) break
    await setImmediate() // a server answers other requests meanwhile
  }
  if (mistakes.length < MAX_MISTAKES) parser.end()
  const all = [...stores]
  return {
    catalog: { stores: all.map(([store_id, { items }]) => ({ store_id, items })) },
    ignored_columns: columns?.ignored ?? [],
    lines: all.map(([, { lines }]) => lines),
    mistakes,
  }
}

function parseJson(bytes: Uint8Array): unknown {
  const text = decode(bytes)
  try {
    return JSON.parse(text)
  } catch (error) {
    // Takes only the position from V8's message, because the message also quotes the file. Some
    // messages have no position.
    const { message } = error as Error
    const isCut = message.startsWith('Unexpected end')
    const at = isCut ? text.length : /at position (\d+)/.exec(message)?.[1]
    const line = at === undefined ? '' : `, line ${text.slice(0, Number(at)).split('\n').length}`
    throw invalidFile(`The file is not JSON${line}`)
  }
}

function decode(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw invalidFile('The file is not UTF-8')
  }
}

function invalidFile(message: string): TillError {
  return new TillError('invalid_request', message)
}
