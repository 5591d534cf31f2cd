import { toMinorDigits } from '../domain/currency.ts'
import {
  PURCHASE_FIELDS,
  type PurchaseCells,
  type PurchaseField,
  type PurchaseStatus,
} from '../domain/purchase.ts'
import { type ErrorDetail, excerpt } from '../errors.ts'
import { type ColumnMap, type LayoutChoice, normalize } from './options.ts'
import { PRESETS, type Preset } from './presets.ts'
import { checkHeader } from './unsupported.ts'
import { EXPORT_COLUMN, EXPORT_MARK, unguard } from './write.ts'

export interface LayoutOptions extends LayoutChoice {
  /**
   * Whether the store is a sandbox. Some vendors mark each row as sandbox or live. Rows that do not
   * match the store are left out of the import.
   */
  readonly is_sandbox: boolean
  /** The store's currency. It applies to amounts without a currency in the file. */
  readonly currency?: string | undefined
}

/** Converts the rows of a file to the canonical format, which has tillkit's own columns. */
export interface Layout {
  /** The name of the layout: `canonical`, or the name of the preset. */
  readonly name: string
  /** For each field that the file has, the name of its column, cut to 64 characters. */
  readonly columns: { readonly [F in PurchaseField]?: string }
  /** The names of the file's columns that are not stored, cut to 64 characters. */
  readonly ignored: readonly string[]
  /** Returns canonical cells; undefined for a row to leave out: see `LayoutOptions.is_sandbox`. */
  read(cells: readonly string[], wrong: WrongCell): PurchaseCells | undefined
}

export type WrongCell = (field: PurchaseField, code: string, message: string) => void

/** Other accepted names for the columns of the canonical format. */
const ALIASES: { readonly [alias: string]: PurchaseField } = {
  purchase_id: 'transaction_id',
  order_id: 'transaction_id',
  item: 'sku',
  item_name: 'sku',
  product_id: 'sku',
  date: 'purchased_at',
  created_at: 'purchased_at',
}

const REQUIRED = ['transaction_id', 'sku', 'purchased_at'] as const

/** Finds the layout of a file by its header line. Returns the errors of a bad header. */
export function findLayout(
  header: readonly string[],
  options: LayoutOptions,
): Layout | readonly ErrorDetail[] {
  const unsupported = checkHeader(header, options)
  if (unsupported) return [{ line: 1, code: 'unsupported_file', message: unsupported }]
  const names = header.map(normalize)
  const preset = findPreset(names, options)
  const found = preset ? presetColumns(names, preset) : canonicalColumns(names, options.map ?? {})
  const errors = [
    ...repeatedColumns(header, found),
    ...unmatchedMap(names, options.map ?? {}),
    ...missingColumns(found, names, preset),
  ]
  if (errors.length > 0) return errors
  return createLayout(header, names, found, preset, options)
}

function hasSignature(names: readonly string[], preset: Preset): boolean {
  return preset.signature.every((column) => names.includes(normalize(column)))
}

function findPreset(names: readonly string[], options: LayoutOptions): Preset | undefined {
  if (options.map) return undefined
  if (options.preset !== undefined) return PRESETS.find(({ name }) => name === options.preset)
  return PRESETS.find((preset) => hasSignature(names, preset))
}

/** The indexes of each field's columns. A field with more than one column is an error. */
type Found = { readonly [F in PurchaseField]?: readonly number[] }

function canonicalColumns(names: readonly string[], map: ColumnMap): Found {
  const mapped = Object.entries(map).map(([field, column]) => [normalize(column), field] as const)
  const found: { [F in PurchaseField]?: number[] } = {}
  for (const [position, name] of names.entries()) {
    const byMap = mapped.find(([column]) => column === name)?.[1] as PurchaseField | undefined
    const byName = PURCHASE_FIELDS.find((field) => field === name) ?? aliasOf(name)
    const field = byMap ?? (byName !== undefined && map[byName] === undefined ? byName : undefined)
    if (!field) continue
    found[field] ??= []
    found[field].push(position)
  }
  return found
}

function aliasOf(name: string): PurchaseField | undefined {
  return Object.hasOwn(ALIASES, name) ? ALIASES[name] : undefined
}

function presetColumns(names: readonly string[], preset: Preset): Found {
  const entries = Object.entries(preset.columns).map(([field, columns]) => {
    const wanted = [columns].flat().map(normalize)
    const name = wanted.find((column) => names.includes(column))
    return [field, names.flatMap((each, position) => (each === name ? [position] : []))] as const
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

function unmatchedMap(names: readonly string[], map: ColumnMap): ErrorDetail[] {
  const absent = Object.entries(map).filter(([, column]) => !names.includes(normalize(column)))
  return absent.map(([field, column]) =>
    missingColumn(column, `is missing: the map gives it for ${field}`),
  )
}

/**
 * Returns the errors for missing required columns. They name the columns of the chosen preset, or
 * else of the most similar preset.
 */
function missingColumns(found: Found, names: readonly string[], preset?: Preset): ErrorDetail[] {
  const missing = REQUIRED.filter((field) => found[field] === undefined)
  if (missing.length === 0) return []
  const near = preset ?? nearestPreset(names)
  if (!near) {
    return missing.map((field) => {
      const aliases = Object.keys(ALIASES).filter((alias) => ALIASES[alias] === field)
      const wanted = [field, ...aliases].join(' or ')
      return missingColumn(field, `is missing: the header needs one column named ${wanted}`)
    })
  }
  const wanted = [...near.signature, ...REQUIRED.flatMap((field) => near.columns[field] ?? [])]
  const absent = new Set(wanted.filter((column) => !names.includes(normalize(column))))
  const message = preset
    ? `is missing: the preset ${preset.name} needs it`
    : `is missing: the file is most similar to the preset ${near.name}`
  return [...absent].map((column) => missingColumn(column, message))
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
    signature.filter((column) => names.includes(normalize(column))).length / signature.length
  const [best] = [...PRESETS].sort((a, b) => share(b) - share(a))
  return best && share(best) > 0.5 ? best : undefined
}

function createLayout(
  header: readonly string[],
  names: readonly string[],
  found: Found,
  preset: Preset | undefined,
  options: LayoutOptions,
): Layout {
  const positionOf = (field: PurchaseField) => found[field]?.[0] ?? -1
  const positions = PURCHASE_FIELDS.map(positionOf)
  const stored = new Set(positions)
  const mark = preset ? -1 : names.indexOf(EXPORT_COLUMN)
  const used = (preset?.uses ?? []).map(normalize)
  const isIgnored = (name: string, at: number) =>
    names[at] !== '' && !stored.has(at) && !used.includes(normalize(name)) && at !== mark
  const named = PURCHASE_FIELDS.filter((field) => positionOf(field) >= 0)
  const price_unit = preset?.price_unit ?? options.priceUnit ?? 'minor'
  const derive = preset?.derive?.()
  const place = memoize((column: string) => names.indexOf(normalize(column)))

  const read: Layout['read'] = (cells, wrong) => {
    const canonical = pickCells(cells, positions)
    if (mark >= 0 && cells[mark] === EXPORT_MARK) unguardCells(canonical)
    if (derive) {
      const derived = derive((column) => cells[place(column)] ?? '', options)
      if (derived === 'passed over') return undefined
      Object.assign(canonical, derived)
    }
    if (preset?.statuses) canonical.status = readStatus(canonical.status, preset.statuses, wrong)
    if (price_unit === 'major') {
      const currency = canonical.currency || options.currency
      canonical.price = readMajorPrice(canonical.price, currency, wrong, preset !== undefined)
    }
    return canonical
  }

  return {
    name: preset?.name ?? 'canonical',
    columns: Object.fromEntries(
      named.map((field) => [field, excerpt(header[positionOf(field)] ?? '')]),
    ),
    ignored: header.filter(isIgnored).map((name) => excerpt(name)),
    read,
  }
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
  }
}

function unguardCells(cells: Mutable<PurchaseCells>): void {
  cells.transaction_id = unguard(cells.transaction_id)
  cells.user_id = unguard(cells.user_id)
}

function readStatus(
  word: string,
  statuses: { readonly [word: string]: PurchaseStatus },
  wrong: WrongCell,
): string {
  const key = word.toLowerCase()
  if (Object.hasOwn(statuses, key)) return statuses[key] as string
  wrong('status', 'invalid', `must be one of ${Object.keys(statuses).join(', ')}`)
  return ''
}

// In a vendor's file a comma separates thousands. In any other file `1,500` may mean 1.5, so it is
// an error.
function readMajorPrice(
  price: string,
  currency: string | undefined,
  wrong: WrongCell,
  isPreset: boolean,
): string {
  const isClear = isPreset || !price.includes(',') || price.includes('.')
  const digits = price === '' ? '' : toMinorDigits(price, currency ?? '')
  if (digits !== undefined && isClear) return digits
  const unit = currency !== undefined && /^[A-Z]{3}$/.test(currency) ? currency : 'its currency'
  const point = price.includes(',') ? '; the decimal mark must be a point' : ''
  wrong('price', 'invalid', `must be a decimal amount that ${unit} can have, like 1234.50${point}`)
  return ''
}

function memoize<T>(find: (key: string) => T): (key: string) => T {
  const known = new Map<string, T>()
  return (key) => {
    const found = known.get(key)
    if (found !== undefined) return found
    known.set(key, find(key))
    return find(key)
  }
}
