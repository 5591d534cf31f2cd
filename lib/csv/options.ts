import {
  boolean,
  type Fields,
  invalidField,
  invalidFields,
  isObject,
  oneOf,
  optional,
  parseObject,
  withSchema,
} from '../domain/fields.ts'
import { PRESET_NAMES } from '../domain/preset.ts'
import { PURCHASE_FIELDS, type PurchaseField } from '../domain/purchase.ts'
import type { Format } from './format.ts'
import { layoutFile } from './layout-file.ts'
import { parseSkus, type SkuMap } from './skus.ts'

/** Options for reading a file, if its header line is not enough to know the columns. */
export interface LayoutChoice {
  /** The name of a vendor preset. By default, the header line decides. */
  readonly preset?: string
  /** For each field, the name of its column in the file. */
  readonly map?: ColumnMap
  /** Whether prices are in minor units (`499`, the default) or decimals in major ones (`4.99`). */
  readonly priceUnit?: 'minor' | 'major'
  /** The format that a layout file describes. */
  readonly layout?: Format
  readonly skus?: SkuMap
  /** Whether only later statuses of stored purchases are imported, by the id alone. */
  readonly refundsOnly: boolean
}

export type ColumnMap = { readonly [F in PurchaseField]?: string }

const columnMap = withSchema<ColumnMap>({ type: 'object' }, (value, field, problems) => {
  const isMap =
    isObject(value) &&
    Object.keys(value).every((key) => (PURCHASE_FIELDS as readonly string[]).includes(key)) &&
    Object.values(value).every((column) => typeof column === 'string' && column.trim() !== '')
  if (!isMap) {
    const message = `must map some of ${PURCHASE_FIELDS.join(', ')} to names of columns`
    problems.push({ field, code: 'invalid', message })
  }
  return value as ColumnMap
})

const skuMap = withSchema<SkuMap | undefined>({ type: 'string' }, (value, field, problems) => {
  if (typeof value === 'string' || value instanceof Uint8Array) return parseSkus(value)
  problems.push({ field, code: 'invalid', message: 'must be the text of a CSV file' })
  return undefined
})

const fields: Fields<LayoutChoice> = {
  preset: optional(oneOf(PRESET_NAMES)),
  map: optional(columnMap),
  priceUnit: optional(oneOf(['minor', 'major'])),
  layout: optional(layoutFile),
  skus: optional(skuMap),
  refundsOnly: optional(boolean, () => false),
}

/** Parses the options. Throws `invalid_request`, which names each mistake. */
export function parseLayoutChoice(input: unknown): LayoutChoice {
  const choice = parseObject(input, fields)
  assertColumns(choice)
  const other =
    choice.layout && (['preset', 'map', 'priceUnit'] as const).find((each) => choice[each])
  if (!other) return choice
  throw invalidField(
    other,
    'invalid',
    'has no use with a layout, which names all columns: leave it out',
  )
}

/** A layout need not name the item and the time if only statuses are imported. */
function assertColumns({ layout, refundsOnly }: LayoutChoice): void {
  if (!layout || refundsOnly) return
  const missing = (['sku', 'purchased_at'] as const).filter((field) => !layout.columns[field])
  if (missing.length === 0) return
  const problem = { code: 'required', message: 'is required' }
  throw invalidFields(missing.map((field) => ({ field: `layout.columns.${field}`, ...problem })))
}
