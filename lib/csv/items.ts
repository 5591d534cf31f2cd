import type { CatalogFileItem } from '../domain/catalog.ts'
import { exponentOf } from '../domain/currency.ts'
import { ITEM_NAMES } from '../domain/item.ts'
import { parseJson } from '../domain/json.ts'
import { type ErrorDetail, excerpt } from '../errors.ts'
import { copyText, normalize } from './text.ts'

export interface ItemColumnsOptions {
  /** The id of the store that gets the rows without a `store_id`. */
  readonly store_id?: string | undefined
  /** The store's currency. Google Play's file has prices without a currency. */
  readonly currency?: string | undefined
  /** The country whose Google Play price is read; default: the first country in each cell. */
  readonly country?: string | undefined
}

export interface ItemRow {
  readonly store_id: string
  readonly item: CatalogFileItem
}

/** Converts the rows of a spreadsheet, or of Google Play's file, to items of a catalog. */
export interface ItemColumns {
  /** The names of the file's columns that are not imported, cut to 64 characters. */
  readonly ignored: readonly string[]
  /**
   * Converts a row to an item. Returns undefined for an unpublished product, and for a row without
   * a store.
   */
  read(cells: readonly string[], wrong: WrongItemCell): ItemRow | undefined
}

/** Reports a bad cell. */
type WrongItemCell = (column: string, message: string) => void

/**
 * Converts the text of each cell. What it cannot convert stays text, which the parse function of the
 * item rejects.
 */
const CELLS: { readonly [field: string]: (text: string) => unknown } = {
  ...Object.fromEntries(ITEM_NAMES.map((name) => [name, String])),
  metadata: (text) => parseJson(text) ?? text,
  archived: (text) => FLAGS[text.toLowerCase()] ?? text.toLowerCase(),
}

const COLUMNS = [...Object.keys(CELLS), 'store_id']

const ALIASES: { readonly [alias: string]: string } = { sku: 'name', meta: 'metadata' }

const PLAY = ['product id', 'published state', 'locale; title; description', 'price'].map(normalize)

/** Finds the columns of a file by its header line. Returns mistakes if the header is bad. */
export function findItemColumns(
  header: readonly string[],
  options: ItemColumnsOptions,
): ItemColumns | readonly ErrorDetail[] {
  const names = header.map(normalize)
  if (PLAY.every((name) => names.includes(name))) return playColumns(header, names, options)
  const fields = names.map((name) => ALIASES[name] ?? name)
  const known = COLUMNS.map(normalize)
  const problems = known.flatMap((name, i) => {
    const count = fields.filter((field) => field === name).length
    if (count > 1) return headerProblem('repeated', `has two columns for ${COLUMNS[i]}`)
    if (count === 0 && i === 0) return headerProblem('required', 'has no column name or sku')
    return []
  })
  if (problems.length > 0) return problems
  const positions = known.map((name) => fields.indexOf(name))
  return {
    ignored: header.filter((_, i) => !known.includes(fields[i] ?? '')).map((each) => excerpt(each)),
    read(cells, wrong) {
      const cell = (column: string) => {
        const text = cells[positions[COLUMNS.indexOf(column)] ?? -1]?.trim()
        return text ? copyText(text) : undefined
      }
      const item: { [field: string]: unknown } = { name: '' }
      for (const [field, convert] of Object.entries(CELLS)) {
        const text = cell(field)
        if (text !== undefined) item[field] = convert(text)
      }
      const store_id = cell('store_id') ?? options.store_id
      return inStore(store_id, item as unknown as CatalogFileItem, wrong)
    },
  }
}

function headerProblem(code: string, message: string): ErrorDetail[] {
  return [{ line: 1, code, message: `The header ${message}` }]
}

const FLAGS: { readonly [text: string]: boolean } = { true: true, false: false }

function inStore(
  store_id: string | undefined,
  item: CatalogFileItem,
  wrong: WrongItemCell,
): ItemRow | undefined {
  if (store_id !== undefined) return { store_id, item }
  wrong('store_id', 'is required: give the store of the file')
  return undefined
}

/**
 * Google Play's export of in-app products. A cell may hold several values, which are separated by
 * `;` and escaped by `\`. Prices are in micros: 1,000,000 for 1.00. A price cell has one price, or
 * a country and a price in turn: `US; 990000; DE; 890000`.
 */
function playColumns(
  header: readonly string[],
  names: readonly string[],
  { store_id, currency, country }: ItemColumnsOptions,
): ItemColumns {
  const [id = -1, state = -1, texts = -1, price = -1] = PLAY.map((name) => names.indexOf(name))
  return {
    ignored: header
      .filter((_, i) => ![id, state, texts, price].includes(i))
      .map((each) => excerpt(each)),
    read(cells, wrong) {
      if (cells[state]?.trim().toLowerCase() === 'unpublished') return undefined
      const [, title, description] = splitPlay(cells[texts] ?? '')
      const item: CatalogFileItem = {
        name: copyText(cells[id]?.trim() ?? ''),
        display_name: title && copyText(title),
        description: description && copyText(description),
        price: playPrice(cells[price] ?? '', currency, country, wrong),
      }
      return inStore(store_id, item, wrong)
    },
  }
}

function splitPlay(cell: string): string[] {
  const parts = cell.match(/(?:\\.|[^;\\])+|(?<=;|^)(?=;|$)/gs) ?? []
  return parts.map((part) => part.replace(/\\(.)/gs, '$1').trim())
}

/** Returns the digits of a price in minor units. Reports an unreadable price. */
function playPrice(
  cell: string,
  currency: string | undefined,
  country: string | undefined,
  wrong: WrongItemCell,
): string {
  const parts = splitPlay(cell).filter((part) => part !== '')
  const report = (message: string) => {
    wrong('Price', message)
    return '0'
  }
  if (parts.length === 0) return report('is empty: a pricing template is not in the file')
  const at = country === undefined ? 0 : parts.indexOf(country)
  if (parts.length > 1 && at < 0) return report(`has no price for ${country}`)
  const micros = parts.length === 1 ? parts[0] : parts[at + 1]
  if (currency === undefined) return report("needs the store's currency in its store_config")
  if (!/^\d{1,18}$/.test(micros ?? ''))
    return report('must be micros, digits only: 4990000 for 4.99')
  const unit = 10n ** BigInt(6 - exponentOf(currency))
  const amount = BigInt(micros ?? '')
  if (amount % unit !== 0n) return report(`has more decimals than ${currency}`)
  return String(amount / unit)
}
