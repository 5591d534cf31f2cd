import { type Fields, isObject, oneOf, optional, parseObject, type Rule } from '../domain/fields.ts'
import { PURCHASE_FIELDS, type PurchaseField } from '../domain/purchase.ts'
import { PRESET_NAMES } from './presets.ts'

/** How to read a file whose header line alone does not say. */
export interface LayoutChoice {
  /** The name of a preset. By default the header line decides. */
  readonly preset?: string
  /** The file's own names for the columns of fields. */
  readonly map?: ColumnMap
  /** Whether prices are in minor units (`499`, the default) or decimals in major ones (`4.99`). */
  readonly priceUnit?: 'minor' | 'major'
}

export type ColumnMap = { readonly [F in PurchaseField]?: string }

/** A column's name for comparison, which ignores case and surrounding blanks. */
export function normalize(name: string): string {
  return name.trim().toLowerCase()
}

const columnMap: Rule<ColumnMap> = (value, field, problems) => {
  const isMap =
    isObject(value) &&
    Object.keys(value).every((key) => (PURCHASE_FIELDS as readonly string[]).includes(key)) &&
    Object.values(value).every((column) => typeof column === 'string' && column.trim() !== '')
  if (!isMap) {
    const message = `must map some of ${PURCHASE_FIELDS.join(', ')} to names of columns`
    problems.push({ field, code: 'invalid', message })
  }
  return value as ColumnMap
}

const fields: Fields<LayoutChoice> = {
  preset: optional(oneOf(PRESET_NAMES)),
  map: optional(columnMap),
  priceUnit: optional(oneOf(['minor', 'major'])),
}

export function parseLayoutChoice(input: unknown): LayoutChoice {
  return parseObject(input, fields)
}
