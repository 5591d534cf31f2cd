import type { Account } from '../../domain/account.ts'
import { invalidField, parseObject } from '../../domain/fields.ts'
import {
  type Buyers,
  type BuyersQuery,
  buyersFields,
  MOST_PERIODS,
  type OverviewQuery,
  overviewFields,
  type Period,
  type PurchaseOverview,
} from '../../domain/overview.ts'
import { assertAccount, getNamedStore } from '../access.ts'
import type { Context } from '../context.ts'

export interface Overview {
  /**
   * Counts and sums a store's purchases by period and by SKU. Does not count buyers. Takes a second
   * for each million purchases of the store. Throws `invalid_request` for an unknown store.
   */
  overview(account: Account, query: OverviewQuery): Promise<PurchaseOverview>
  /**
   * Counts the new and the returning buyers of a store. Takes a second for a million purchases, and
   * a minute for ten million. Throws `invalid_request` for an unknown store.
   */
  buyers(account: Account, query: BuyersQuery): Promise<Buyers>
}

/** The default of `from`: earlier than any purchase. */
const FIRST = Date.UTC(100, 0)
const MOST_CURRENCIES = 50

export function createOverview({ storage, longCalls }: Context): Overview {
  return {
    async overview(account, query) {
      assertAccount(account)
      const { store_id, by, ...times } = parseObject(query, overviewFields)
      const store = await getNamedStore(storage, account, store_id)
      const totals = await longCalls.run(store.account_id, () =>
        storage.readTotals(store, times, by),
      )
      return overviewOf(totals, by)
    },

    async buyers(account, query) {
      assertAccount(account)
      const { store_id, from = FIRST } = parseObject(query, buyersFields)
      const store = await getNamedStore(storage, account, store_id)
      const buyers = await longCalls.run(store.account_id, () => storage.countBuyers(store, from))
      return { buyers }
    },
  }
}

function overviewOf(
  { currencies, periods, items }: Pick<PurchaseOverview, 'currencies' | 'periods' | 'items'>,
  by: Period,
): PurchaseOverview {
  if (periods.length > MOST_PERIODS) {
    const message = `gives more than ${MOST_PERIODS} figures by ${by}: select longer periods`
    throw invalidField('by', 'too_many', message)
  }
  const sum = (status: 'purchased' | 'pending' | 'refunded' | 'cancelled') =>
    currencies.reduce((sum, total) => sum + total[status], 0)
  return {
    purchased: sum('purchased'),
    pending: sum('pending'),
    refunded: sum('refunded'),
    cancelled: sum('cancelled'),
    currency_count: currencies.length,
    currencies: currencies.slice(0, MOST_CURRENCIES),
    periods,
    items,
  }
}
