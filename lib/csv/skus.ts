import { trimBlanks } from '../domain/blanks.ts'
import { type ErrorDetail, MAX_DETAILS, TillError } from '../errors.ts'
import { createCsvParser } from './parser.ts'
import { copyText, normalize } from './text.ts'
import { formatRow, guard, unguard } from './write.ts'

/** For each SKU of a vendor, the name of an item and the line of the map; '' for no item. */
export type SkuMap = ReadonlyMap<string, { readonly item: string; readonly line: number }>

/** The maximum number of bytes of a SKU map. */
export const MAX_SKUS_BYTES = 256 * 1024
/** The maximum number of SKUs in a map. Shorter rows would take much more memory than the file. */
const MAX_SKUS = 10_000

const COLUMNS = ['vendor_sku', 'item'] as const
/** The item of a template. An empty item leaves a SKU out, so a template must not have it. */
const TO_FILL_IN = '?'

/** Formats a SKU map to fill in: each item is `?`. `parseSkus` removes the apostrophes of `guard`. */
export function formatSkusTemplate(skus: readonly string[]): string {
  return [formatRow(COLUMNS), ...skus.map((sku) => formatRow([guard(sku), TO_FILL_IN]))].join('')
}

/**
 * Parses a SKU map: a CSV file with the columns `vendor_sku` and `item`. Throws `invalid_request`
 * with the lines of its mistakes.
 */
export function parseSkus(file: string | Uint8Array): SkuMap {
  const bytes = typeof file === 'string' ? new TextEncoder().encode(file) : file
  const mistakes: ErrorDetail[] = []
  const add = (line: number, code: string, message: string, column?: string) => {
    if (mistakes.length >= MAX_DETAILS) return
    mistakes.push({ field: 'skus', line, ...(column && { column }), code, message })
  }
  if (bytes.length > MAX_SKUS_BYTES) {
    add(1, 'too_large', `The file has more than ${MAX_SKUS_BYTES / 1024} KiB`)
    throw invalidSkus(mistakes)
  }
  const skus = new Map<string, { readonly item: string; readonly line: number }>()
  let positions: readonly number[] = []
  const parser = createCsvParser({
    header(cells, line) {
      const names = cells.map(normalize)
      positions = COLUMNS.map((column) => names.indexOf(column))
      const isHeader = COLUMNS.every(
        (column) => names.filter((name) => name === column).length === 1,
      )
      if (!isHeader) add(line, 'missing_column', 'The header must be vendor_sku,item')
    },
    row(cells, line) {
      if (mistakes.length > 0 && positions.includes(-1)) return
      const [cell = '', item = ''] = positions.map((at) => trimBlanks(cells[at] ?? ''))
      const sku = unguard(cell)
      if (sku === '') add(line, 'required', 'is required', 'vendor_sku')
      else if (skus.has(sku)) add(line, 'repeated', 'is in the map already', 'vendor_sku')
      else if (item === TO_FILL_IN)
        add(line, 'required', 'must name an item, or be empty to leave the SKU out', 'item')
      else if (skus.size >= MAX_SKUS)
        add(line, 'too_many', `The map has more than ${MAX_SKUS} SKUs`)
      else skus.set(copyText(sku), { item: copyText(item), line })
    },
    error: ({ line, code, message }) => void add(line, code, message),
  })
  parser.push(bytes)
  parser.end()
  if (mistakes.length > 0) throw invalidSkus(mistakes)
  return skus
}

/** Creates the error for mistakes in a SKU map. Nobody searches for more than `MAX_DETAILS`. */
export function invalidSkus(mistakes: readonly ErrorDetail[]): TillError {
  const { length } = mistakes
  const more = length < MAX_DETAILS ? '' : ' or more'
  const count = length === 1 ? '1 mistake' : `${length}${more} mistakes`
  return new TillError('invalid_request', `${count} in the SKU map`, mistakes)
}
