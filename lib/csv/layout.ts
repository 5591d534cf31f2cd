import { hasOuterBlank, trimBlanks } from '../domain/blanks.ts'
import type { PassedOver } from '../domain/import.ts'
import {
  PURCHASE_FIELDS,
  type PurchaseCells,
  type PurchaseField,
  type PurchaseStatus,
} from '../domain/purchase.ts'
import type { Comparison } from '../domain/repeat.ts'
import { type ErrorDetail, excerpt } from '../errors.ts'
import { createPriceReader, isNegative, isRefund, readQuantity } from './amounts.ts'
import { type AppChoice, createAppFilter } from './apps.ts'
import type { ColumnNames, Found } from './columns.ts'
import type { Format } from './format.ts'
import { createNumbering, MAX_NUMBERED } from './numbering.ts'
import type { LayoutChoice } from './options.ts'
import { copyText } from './text.ts'
import { createTimeReader } from './times.ts'
import { EXPORT_COLUMN, EXPORT_MARK, unguard } from './write.ts'

export interface LayoutOptions extends LayoutChoice {
  /**
   * Whether the store is a sandbox. Some vendors mark each row as sandbox or live. Rows that do not
   * match the store are left out of the import.
   */
  readonly is_sandbox: boolean
  /** The store's currency. It applies to amounts without a currency in the file. */
  readonly currency?: string | undefined
  /** The app of the store. */
  readonly app?: AppChoice | undefined
}

/** Converts the rows of a file to the canonical format, which has tillkit's own columns. */
export interface Layout {
  /** The name of the format: `canonical`, `layout`, or the name of the preset. */
  readonly name: string
  /** The preset of this header, if the file is read by a map instead. */
  readonly fitting_preset?: string
  readonly comparison: Comparison | undefined
  /** Whether the file has all sales of a period: see `Format`. */
  readonly setsPeriod: boolean
  /** For each field that the file has, the name of its column, cut to 64 characters. */
  readonly columns: { readonly [F in PurchaseField]?: string }
  /** The names of the file's columns that are not stored, cut to 64 characters. */
  readonly ignored: readonly string[]
  /** The name of a product in the file, cut to 255 characters. Known for the first 1,000 SKUs. */
  titleOf(sku: string): string | undefined
  /** Returns canonical cells, or why the row is left out. */
  read(cells: readonly string[], wrong: WrongCell): PurchaseCells | LeftOut
  /** Called after the last row. Returns the mistake of the file as a whole. */
  end(): ErrorDetail | undefined
}

/** A row that is left out. It still tells that the vendor knows its transaction. */
export interface LeftOut {
  readonly passedOver: PassedOver
  readonly transaction_id: string
}

type WrongCell = (field: PurchaseField, code: string, message: string) => void

/** Creates the layout that reads the rows of a file. `found` has the columns of its header. */
export function createLayout(
  header: readonly string[],
  { names, find }: ColumnNames,
  found: Found,
  format: Format,
  options: LayoutOptions,
): Layout {
  const { skus } = options
  const positionOf = (field: PurchaseField) => found[field]?.[0] ?? -1
  const positions = PURCHASE_FIELDS.map(positionOf)
  const stored = new Set(positions)
  const mark = format.isUnambiguous ? names.indexOf(EXPORT_COLUMN) : -1
  const indexOf = (column: string) => find(column)[0] ?? -1
  const skips = Object.entries(format.skip ?? {}).map(
    ([column, words]) => [indexOf(column), new Map(Object.entries(words))] as const,
  )
  const appAt = format.app?.map(indexOf).find((at) => at >= 0) ?? -1
  const apps = createAppFilter(options.app)
  const used = new Set((format.uses ?? []).map(indexOf))
  const isIgnored = (name: string, at: number) =>
    name.trim() !== '' && !stored.has(at) && !used.has(at) && at !== mark && at !== appAt
  const named = PURCHASE_FIELDS.filter((field) => positionOf(field) >= 0)
  const mapped = Object.keys(options.map ?? {}) as PurchaseField[]
  const derive = format.derive?.(options)
  const readStatus = format.statuses ? createStatusReader(format.statuses) : readOwnStatus
  const readTime = format.times && createTimeReader(format.times)
  const readPrice = createPriceReader(format, options.currency)
  const titleAt = TITLES.map(indexOf).find((at) => at >= 0 && !stored.has(at))
  const titles = new Map<string, string>()
  const number = format.number_repeats ? createNumbering() : undefined
  const places = new Map<string, number>()
  const placeOf = (column: string): number => {
    const at = places.get(column) ?? indexOf(column)
    places.set(column, at)
    return at
  }

  const findSkip = (cells: readonly string[]): PassedOver | undefined => {
    for (const [at, words] of skips) {
      const cell = cellAt(cells, at)
      const reason = cell.length > MAX_SKIPPED ? undefined : words.get(cell.toLowerCase())
      if (reason) return reason
    }
    return undefined
  }

  const read: Layout['read'] = (written, wrong) => {
    const isExported = mark >= 0 && written[mark] === EXPORT_MARK
    const cells = isExported ? written : trimCells(written)
    const canonical = pickCells(cells, positions)
    if (isExported) unguardCells(canonical)
    if (derive) {
      const { passedOver, ...derived } = derive((column) => cellAt(cells, placeOf(column)))
      Object.assign(canonical, derived)
      for (const field of mapped) canonical[field] = cellAt(cells, positionOf(field))
      if (passedOver) return leftOut(passedOver, canonical)
    }
    const app = cellAt(cells, appAt)
    const passedOver = (appAt >= 0 ? apps.check(app) : undefined) ?? findSkip(cells)
    if (passedOver) return leftOut(passedOver, canonical)
    canonical.status = readStatus(canonical.status, wrong)
    const isBelowZero =
      format.negative && (isNegative(canonical.price) || isNegative(canonical.quantity))
    if (isBelowZero && !isRefund(canonical)) {
      if (format.negative === 'skip') return leftOut(BELOW_ZERO, canonical)
      canonical.status = format.negative
    }
    if (number && canonical.transaction_id !== '') {
      const numbered = number(canonical.transaction_id, canonical.status)
      if (numbered === undefined) wrong('transaction_id', 'too_many', TOO_MANY_NUMBERED)
      canonical.transaction_id = numbered ?? ''
    }
    if (options.refundsOnly) return canonical
    if (canonical.sku === '' && format.skuless?.some((status) => status === canonical.status)) {
      if (!skus?.has(app)) return leftOut(NO_SKU, canonical)
      canonical.sku = app
    }
    const item = skus?.get(canonical.sku)?.item
    if (item === '') return leftOut(LEFT_OUT, canonical)
    if (item !== undefined) canonical.sku = item
    else if (titleAt !== undefined && titles.size < MAX_TITLES && !titles.has(canonical.sku))
      titles.set(copyText(canonical.sku), copyText(excerpt(cellAt(cells, titleAt), MAX_TITLE)))
    for (const field of TIMES) {
      if (!readTime || canonical[field] === '') continue
      canonical[field] = readTime(canonical[field], (message) => wrong(field, 'invalid', message))
    }
    if (canonical.quantity !== '') canonical.quantity = readQuantity(canonical, wrong)
    if (canonical.currency !== '') canonical.currency = readCurrency(canonical.currency)
    if (canonical.price !== '') {
      canonical.currency ||= format.currency ?? ''
      canonical.price = readPrice(canonical, wrong)
    }
    return canonical
  }

  return {
    name: format.name,
    comparison: format.comparison,
    setsPeriod: format.setsPeriod ?? false,
    columns: Object.fromEntries(
      named.map((field) => [field, excerpt(header[positionOf(field)] ?? '')]),
    ),
    ignored: header.filter(isIgnored).map((name) => excerpt(name)),
    titleOf: (sku) => titles.get(sku),
    read,
    end: apps.end,
  }
}

/** Columns that name the product, in the files of all vendors. */
const TITLES = [
  'Product Title',
  'Lineitem name',
  'Product name',
  'Item name',
  'Title',
  'Description',
]
const MAX_TITLES = 1_000
/** The longest name of an item. */
const MAX_TITLE = 255

const TIMES = ['purchased_at', 'expires_at'] as const

/**
 * No text of `skip` is longer: 255 characters, in lower case. Converting long cells, up to 32 times
 * a row, would take most of the time of a hostile file.
 */
const MAX_SKIPPED = 510

const CODE = /^[a-z]{3}$/i
const BELOW_ZERO: PassedOver = { reason: 'negative' }
const TOO_MANY_NUMBERED = `is one of more than ${MAX_NUMBERED} ids to number: import the file in parts`
const NO_SKU: PassedOver = { reason: 'no_sku' }
const LEFT_OUT: PassedOver = { reason: 'left_out' }

function leftOut(passedOver: PassedOver, { transaction_id }: PurchaseCells): LeftOut {
  return { passedOver, transaction_id }
}

/** Returns the same array if no cell has a blank at an end. */
function trimCells(cells: readonly string[]): readonly string[] {
  for (const cell of cells) if (hasOuterBlank(cell)) return cells.map(trimBlanks)
  return cells
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] }

// V8 looks up an index below 0 as a name: two of these took a fifth of the time to parse a row.
function cellAt(cells: readonly string[], at = -1): string {
  return at < 0 ? '' : (cells[at] ?? '')
}

function pickCells(cells: readonly string[], positions: readonly number[]): Mutable<PurchaseCells> {
  const cell = (field: number) => cellAt(cells, positions[field])
  return {
    transaction_id: cell(0),
    sku: cell(1),
    purchased_at: cell(2),
    user_id: cell(3),
    quantity: cell(4),
    price: cell(5),
    currency: cell(6),
    status: cell(7),
    metadata: cell(8),
    expires_at: cell(9),
  }
}

function unguardCells(cells: Mutable<PurchaseCells>): void {
  cells.transaction_id = unguard(cells.transaction_id)
  cells.user_id = unguard(cells.user_id)
}

/** Reads a currency in any case. Other texts than three letters are an error later. */
function readCurrency(text: string): string {
  const isUpper = text.charCodeAt(0) < 97 && text.charCodeAt(1) < 97 && text.charCodeAt(2) < 97
  return !isUpper && CODE.test(text) ? text.toUpperCase() : text
}

/** Other programs' words for tillkit's own statuses. */
const SYNONYMS = new Map<string, PurchaseStatus>([
  ...['completed', 'complete', 'paid', 'success', 'succeeded'].map(
    (word): [string, PurchaseStatus] => [word, 'purchased'],
  ),
  ['canceled', 'cancelled'],
])

/** Returns an unknown word unchanged: it is an error later. */
function readOwnStatus(word: string): string {
  return word === '' || word === 'purchased' ? word : (SYNONYMS.get(word) ?? word)
}

const NAMED_WORDS = 12

/** Without a status column, the status is '', which is `purchased` by default. */
function createStatusReader(statuses: NonNullable<Format['statuses']>) {
  const known = new Map<string, string>(Object.entries(statuses))
  const words = [...known.keys()]
  const others = words.length > NAMED_WORDS ? ', …' : ''
  const named = words.slice(0, NAMED_WORDS).map((word) => excerpt(word, 32))
  const message = `must be one of ${named.join(', ')}${others}`
  return (word: string, wrong: WrongCell): string => {
    const status = known.get(word.toLowerCase())
    if (status !== undefined) return status
    wrong('status', 'invalid', message)
    return ''
  }
}
