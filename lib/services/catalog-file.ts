import { findItemColumns, type ItemColumns, type ItemColumnsOptions } from '../csv/items.ts'
import { createCsvParser } from '../csv/parser.ts'
import type { Catalog, CatalogFileItem } from '../domain/catalog.ts'
import { type ErrorDetail, TillError } from '../errors.ts'
import type { CatalogFile } from './catalog-plan.ts'

type Chunks = AsyncIterable<Uint8Array | string> | Iterable<Uint8Array | string>

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
  let head = Buffer.alloc(0)
  let reader: Reader | undefined
  for await (const given of file) {
    const chunk = typeof given === 'string' ? Buffer.from(given) : given
    if (reader) reader.push(chunk)
    else {
      head = Buffer.concat([head, chunk])
      const first = /[^\s\uFEFF]/.exec(head.toString())?.[0]
      if (first === undefined || first === '\uFFFD') continue
      reader = /[{[]/.test(first) ? createJsonReader() : createSpreadsheetReader(options)
      reader.push(head)
    }
  }
  if (!reader) {
    reader = createSpreadsheetReader(options)
    reader.push(head)
  }
  return reader.end()
}

interface Reader {
  push(chunk: Uint8Array): void
  end(): CatalogFile
}

function createSpreadsheetReader(options: ItemColumnsOptions): Reader {
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
  return {
    push: (chunk) => parser.push(chunk),
    end() {
      parser.end()
      const all = [...stores]
      return {
        catalog: { stores: all.map(([store_id, { items }]) => ({ store_id, items })) },
        ignored_columns: columns?.ignored ?? [],
        lines: all.map(([, { lines }]) => lines),
        mistakes,
      }
    },
  }
}

/** The longest catalog in JSON; 100,000 items take about 30 MiB. */
const MAX_JSON_MIB = 64

function createJsonReader(): Reader {
  const chunks: Uint8Array[] = []
  let bytes = 0
  return {
    push(chunk) {
      bytes += chunk.length
      if (bytes > MAX_JSON_MIB * 1024 ** 2) {
        throw invalidFile(`A catalog in JSON takes at most ${MAX_JSON_MIB} MiB`)
      }
      chunks.push(chunk)
    },
    end: () => ({ catalog: parseJson(Buffer.concat(chunks)) as Catalog }),
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
