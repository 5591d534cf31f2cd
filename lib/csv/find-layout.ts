import type { PurchaseField } from '../domain/purchase.ts'
import { type ErrorDetail, excerpt } from '../errors.ts'
import { type ColumnNames, createColumnNames, type Found, findColumns } from './columns.ts'
import { CANONICAL, type Format } from './format.ts'
import { createLayout, type Layout, type LayoutOptions } from './layout.ts'
import type { ColumnMap } from './options.ts'
import { PRESETS, type Preset } from './presets.ts'
import { checkHeader, checkReport } from './unsupported.ts'

/** Finds the layout of a file by its header line. Returns the errors of a bad header. */
export function findLayout(
  header: readonly string[],
  options: LayoutOptions,
): Layout | readonly ErrorDetail[] {
  const unsupported = checkHeader(header)
  if (unsupported) return [{ line: 1, code: 'unsupported_file', message: unsupported }]
  const names = createColumnNames(header)
  const fitting = PRESETS.find((preset) => hasSignature(names, preset))
  const format = chooseFormat(options, fitting)
  const isPlain = format.name === CANONICAL.name && !options.map
  const refusal = isPlain ? checkReport(header) : undefined
  if (refusal) return [{ line: 1, code: 'unsupported_file', message: refusal }]
  const mapped = Object.keys(options.map ?? {}) as PurchaseField[]
  const found = findColumns(names, format, mapped)
  const errors = [
    ...repeatedColumns(header, found),
    ...neededColumns(names, format),
    ...(options.layout ? repeatedNeeded(header, names, format, found) : []),
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

/** Replaces the columns of a format. */
function withMap(format: Format, map: ColumnMap): Format {
  return {
    ...format,
    columns: { ...format.columns, ...map },
    needed: Object.entries(map).map(([field, column]) => [
      column,
      `is missing: the map gives it for ${field}`,
    ]),
  }
}

function hasSignature(names: ColumnNames, { signature }: Preset): boolean {
  return signature.every((columns) => hasOne(names, columns))
}

function hasOne({ findExact }: ColumnNames, columns: string | readonly string[]): boolean {
  return [columns].flat().some((column) => findExact(column).length > 0)
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

/** Finds columns to join, or to skip rows by, that a file has twice. One would be ignored. */
function repeatedNeeded(
  header: readonly string[],
  { find }: ColumnNames,
  { needed = [] }: Format,
  found: Found,
): ErrorDetail[] {
  const reported = new Set(Object.values(found).map(([first]) => first))
  return needed.flatMap(([name]) => {
    const [first = 0, second] = find(name)
    if (second === undefined || reported.has(first)) return []
    const other = excerpt(header[first] ?? '')
    const message = `fits ${excerpt(name)} of the layout, and so does ${other}: keep one of them`
    return [{ line: 1, column: excerpt(header[second] ?? ''), code: 'duplicate_column', message }]
  })
}

function neededColumns({ find }: ColumnNames, { needed = [] }: Format): ErrorDetail[] {
  const absent = needed.filter(([column]) => find(column).length === 0)
  return absent.map(([column, message]) => missingColumn(column, message))
}

/**
 * The fields for which a file of the format must have a column. A vendor's prices need a currency:
 * that of the store would be a guess.
 */
const requiredOf = ({ name, required = [] }: Format, found: Found): readonly PurchaseField[] => [
  ...(['transaction_id', 'sku', 'purchased_at'] as const),
  ...required,
  ...(found.price && name !== CANONICAL.name ? (['currency'] as const) : []),
]

/**
 * Returns the errors for missing required columns. They name the columns of the chosen preset, or
 * else of the most similar preset.
 */
function missingColumns(
  found: Found,
  names: ColumnNames,
  format: Format,
  { refundsOnly, map = {} }: LayoutOptions,
): ErrorDetail[] {
  const required = refundsOnly ? (['transaction_id', 'status'] as const) : requiredOf(format, found)
  const missing = required.filter((field) => !found[field] && map[field] === undefined)
  if (missing.length === 0) return []
  const preset = PRESETS.find(({ name }) => name === format.name)
  const near = preset ?? nearestPreset(names)
  const ofNear = near
    ? [...near.signature, ...requiredOf(near, found).map((field) => near.columns[field] ?? [])]
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
function nearestPreset(names: ColumnNames): Preset | undefined {
  const share = ({ signature }: Preset) =>
    signature.filter((columns) => hasOne(names, columns)).length / signature.length
  const [best] = [...PRESETS].sort((a, b) => share(b) - share(a))
  return best && share(best) > 0.5 ? best : undefined
}
