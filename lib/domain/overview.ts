import { type InputOf, oneOf, optional, required, withSchema } from './fields.ts'
import { selectionFields } from './query.ts'
import { storeId } from './store.ts'
import { PERIODS, type PurchaseSummary } from './summary.ts'

export const DAY_MS = 24 * 60 * 60_000

/** The number of currencies for which an overview has figures by period. */
export const MOST_CHARTS = 5
export const MOST_PERIODS = 10_000
/** The number of currencies that an overview lists. */
export const MOST_CURRENCIES = 50

export type Period = (typeof PERIODS)[number]

/** A `PurchaseSummary` without the number of buyers. */
export type PurchaseTotal = Omit<PurchaseSummary, 'buyers'>

export interface ItemTotal extends PurchaseTotal {
  /** The name of the item that players see. */
  readonly display_name: string
}

/** The sales of a store. */
export interface PurchaseOverview {
  /** The number of purchases of each status. */
  readonly purchased: number
  readonly pending: number
  readonly refunded: number
  readonly cancelled: number
  /** The number of currencies. Purchases without a price count as one. */
  readonly currency_count: number
  /** The 50 currencies with the most purchases of status `purchased`, highest number first. */
  readonly currencies: readonly PurchaseTotal[]
  /** Figures for each period and the first 5 `currencies`, sorted by period and currency. */
  readonly periods: readonly PurchaseTotal[]
  /**
   * The 100 pairs of SKU and currency with the most purchases of status `purchased`, highest number
   * first.
   */
  readonly items: readonly ItemTotal[]
}

/** The new and the returning buyers in one currency, since the day `from` of the query. */
export interface BuyerCount {
  /** The currency; '' for purchases without a price. */
  readonly currency: string
  /** The number of users whose first purchase in this currency is on the first day or later. */
  readonly new: number
  /** The number of users who bought in this currency before the first day, and again since then. */
  readonly returning: number
}

/** The buyers of a store. */
export interface Buyers {
  /** One count for each currency, sorted by currency. */
  readonly buyers: readonly BuyerCount[]
}

/** Makes the rule of a time require the start of a day in UTC. */
function startOfDay(rule: typeof selectionFields.from): typeof selectionFields.from {
  return withSchema(rule.schema, (value, field, problems) => {
    const time = rule(value, field, problems)
    const message = 'must be the start of a day in UTC'
    if ((time ?? 0) % DAY_MS !== 0) problems.push({ field, code: 'invalid', message })
    return time
  })
}

export const buyersFields = {
  store_id: required(storeId),
  /** The first day to count, in UTC: `2026-01-31`. By default, all days are counted. */
  from: startOfDay(selectionFields.from),
}

export interface BuyersQuery extends InputOf<typeof buyersFields> {}

export const overviewFields = {
  ...buyersFields,
  /** The day before which the totals end, in UTC: `2026-02-01`. By default, they have no end. */
  to: startOfDay(selectionFields.to),
  /** The periods to divide the time into; default `month`. */
  by: optional(oneOf(PERIODS), () => 'month' as const),
}

export interface OverviewQuery extends InputOf<typeof overviewFields> {}
