import { findItemColumns, type ItemColumns, type ItemColumnsOptions } from '../csv/items.ts'
import { createCsvParser } from '../csv/parser.ts'
import type { Catalog, CatalogFileItem } from '../domain/catalog.ts'
import { isObject, type JsonObject } from '../domain/fields.ts'
import { type ErrorDetail, TillError } from '../errors.ts'
import type { CatalogFile } from './catalog-plan.ts'
import { PackedList } from './packed-list.ts'

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
  const stores = new Map<string, { items: PackedList<CatalogFileItem>; lines: number[] }>()
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
      const store = stores.get(row.store_id) ?? { items: new PackedList(), lines: [] }
      if (store.items.length === 0) stores.set(row.store_id, store)
      store.items.push(JSON.stringify(row.item))
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
 * Reads a JSON catalog in chunks. Cuts each item out of the text, checks that it is JSON, and keeps
 * its text. Parses the rest at the end. `JSON.parse` of the whole text would take three times the
 * memory.
 */
function createJsonReader(): Reader {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  // One list of items for each array `items` of the file. In `rest`, the number of the list
  // replaces the first item of the array, and `null` replaces each other item.
  const lists: PackedList[] = []
  const scanner = createScanner()
  // The text of the file without its items, as one string for each chunk. A single string that
  // grows with each item would take 100 bytes per item.
  const rest: string[] = []
  let parts: string[] = []
  let open = ''

  let held = ''
  const scan = (added: string) => {
    // The scanner must see a backslash together with the character that it escapes.
    const cutAt = added.length - (/\\+$/.exec(added)?.[0].length ?? 0)
    const text = held + added.slice(0, cutAt)
    held = added.slice(cutAt)
    let from = 0
    scanner.scan(text, (isItem, end) => {
      const part = text.slice(from, end)
      from = end
      if (!isItem) {
        parts.push(part)
        return
      }
      const item = open + part
      open = ''
      const lines = item.split('\n').length - 1
      const { list, isFirst } = scanner.place()
      parts.push(isFirst ? String(list) : 'null', '\n'.repeat(lines)) // keeps the line numbers
      parsePart(item, () => [...rest, ...parts].join(''), lines, scanner.path())
      lists[list] ??= new PackedList()
      lists[list].push(item)
    })
    if (!scanner.isInItem()) parts.push(text.slice(from))
    else open += text.slice(from)
    rest.push(parts.join(''))
    parts = []
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
      if (held !== '') throw invalidFile('The file ends within an escape')
      const all = rest.join('')
      if (scanner.isInItem()) throw invalidFile(`The file ends within ${scanner.path()}`)
      return {
        catalog: withItems(
          parsePart(all, () => all, 0, ''),
          lists,
        ),
      }
    },
  }
}

function withItems(catalog: unknown, lists: readonly PackedList[]): Catalog {
  if (isObject(catalog) && Array.isArray(catalog.stores)) {
    for (const store of catalog.stores as (JsonObject | null)[]) {
      const [list] = Array.isArray(store?.items) ? store.items : []
      if (store && typeof list === 'number') store.items = lists[list]
    }
  }
  return catalog as Catalog
}

/**
 * Parses `text`: the item at `path`, or the catalog without its items if `path` is ''. An error
 * names the line in the file. To find this line, `before` returns the file's text up to the end of
 * the item, where the item is replaced by its `lines` line ends.
 */
function parsePart(text: string, before: () => string, lines: number, path: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    // Takes only the position from V8's message, because the message also quotes the file. Some
    // messages have no position.
    const { message } = error as Error
    const isCut = message.startsWith('Unexpected end')
    const at = isCut ? text.length : /at position (\d+)/.exec(message)?.[1]
    const lineOf = (upTo: string) => upTo.split('\n').length
    const inText = at === undefined ? undefined : lineOf(text.slice(0, Number(at)))
    const line = path === '' ? inText : lineOf(before()) - lines + (inText ?? 1) - 1
    const place = line === undefined ? '' : `, line ${line}`
    throw invalidFile(`${path || 'The file'} is not JSON${place}`, path)
  }
}

function invalidFile(message: string, field = ''): TillError {
  const detail = { code: 'invalid', message: 'is not JSON', ...(field && { field }) }
  return new TillError('invalid_request', message, field ? [detail] : [])
}

// The nesting depths in `{"stores": [{"items": [{}]}]}`.
const [ROOT, STORES, STORE, ITEMS, ITEM] = [1, 2, 3, 4, 5]

/** Finds where the items of a catalog begin and end. */
function createScanner() {
  let depth = 0
  let isInString = false
  /** The latest string in the root object or in a store. It is a key if a `:` follows. */
  let latest = ''
  let rootKey = ''
  let storeKey = ''
  let [store, list, item] = [-1, -1, -1]
  const isInItems = () => depth >= ITEMS && rootKey === 'stores' && storeKey === 'items'
  const path = () => `$.stores[${store}].items[${item}]`

  /** Returns the position of the character that ends a string, or the end of the text. */
  const skipString = (text: string, from: number): number => {
    let at = from
    while (at < text.length && text.charCodeAt(at) !== QUOTE) {
      at += text.charCodeAt(at) === BACKSLASH ? 2 : 1
    }
    if (depth === ROOT || depth === STORE) latest += text.slice(from, at)
    return at
  }

  const open = (isObject: boolean, at: number, cut: Cut) => {
    if (depth === ITEMS && isInItems()) {
      item++
      if (!isObject) throw notAnObject()
      cut(false, at)
    }
    depth++
    if (depth === STORES) store = -1
    else if (depth === STORE) {
      store++
      storeKey = ''
    } else if (depth === ITEMS && isInItems()) {
      list++
      item = -1
    }
  }

  const notAnObject = () => invalidFile(`${path()} must be an object`, path())

  return {
    path,
    /** The index of the current array `items`, and whether the current item is its first. */
    place: () => ({ list, isFirst: item === 0 }),
    isInItem: () => depth >= ITEM && isInItems(),
    /**
     * Scans a part of the text. The part must not end between a backslash and the character that it
     * escapes.
     */
    scan(text: string, cut: Cut): void {
      for (let at = 0; at < text.length; at++) {
        const code = text.charCodeAt(at)
        if (isInString || code === QUOTE) {
          if (!isInString) {
            if (depth === ITEMS && isInItems()) throw notAnObject()
            latest = ''
            at++
          }
          at = skipString(text, at)
          isInString = at >= text.length
        } else if (code === COLON) {
          if (depth === ROOT) rootKey = latest
          else if (depth === STORE) storeKey = latest
        } else if (code === OPEN_BRACE || code === OPEN_BRACKET) {
          open(code === OPEN_BRACE, at, cut)
        } else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) {
          if (depth === ITEM && isInItems()) cut(true, at + 1)
          depth--
        } else if (code > SPACE && code !== COMMA && depth === ITEMS && isInItems()) {
          item++
          throw notAnObject()
        }
      }
    },
  }
}

/** Called where an item begins (`isItem` is false) or ends (true), at position `end`. */
type Cut = (isItem: boolean, end: number) => void

const [SPACE, QUOTE, COMMA, COLON, BACKSLASH] = [0x20, 0x22, 0x2c, 0x3a, 0x5c]
const [OPEN_BRACE, CLOSE_BRACE, OPEN_BRACKET, CLOSE_BRACKET] = [0x7b, 0x7d, 0x5b, 0x5d]
