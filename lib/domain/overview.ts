import type { InputOf } from './fields.ts'
import { selectionFields } from './query.ts'
import { currency, note, oneOf, optional, required, withSchema } from './rules.ts'
import { storeId } from './store.ts'
import { PERIODS, type PurchaseSummary } from './summary.ts'

export const DAY_MS = 24 * 60 * 60_000

/** The number of currencies for which an overview has figures by period. */
export const MOST_CHARTS = 5
export const MOST_PERIODS = 10_000
/** The number of currencies, of items and of stores that an overview lists. */
export const MOST_LISTED = 50

export type Period = (typeof PERIODS)[number]

/** A `PurchaseSummary` without the number of buyers. */
export type PurchaseTotal = Omit<PurchaseSummary, 'buyers'>

/** The number of purchases of each status. */
interface StatusCounts {
  readonly purchased: number
  readonly pending: number
  readonly refunded: number
  readonly cancelled: number
}

/** The purchases of an item or of a store in all currencies. */
interface GroupTotal extends StatusCounts {
  /** One total for each of the 50 currencies of the overview that it has. */
  readonly currencies: readonly PurchaseTotal[]
}

export interface ItemTotal extends GroupTotal {
  readonly sku: string
  /** The name of the item that players see. */
  readonly display_name: string
}

export interface StoreTotal extends GroupTotal {
  readonly store_id: string
}

/** The sales of a store, or of all live stores of an account. */
export interface PurchaseOverview extends StatusCounts {
  /** The number of currencies. Purchases without a price count as one. */
  readonly currency_count: number
  /** The 50 currencies with the most purchases of status `purchased`, highest number first. */
  readonly currencies: readonly PurchaseTotal[]
  /**
   * Figures for each period and the first 5 `currencies`, or the `currency` of the query, sorted by
   * period and currency.
   */
  readonly periods: readonly PurchaseTotal[]
  /**
   * The 50 SKUs with the most purchases of status `purchased` in all currencies, highest number
   * first.
   */
  readonly items: readonly ItemTotal[]
  /** The 50 stores with the most purchases of status `purchased`, highest number first. */
  readonly stores: readonly StoreTotal[]
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
  /** The store. By default, all stores of the account that are no sandboxes. */
  store_id: optional(note('By default, all stores of the account that are no sandboxes.', storeId)),
  from: buyersFields.from,
  /** The day before which the totals end, in UTC: `2026-02-01`. By default, they have no end. */
  to: startOfDay(selectionFields.to),
  /** The periods to divide the time into; default `month`. */
  by: optional(oneOf(PERIODS), () => 'month' as const),
  /** The only currency of the `periods`. By default, they have the 5 that are used most. */
  currency: optional(
    note('The only currency of `periods`. By default, they have the 5 used most.', currency),
  ),
}

export interface OverviewQuery extends InputOf<typeof overviewFields> {}
