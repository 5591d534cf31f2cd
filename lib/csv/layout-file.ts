import { trimBlanks } from '../domain/blanks.ts'
import { type InputOf, object, type ParsedOf, parseAt } from '../domain/fields.ts'
import type { PassedOver } from '../domain/import.ts'
import { isObject } from '../domain/json.ts'
import { PURCHASE_FIELDS, PURCHASE_STATUSES, type PurchaseField } from '../domain/purchase.ts'
import {
  boolean,
  currency,
  freeForm,
  list,
  oneOf,
  optional,
  type Rule,
  required,
  rule,
  text,
  withSchema,
} from '../domain/rules.ts'
import type { ErrorDetail } from '../errors.ts'
import { parseDateFormat } from './date-format.ts'
import type { Cell, Format } from './format.ts'
import { isZone } from './times.ts'

/** The maximum number of bytes of a layout file. */
export const MAX_LAYOUT_BYTES = 64 * 1024

const MAX_JOINED = 4
const MAX_WORDS = 1_000
const MAX_SKIP_COLUMNS = 32

const columnName = text(1, 255)

const columnNames = withSchema<readonly string[], string | readonly string[]>(
  {},
  (value, field, problems) => {
    if (!Array.isArray(value)) return [columnName(value, field, problems)]
    if (value.length > 0) return list(columnName, MAX_JOINED)(value, field, problems)
    problems.push({ field, code: 'invalid', message: 'must name at least one column' })
    return []
  },
)

const oneColumn = optional(columnName)

const columnFields = {
  ...(Object.fromEntries(PURCHASE_FIELDS.map((field) => [field, oneColumn])) as {
    readonly [F in PurchaseField]: typeof oneColumn
  }),
  transaction_id: required(columnNames),
  /** Required, as `sku`, unless `refundsOnly` is set. */
  purchased_at: optional(columnNames),
}

export interface LayoutColumns extends InputOf<typeof columnFields> {}

/** A rule for an object with any keys, at most `max`, and a rule for its values. */
function mapOf<T, I>(
  value: Rule<T, I>,
  max: number,
): Rule<{ readonly [key: string]: T }, { readonly [key: string]: I }> {
  return withSchema({ type: 'object' }, (input, field, problems) => {
    if (isObject(input) && Object.keys(input).length <= max) {
      const entries = Object.entries(input)
      return Object.fromEntries(
        entries.map(([key, each]) => [key, value(each, `${field}.${key}`, problems)]),
      )
    }
    const message = `must be an object of at most ${max} entries`
    problems.push({ field, code: 'invalid', message })
    return {}
  })
}

const fields = {
  /**
   * The columns of each field. Several columns are joined: those of a time by a blank, those of a
   * transaction id by `/`.
   */
  columns: required(object<typeof columnFields, LayoutColumns>(columnFields)),
  /** The status for each text of the status column, case ignored. Default: tillkit's statuses. */
  statuses: optional(mapOf(oneOf(PURCHASE_STATUSES), MAX_WORDS)),
  /** Whether prices are in minor units (`499`, the default) or in major ones (`4.99`). */
  price_unit: optional(oneOf(['minor', 'major']), () => 'minor' as const),
  /** The decimal mark; default `.`, and an amount that is then unclear is an error. */
  decimal: optional(oneOf(['.', ','])),
  /** The kind of a row with a negative amount whose status does not say that it is a refund. */
  negative: optional(oneOf(['refunded', 'skip'])),
  /** Whether to number equal transaction ids in the order of the file: `SQ1`, `SQ1/2`. */
  number_repeats: optional(boolean, () => false),
  /** How dates are written; default: ISO 8601 and Unix times. */
  date_format: optional(
    rule(
      (value): value is string =>
        typeof value === 'string' && value.length <= 32 && parseDateFormat(value) !== undefined,
      'must be YYYYMMDD, or one each of YYYY or YY, MM or MMM, and DD, separated by - / . , or blanks',
      { type: 'string' },
    ),
  ),
  /** The IANA time zone of times without a zone. */
  zone: optional(
    rule(
      (value): value is string => typeof value === 'string' && value.length <= 64 && isZone(value),
      'must be a time zone like America/Los_Angeles or UTC',
      { type: 'string' },
    ),
  ),
  /** The currency of rows without one; default: the store's. */
  currency: optional(currency),
  /** For each column, the texts of the rows to pass over, case ignored. '' is an empty cell. */
  skip: optional(mapOf(list(text(0, 255), MAX_WORDS), MAX_SKIP_COLUMNS), () => ({})),
}

/** A description of a file of any vendor: JSON without code. */
export interface LayoutFile extends InputOf<typeof fields> {}

type Parsed = ParsedOf<typeof fields>

/** A rule for a layout file, which it converts to a format. Each mistake names its key. */
export const layoutFile = withSchema<Format | undefined, LayoutFile>(
  { type: 'object' },
  (input, field, problems) => {
    const before = problems.length
    freeForm(input, field, problems)
    const layout = problems.length > before ? undefined : parseAt(input, fields, field, problems)
    return layout && checkColumns(layout, field, problems) ? formatOf(layout) : undefined
  },
)

/** Checks that each key has the column that it is about. */
function checkColumns(
  { statuses, negative, columns: { status, price, quantity } }: Parsed,
  field: string,
  problems: ErrorDetail[],
): boolean {
  const before = problems.length
  const needs = (key: string, column: string) => {
    const message = `needs the column of the ${column}: give ${field}.columns.${column}`
    problems.push({ field: `${field}.${key}`, code: 'invalid', message })
  }
  if (statuses && status === undefined) needs('statuses', 'status')
  if (negative && price === undefined && quantity === undefined) needs('negative', 'price')
  return problems.length === before
}

const SKIPPED: PassedOver = { reason: 'skipped' }

function formatOf({ columns, skip, statuses, currency, ...layout }: Parsed): Format {
  const { transaction_id: ids, purchased_at: times = [] } = columns
  const named = [...(Object.values(columns).flat() as string[]), ...Object.keys(skip)]
  const { price_unit, decimal, date_format, zone, negative, number_repeats } = layout
  return {
    name: 'layout',
    columns: columns as Format['columns'],
    needed: [...new Set(named)].map((column) => [column, 'is missing: the layout names it']),
    price_unit,
    decimal: decimal ?? '.',
    isDecimalAssumed: decimal === undefined,
    ...(negative && { negative }),
    number_repeats,
    times: { date_format, zone },
    uses: [...ids, ...times, ...Object.keys(skip)],
    derive: () => (cell) => ({
      transaction_id: join(ids, '/', cell),
      purchased_at: join(times, ' ', cell),
    }),
    ...(statuses && { statuses: withWords(statuses) }),
    ...(currency !== undefined && { currency }),
    skip: Object.fromEntries(
      Object.entries(skip).map(([column, words]) => [
        column,
        Object.fromEntries(words.map((word) => [wordOf(word), SKIPPED])),
      ]),
    ),
  }
}

function withWords<T>(words: { readonly [word: string]: T }) {
  return Object.fromEntries(Object.entries(words).map(([word, value]) => [wordOf(word), value]))
}

/** Cells are trimmed and compared in lower case, and so are the words. */
function wordOf(word: string): string {
  return trimBlanks(word).toLowerCase()
}

/**
 * Joins the cells of some columns, and leaves out empty ones. Returns '' if the first one is empty:
 * rows without an order number would otherwise get the same id.
 */
function join([first = '', ...further]: readonly string[], separator: string, cell: Cell): string {
  const start = cell(first)
  if (start === '' || further.length === 0) return start
  return [start, ...further.map(cell).filter((each) => each !== '')].join(separator)
}
