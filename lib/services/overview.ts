import { BoundedMap } from '../bounded-map.ts'
import type { Account } from '../domain/account.ts'
import { invalidField } from '../domain/fields.ts'
import { formatInstant } from '../domain/instant.ts'
import {
  type Buyers,
  type BuyersQuery,
  MOST_PERIODS,
  type OverviewQuery,
  type Period,
  type PurchaseOverview,
  parseBuyersQuery,
  parseOverviewQuery,
} from '../domain/overview.ts'
import type { StoreTotals } from '../storage/port.ts'
import { assertAccount, getNamedStore } from './access.ts'
import type { Context } from './context.ts'

export interface Overview {
  /**
   * Counts and sums a store's purchases by period and by SKU. Does not count buyers. Takes a second
   * for each million purchases of the store. Throws `invalid_request` for an unknown store.
   */
  overview(account: Account, query: OverviewQuery): Promise<PurchaseOverview>
  /**
   * Counts the new and the returning buyers of a store. The first call takes a minute for ten
   * million purchases. Later calls return the cached count. If a purchase has changed, they also
   * start a new count in the background. Throws `invalid_request` for an unknown store.
   */
  buyers(account: Account, query: BuyersQuery): Promise<Buyers>
}

/** The default of `from`: earlier than any purchase. */
const FIRST = Date.UTC(100, 0)
const MOST_CURRENCIES = 50
const MOST_COUNTS = 200

export function createOverview({ storage, now, longCalls }: Context): Overview {
  const counts = new BoundedMap<Count>(MOST_COUNTS)
  /** The accounts for which a count runs in the background. Each has one at most. */
  const busy = new Set<string>()
  return {
    async overview(account, query) {
      assertAccount(account)
      const { store_id, by, ...times } = parseOverviewQuery(query)
      const store = await getNamedStore(storage, account, store_id)
      const totals = await longCalls.run(store.account_id, () =>
        storage.readTotals(store, times, by),
      )
      return overviewOf(totals, by)
    },

    async buyers(account, query) {
      assertAccount(account)
      const { store_id, from = FIRST } = parseBuyersQuery(query)
      const store = await getNamedStore(storage, account, store_id)
      const key = JSON.stringify([store.account_id, store_id, from])
      const count = counts.get(key) ?? {}
      counts.set(key, count)
      // Reads the version before it counts: the next call must notice a change during the count.
      const version = await storage.findPurchaseVersion(store)
      if (count.found?.version === version) return { ...count.found.buyers, is_current: true }
      if (count.found) {
        if (!count.running && !busy.has(store.account_id)) countInBackground()
        return { ...count.found.buyers, is_current: false }
      }
      count.running ??= countAgain()
      return { ...(await count.running), is_current: true }

      function countInBackground() {
        busy.add(store.account_id)
        count.running = countAgain()
        const end = () => busy.delete(store.account_id)
        count.running.then(end, end) // after an error, the next call counts again
      }

      async function countAgain() {
        try {
          const read_at = formatInstant(now())
          const counted = await longCalls.run(store.account_id, () =>
            storage.countBuyers(store, from),
          )
          const buyers = { read_at, buyers: counted }
          count.found = { version, buyers }
          return buyers
        } finally {
          count.running = undefined
        }
      }
    },
  }
}

type Counted = Omit<Buyers, 'is_current'>

/** The latest count of a store's buyers, and the count that is running. */
interface Count {
  found?: { readonly version: string; readonly buyers: Counted }
  running?: Promise<Counted> | undefined
}

function overviewOf({ currencies, periods, items }: StoreTotals, by: Period): PurchaseOverview {
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
