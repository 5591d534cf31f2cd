import { hasOuterBlank, trimBlanks } from '../domain/blanks.ts'
import { exponentOf, toMinorDigits } from '../domain/currency.ts'
import type { PassedOver } from '../domain/import.ts'
import {
  type Comparison,
  PURCHASE_FIELDS,
  type PurchaseCells,
  type PurchaseField,
} from '../domain/purchase.ts'
import { type ErrorDetail, excerpt } from '../errors.ts'
import { type AppChoice, createAppFilter } from './apps.ts'
import { CANONICAL, type Format } from './format.ts'
import type { ColumnMap, LayoutChoice } from './options.ts'
import { PRESETS, type Preset } from './presets.ts'
import { normalize } from './text.ts'
import { createTimeReader } from './times.ts'
import { checkHeader, checkReport } from './unsupported.ts'
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
  /** For each field that the file has, the name of its column, cut to 64 characters. */
  readonly columns: { readonly [F in PurchaseField]?: string }
  /** The names of the file's columns that are not stored, cut to 64 characters. */
  readonly ignored: readonly string[]
  /** Returns canonical cells, or the reason for leaving the row out. */
  read(cells: readonly string[], wrong: WrongCell): PurchaseCells | PassedOver
  /** Called after the last row. Returns the mistake of the file as a whole. */
  end(): ErrorDetail | undefined
}

export type WrongCell = (field: PurchaseField, code: string, message: string) => void

const REQUIRED = ['transaction_id', 'sku', 'purchased_at'] as const

/** Finds the layout of a file by its header line. Returns the errors of a bad header. */
export function findLayout(
  header: readonly string[],
  options: LayoutOptions,
): Layout | readonly ErrorDetail[] {
  const unsupported = checkHeader(header)
  if (unsupported) return [{ line: 1, code: 'unsupported_file', message: unsupported }]
  const names = header.map(normalize)
  const fitting = PRESETS.find((preset) => hasSignature(names, preset))
  const format = chooseFormat(options, fitting)
  const isPlain = format.name === CANONICAL.name && !options.map
  const refusal = isPlain ? checkReport(header) : undefined
  if (refusal) return [{ line: 1, code: 'unsupported_file', message: refusal }]
  const found = findColumns(names, format)
  const errors = [
    ...repeatedColumns(header, found),
    ...neededColumns(names, format),
    ...(options.layout ? [] : missingColumns(found, names, format, options)),
  ]
  const other = options.map && options.preset === undefined ? fitting?.name : undefined
  if (errors.length > 0) {
    const hint = other ? `; the header fits the preset ${other}` : ''
    return errors.map(({ message, ...error }) => ({ ...error, message: `${message}${hint}` }))
  }
  const layout = createLayout(header, names, found, format, options)
  return other ? { ...layout, fitting_preset: other } : layout
}

/** Returns the format of a file. Prefers a layout file, then a chosen preset, then the header. */
function chooseFormat(
  { layout, preset, map, priceUnit }: LayoutOptions,
  fitting: Preset | undefined,
): Format {
  if (layout) return layout
  const chosen = preset === undefined ? undefined : PRESETS.find(({ name }) => name === preset)
  if (chosen) return map ? withMap(chosen, map) : chosen
  if (fitting && !map) return fitting
  const canonical = priceUnit === 'major' ? { ...CANONICAL, price_unit: priceUnit } : CANONICAL
  return map ? withMap(canonical, map) : canonical
}

/** Replaces the columns of a format. A mapped column is no other field's column by its name. */
function withMap(format: Format, map: ColumnMap): Format {
  const mapped = new Set(Object.values(map).map(normalize))
  const unmapped = Object.entries(format.columns).map(([field, columns]) => {
    const isOwn = (column: string) => !format.isUnambiguous || !mapped.has(normalize(column))
    return [field, [columns].flat().filter(isOwn)]
  })
  return {
    ...format,
    columns: { ...Object.fromEntries(unmapped), ...map },
    needed: Object.entries(map).map(([field, column]) => [
      column,
      `is missing: the map gives it for ${field}`,
    ]),
  }
}

function hasSignature(names: readonly string[], { signature }: Preset): boolean {
  return signature.every((columns) => hasOne(names, columns))
}

function hasOne(names: readonly string[], columns: string | readonly string[]): boolean {
  return [columns].flat().some((column) => names.includes(normalize(column)))
}

/** The indexes of each field's columns. A field with more than one column is an error. */
type Found = { readonly [F in PurchaseField]?: readonly number[] }

function findColumns(names: readonly string[], { columns, isUnambiguous }: Format): Found {
  const entries = Object.entries(columns).map(([field, possible]) => {
    const wanted = [possible].flat().map(normalize)
    const first = wanted.filter((column) => names.includes(column)).slice(0, 1)
    const searched = isUnambiguous ? wanted : first
    return [field, names.flatMap((name, at) => (searched.includes(name) ? [at] : []))] as const
  })
  return Object.fromEntries(entries.filter(([, positions]) => positions.length > 0))
}

function repeatedColumns(header: readonly string[], found: Found): ErrorDetail[] {
  return Object.entries(found).flatMap(([field, [first = 0, second]]) => {
    if (second === undefined) return []
    const other = excerpt(header[first] ?? '')
    const message = `is read as ${field}, and so is the column ${other}: keep one of them`
    const column = excerpt(header[second] ?? '')
    return [{ line: 1, column, code: 'duplicate_column', message }]
  })
}

function neededColumns(names: readonly string[], { needed = [] }: Format): ErrorDetail[] {
  const absent = needed.filter(([column]) => !names.includes(normalize(column)))
  return absent.map(([column, message]) => missingColumn(column, message))
}

/**
 * Returns the errors for missing required columns. They name the columns of the chosen preset, or
 * else of the most similar preset.
 */
function missingColumns(
  found: Found,
  names: readonly string[],
  format: Format,
  { refundsOnly, map = {} }: LayoutOptions,
): ErrorDetail[] {
  const required = refundsOnly ? (['transaction_id', 'status'] as const) : REQUIRED
  const missing = required.filter((field) => !found[field] && map[field] === undefined)
  if (missing.length === 0) return []
  const preset = PRESETS.find(({ name }) => name === format.name)
  const near = preset ?? nearestPreset(names)
  const ofNear = near
    ? [...near.signature, ...REQUIRED.map((field) => near.columns[field] ?? [])]
    : []
  const absent = ofNear.filter((columns) => !hasOne(names, columns)).map((each) => [each].flat()[0])
  const message = preset
    ? `is missing: the preset ${preset.name} needs it`
    : `is missing: the file is most similar to the preset ${near?.name}`
  if (absent.length > 0) {
    return [...new Set(absent)].map((column = '') => missingColumn(column, message))
  }
  return missing.map((field) => {
    const wanted = [format.columns[field] ?? []].flat().join(' or ')
    return missingColumn(field, `is missing: the header needs one column named ${wanted}`)
  })
}

function missingColumn(column: string, message: string): ErrorDetail {
  return { line: 1, column: excerpt(column), code: 'missing_column', message }
}

/**
 * Finds the preset that has the largest share of its `signature` columns in the header. Returns
 * undefined if the share is half or less.
 */
function nearestPreset(names: readonly string[]): Preset | undefined {
  const share = ({ signature }: Preset) =>
    signature.filter((columns) => hasOne(names, columns)).length / signature.length
  const [best] = [...PRESETS].sort((a, b) => share(b) - share(a))
  return best && share(best) > 0.5 ? best : undefined
}

function createLayout(
  header: readonly string[],
  names: readonly string[],
  found: Found,
  format: Format,
  options: LayoutOptions,
): Layout {
  const { skus } = options
  const positionOf = (field: PurchaseField) => found[field]?.[0] ?? -1
  const positions = PURCHASE_FIELDS.map(positionOf)
  const stored = new Set(positions)
  const mark = format.isUnambiguous ? names.indexOf(EXPORT_COLUMN) : -1
  const skips = Object.entries(format.skip ?? {}).map(
    ([column, words]) =>
      [names.indexOf(normalize(column)), new Map(Object.entries(words))] as const,
  )
  const appColumn = format.app?.map(normalize).find((name) => names.includes(name))
  const appAt = appColumn === undefined ? -1 : names.indexOf(appColumn)
  const apps = createAppFilter(options.app)
  const used = new Set((format.uses ?? []).map(normalize))
  const isIgnored = (name: string, at: number) =>
    name.trim() !== '' &&
    !stored.has(at) &&
    !used.has(names[at] ?? '') &&
    at !== mark &&
    at !== appAt
  const named = PURCHASE_FIELDS.filter((field) => positionOf(field) >= 0)
  const mapped = Object.keys(options.map ?? {}) as PurchaseField[]
  const derive = format.derive?.(options)
  const readStatus = format.statuses && createStatusReader(format.statuses)
  const readTime = format.times && createTimeReader(format.times)
  const places = new Map<string, number>()
  const placeOf = (column: string): number => {
    const at = places.get(column) ?? names.indexOf(normalize(column))
    places.set(column, at)
    return at
  }

  const findSkip = (cells: readonly string[]): PassedOver | undefined => {
    for (const [at, words] of skips) {
      const cell = cells[at] ?? ''
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
      const derived = derive((column) => cells[placeOf(column)] ?? '')
      if ('reason' in derived) return derived
      Object.assign(canonical, derived)
      for (const field of mapped) canonical[field] = cells[positionOf(field)] ?? ''
    }
    const app = cells[appAt] ?? ''
    const passedOver = (appAt >= 0 ? apps.check(app) : undefined) ?? findSkip(cells)
    if (passedOver) return passedOver
    if (readStatus) canonical.status = readStatus(canonical.status, wrong)
    if (options.refundsOnly) return canonical
    if (canonical.sku === '' && format.skuless?.some((status) => status === canonical.status)) {
      if (!skus?.has(app)) return NO_SKU
      canonical.sku = app
    }
    const item = skus?.get(canonical.sku)?.item
    if (item === '') return LEFT_OUT
    if (item !== undefined) canonical.sku = item
    for (const field of TIMES) {
      if (!readTime || canonical[field] === '') continue
      canonical[field] = readTime(canonical[field], (message) => wrong(field, 'invalid', message))
    }
    if (canonical.price !== '') {
      canonical.currency ||= format.currency ?? ''
      canonical.price = readPrice(canonical, format, options.currency, wrong)
    }
    return canonical
  }

  return {
    name: format.name,
    comparison: format.comparison,
    columns: Object.fromEntries(
      named.map((field) => [field, excerpt(header[positionOf(field)] ?? '')]),
    ),
    ignored: header.filter(isIgnored).map((name) => excerpt(name)),
    read,
    end: apps.end,
  }
}

const TIMES = ['purchased_at', 'expires_at'] as const

/**
 * No text of `skip` is longer: 255 characters, in lower case. Converting long cells, up to 32 times
 * a row, would take most of the time of a hostile file.
 */
const MAX_SKIPPED = 510

const NO_SKU: PassedOver = { reason: 'no_sku' }
const LEFT_OUT: PassedOver = { reason: 'left_out' }

/** Returns the same array if no cell has a blank at an end. */
function trimCells(cells: readonly string[]): readonly string[] {
  return cells.some(hasOuterBlank) ? cells.map(trimBlanks) : cells
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] }

function pickCells(cells: readonly string[], positions: readonly number[]): Mutable<PurchaseCells> {
  const cell = (field: number) => cells[positions[field] ?? -1] ?? ''
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

const NEGATIVE = 'is negative: give its status, or skip it'

/**
 * Converts a price to digits in minor units. Drops the sign of a refunded or cancelled row: files
 * write the amount of a refund as negative.
 */
function readPrice(
  { price, currency: own, status }: PurchaseCells,
  { price_unit, decimal }: Format,
  fallback: string | undefined,
  wrong: WrongCell,
): string {
  const isNegative = price.startsWith('-')
  if (isNegative && status !== 'refunded' && status !== 'cancelled') {
    wrong('price', 'negative', NEGATIVE)
    return ''
  }
  const amount = isNegative ? price.slice(1) : price
  const isMajor = price_unit === 'major'
  if (!isMajor && decimal === undefined) return amount
  const currency = own || fallback
  const isClear = decimal !== undefined || !amount.includes(',') || amount.includes('.')
  const exponent = isMajor ? exponentOf(currency ?? '') : 0
  const digits = isClear ? toMinorDigits(amount, exponent, decimal) : undefined
  if (digits !== undefined) return digits
  const unit = currency !== undefined && /^[A-Z]{3}$/.test(currency) ? currency : 'its currency'
  const mark = decimal ?? '.'
  const example = `1234${mark}50`
  const point = amount.includes(',') && mark === '.' ? '; the decimal mark must be a point' : ''
  const expected = isMajor
    ? `must be a decimal amount that ${unit} can have, like ${example}${point}`
    : 'must be a whole amount in minor units, like 499 for 4.99'
  wrong('price', 'invalid', expected)
  return ''
}
