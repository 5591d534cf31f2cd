import { findItemColumns, type ItemColumns, type ItemColumnsOptions } from '../csv/items.ts'
import { createCsvParser } from '../csv/parser.ts'
import type { Catalog, CatalogFileItem } from '../domain/catalog.ts'
import { isObject, type JsonObject } from '../domain/fields.ts'
import { type ErrorDetail, TillError } from '../errors.ts'
import type { CatalogFile } from './catalog-plan.ts'

type Chunks = AsyncIterable<Uint8Array> | Iterable<Uint8Array>

/**
 * Reads a catalog file: the JSON of `catalog.export`, a spreadsheet of items, or Google Play's file
 * of in-app products. A file that begins with `{` or `[` is JSON. Throws `invalid_request` for a file that
 * can not be read. `catalog.plan` reports all other mistakes.
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
  for await (const chunk of file) {
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

const MAX_ITEM_LENGTH = 1024 ** 2

/**
 * Parses JSON in chunks: cuts out the items, parses each on its own, and parses the rest at the end,
 * where a number stands for each item. `JSON.parse` of the whole text takes three times the memory.
 */
function createJsonReader(): Reader {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  const items: unknown[] = []
  const scanner = createScanner()
  let rest = ''
  let open = ''

  const scan = (text: string) => {
    let from = 0
    scanner.scan(text, (isItem, end) => {
      const part = text.slice(from, end)
      from = end
      if (!isItem) {
        rest += part
        return
      }
      const item = open + part
      open = ''
      const lines = item.split('\n').length - 1
      rest += items.length + '\n'.repeat(lines) // keeps the line numbers
      items.push(parsePart(item, rest, lines, scanner.path()))
    })
    if (!scanner.isInItem()) rest += text.slice(from)
    else open += text.slice(from)
    if (open.length > MAX_ITEM_LENGTH) {
      throw invalidFile(`${scanner.path()} is too long`, scanner.path())
    }
  }

  const decode = (chunk?: Uint8Array): string => {
    try {
      return chunk ? decoder.decode(chunk, { stream: true }) : decoder.decode()
    } catch {
      throw invalidFile('The file is not UTF-8')
    }
  }

  return {
    push: (chunk) => scan(decode(chunk)),
    end() {
      scan(decode())
      if (scanner.isInItem()) throw invalidFile(`The file ends within ${scanner.path()}`)
      return { catalog: withItems(parsePart(rest, rest, 0, ''), items) }
    },
  }
}

function withItems(catalog: unknown, items: readonly unknown[]): Catalog {
  const put = (each: unknown) => (typeof each === 'number' ? items[each] : each)
  if (isObject(catalog) && Array.isArray(catalog.stores)) {
    for (const store of catalog.stores as (JsonObject | null)[]) {
      if (Array.isArray(store?.items)) store.items = store.items.map(put)
    }
  }
  return catalog as Catalog
}

/** Parses a text of which `before` ends with as many `lines`. */
function parsePart(text: string, before: string, lines: number, path: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    // V8's message quotes the text. Not all of its messages have a position.
    const at = /at position (\d+)/.exec((error as Error).message)?.[1]
    const lineOf = (upTo: string) => upTo.split('\n').length
    const inText = at === undefined ? undefined : lineOf(text.slice(0, Number(at)))
    const line = path === '' ? inText : lineOf(before) - lines + (inText ?? 1) - 1
    const place = line === undefined ? '' : `, line ${line}`
    throw invalidFile(`${path || 'The file'} is not JSON${place}`, path)
  }
}

function invalidFile(message: string, field = ''): TillError {
  const detail = { code: 'invalid', message: 'is not JSON', ...(field && { field }) }
  return new TillError('invalid_request', message, field ? [detail] : [])
}

// The depths of the parts of `{"stores": [{"items": [{}]}]}`.
const [ROOT, STORES, STORE, ITEMS, ITEM] = [1, 2, 3, 4, 5]

/** Finds where the items of a catalog begin and end. */
function createScanner() {
  let depth = 0
  let isInString = false
  let isEscaped = false
  /** The latest string in the root or in a store: a key when a `:` follows. */
  let latest = ''
  let rootKey = ''
  let storeKey = ''
  let store = -1
  let item = -1
  const isInItems = () => depth >= ITEMS && rootKey === 'stores' && storeKey === 'items'
  const path = () => `$.stores[${store}].items[${item}]`

  return {
    path,
    isInItem: () => depth >= ITEM && isInItems(),
    /** Calls `cut` where an item begins (`false`) and behind its end (`true`). */
    scan(text: string, cut: (isItem: boolean, end: number) => void): void {
      for (let at = 0; at < text.length; at++) {
        const char = text[at] as string
        if (isInString) {
          if (isEscaped) isEscaped = false
          else if (char === '\\') isEscaped = true
          else if (char === '"') isInString = false
          if (isInString && (depth === ROOT || depth === STORE)) latest += char
        } else if (char === '"') {
          isInString = true
          latest = ''
        } else if (char === ':') {
          if (depth === ROOT) rootKey = latest
          else if (depth === STORE) storeKey = latest
        } else if (char === '{' || char === '[') {
          if (char === '{' && depth === ITEMS && isInItems()) {
            item++
            cut(false, at)
          }
          depth++
          if (depth === STORES) store = -1
          if (depth === STORE) {
            store++
            storeKey = ''
          }
          if (depth === ITEMS) item = -1
        } else if (char === '}' || char === ']') {
          if (depth === ITEM && isInItems()) cut(true, at + 1)
          depth--
        } else if (depth === ITEMS && isInItems() && /[-\d]/.test(char)) {
          item++
          throw invalidFile(`${path()} must be an object`, path())
        }
      }
    },
  }
}
