import { invalidField, invalidFields, type ParsedOf } from '../domain/fields.ts'
import { isObject } from '../domain/json.ts'
import { PRESET_NAMES } from '../domain/preset.ts'
import { PURCHASE_FIELDS, type PurchaseField } from '../domain/purchase.ts'
import { boolean, oneOf, optional, withSchema } from '../domain/rules.ts'
import { layoutFile } from './layout-file.ts'
import { parseSkus, type SkuMap } from './skus.ts'

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

const skuMap = withSchema<SkuMap | undefined, string | Uint8Array>(
  { type: 'string' },
  (value, field, problems) => {
    if (typeof value === 'string' || value instanceof Uint8Array) return parseSkus(value)
    problems.push({ field, code: 'invalid', message: 'must be the text of a CSV file' })
    return undefined
  },
)

/** How to read a file, if its header line is not enough to know the columns. */
export const layoutFields = {
  /** The vendor's file format, one of `PRESET_NAMES`. By default, the header line decides. */
  preset: optional(oneOf<string>(PRESET_NAMES)),
  /** For each field, the name of its column in the file. */
  map: optional(columnMap),
  /** Whether prices are in minor units (`499`, the default) or in major units (`4.99`). */
  priceUnit: optional(oneOf(['minor', 'major'])),
  /** A description of the file, instead of `preset`, `map` and `priceUnit`. */
  layout: optional(layoutFile),
  /** The text of a CSV file that maps the vendor's SKUs (`vendor_sku`) to items (`item`). */
  skus: optional(skuMap),
  /**
   * Whether the file only advances the statuses of stored purchases. Compares only the transaction
   * ids; passes over all other rows.
   */
  refundsOnly: optional(boolean, () => false),
}

export type LayoutChoice = ParsedOf<typeof layoutFields>

/** Throws `invalid_request` for options that contradict each other. */
export function assertLayoutChoice({ layout, refundsOnly, ...others }: LayoutChoice): void {
  if (!layout) return
  // A layout need not name the item and the time if only statuses are imported.
  const needed = refundsOnly ? [] : (['sku', 'purchased_at'] as const)
  const missing = needed.filter((field) => !layout.columns[field])
  if (missing.length > 0) {
    const problem = { code: 'required', message: 'is required' }
    throw invalidFields(missing.map((field) => ({ field: `layout.columns.${field}`, ...problem })))
  }
  const other = (['preset', 'map', 'priceUnit'] as const).find((each) => others[each])
  if (!other) return
  const message = 'has no use with a layout, which names all columns: leave it out'
  throw invalidField(other, 'invalid', message)
}
