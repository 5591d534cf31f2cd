import type { Account } from '../../domain/account.ts'
import { invalidField, parseObject } from '../../domain/fields.ts'
import {
  type Buyers,
  type BuyersQuery,
  buyersFields,
  MOST_PERIODS,
  type OverviewQuery,
  overviewFields,
  type PurchaseOverview,
} from '../../domain/overview.ts'
import { assertAccount, getNamedStore, verified } from '../access.ts'
import { assertCallOptions } from '../audit.ts'
import type { Context } from '../context.ts'

export interface Overview {
  /**
   * Counts and sums the purchases of a store by period, by SKU and by currency. Without a `store_id`,
   * covers all live stores of the account. Does not count buyers. Takes a second for each million
   * purchases. Throws `invalid_request` for an unknown store.
   */
  overview(
    account: Account,
    query: OverviewQuery,
    options?: ReportOptions,
  ): Promise<PurchaseOverview>
  /**
   * Counts the new and the returning buyers of a store. Takes a second for a million purchases, and
   * a minute for ten million. Throws `invalid_request` for an unknown store.
   */
  buyers(account: Account, query: BuyersQuery, options?: ReportOptions): Promise<Buyers>
}

export interface ReportOptions {
  /**
   * Ends the call while it waits for its turn. On SQLite, also ends a running query of many
   * purchases. The call then rejects with the reason of the signal.
   */
  readonly signal?: AbortSignal | undefined
}

/** The signal of a report. Throws a TypeError for an unknown option. */
export function signalOf({ signal, ...others }: ReportOptions = {}): AbortSignal | undefined {
  assertCallOptions(others)
  return signal
}

/** The default of `from`: earlier than any purchase. */
const FIRST = Date.UTC(100, 0)

export function createOverview(context: Context): Overview {
  const { storage, longCalls } = context
  return {
    async overview(account, query, options) {
      assertAccount(account, 'read')
      const signal = signalOf(options)
      const { account_id } = account
      const { store_id, by, currency, ...times } = parseObject(query, overviewFields)
      if (store_id !== undefined) await getNamedStore(storage, account, store_id)
      const stores =
        store_id === undefined ? { account_id, is_sandbox: false } : { account_id, store_id }
      const read = verified(context, account, 'read', () =>
        storage.readTotals(stores, times, { by, currency }, signal),
      )
      const totals = await longCalls.run(account_id, read, { signal })
      if (totals.periods.length <= MOST_PERIODS) return totals
      const message = `gives more than ${MOST_PERIODS} figures by ${by}: select longer periods`
      throw invalidField('by', 'too_many', message)
    },

    async buyers(account, query, options) {
      assertAccount(account, 'read')
      const signal = signalOf(options)
      const { store_id, from = FIRST } = parseObject(query, buyersFields)
      const store = await getNamedStore(storage, account, store_id)
      const count = verified(context, account, 'read', () =>
        storage.countBuyers(store, from, signal),
      )
      const buyers = await longCalls.run(store.account_id, count, { signal })
      return { buyers }
    },
  }
}
