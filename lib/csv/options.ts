import {
  type Fields,
  isObject,
  oneOf,
  optional,
  parseObject,
  withSchema,
} from '../domain/fields.ts'
import { PRESET_NAMES } from '../domain/preset.ts'
import { PURCHASE_FIELDS, type PurchaseField } from '../domain/purchase.ts'

/** Options for reading a file, if its header line is not enough to know the columns. */
export interface LayoutChoice {
  /** The name of a vendor preset. By default, the header line decides. */
  readonly preset?: string
  /** For each field, the name of its column in the file. */
  readonly map?: ColumnMap
  /** Whether prices are in minor units (`499`, the default) or decimals in major ones (`4.99`). */
  readonly priceUnit?: 'minor' | 'major'
}

export type ColumnMap = { readonly [F in PurchaseField]?: string }

/** Normalizes a column's name for comparison: ignores case and surrounding blanks. */
export function normalize(name: string): string {
  return name.trim().toLowerCase()
}

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

const fields: Fields<LayoutChoice> = {
  preset: optional(oneOf(PRESET_NAMES)),
  map: optional(columnMap),
  priceUnit: optional(oneOf(['minor', 'major'])),
}

export function parseLayoutChoice(input: unknown): LayoutChoice {
  return parseObject(input, fields)
}
