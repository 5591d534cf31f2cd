import type { InputOf } from './fields.ts'
import { limit, selectionFields } from './query.ts'
import { boolean, note, oneOf, optional, wholeNumber, withSchema } from './rules.ts'
import { storeId } from './store.ts'

/** The periods of a summary. All are in UTC. */
export const PERIODS = ['day', 'week', 'month'] as const
/** The fields by which a summary can group purchases, in the order of its columns. */
export const SUMMARY_KEYS = ['store', ...PERIODS, 'sku', 'currency'] as const
export type SummaryKey = (typeof SUMMARY_KEYS)[number]

/**
 * Counts and sums of a group of purchases. It has the fields of the query's `by`, and always a
 * currency: amounts of different currencies are never added.
 */
export interface PurchaseSummary {
  /** `2026-01-31`. */
  readonly day?: string
  /** The Monday of the week: `2026-01-26`. */
  readonly week?: string
  /** `2026-01`. */
  readonly month?: string
  readonly sku?: string
  readonly store_id?: string
  /** The currency; '' for purchases without a price. */
  readonly currency: string
  /** The number of purchases of each status. */
  readonly purchased: number
  readonly pending: number
  readonly refunded: number
  readonly cancelled: number
  /** The sum of prices with the status `purchased`: digits, in minor units. */
  readonly revenue: string
  /** The sum of prices with the status `refunded`: digits, in minor units. */
  readonly refunded_total: string
  /** The number of different users with a purchase of status `purchased`. */
  readonly buyers: number
}

const KEYS_SCHEMA = { type: 'array', items: { enum: SUMMARY_KEYS }, uniqueItems: true }

const keys = withSchema<readonly SummaryKey[]>(KEYS_SCHEMA, (value, field, problems) => {
  const list: unknown[] = Array.isArray(value) ? value : [undefined]
  list.forEach((each) => void oneOf(SUMMARY_KEYS)(each, field, problems))
  const periods = list.filter((each) => (PERIODS as readonly unknown[]).includes(each))
  if (periods.length > 1 || new Set(list).size < list.length) {
    const message = 'takes each field once, and one of day, week and month'
    problems.push({ field, code: 'invalid', message })
  }
  return list as readonly SummaryKey[]
})

export const summaryFields = {
  ...selectionFields,
  store_id: optional(storeId),
  /** Without a `store_id`: whether to sum the sandbox stores instead of the live ones. */
  sandbox: optional(note('The sandbox stores instead of the live ones.', boolean), () => false),
  /**
   * The fields to group by; default month, sku and currency. At most one of day, week and month.
   * Their order does not matter: a result is sorted by store, period, sku and currency.
   */
  by: optional(keys, () => ['month', 'sku', 'currency'] as const),
  /**
   * Returns only this many groups, 1 to 1000: those with the most purchases of status `purchased`.
   */
  top: optional(limit),
  /** The maximum number of groups in a summary without `top`; unlimited by default. */
  maxGroups: optional(wholeNumber(1, Number.MAX_SAFE_INTEGER)),
}

/** Selects the purchases of a summary: of one store, or of all live stores of the account. */
export interface SummaryQuery extends InputOf<typeof summaryFields> {}
