import { type BuyerCount, MOST_CHARTS, MOST_PERIODS } from '../../domain/overview.ts'
import type { StoreKey, StoreTotals, TotalsQuery } from '../port.ts'
import { MOST_ITEMS, mostUsed } from '../totals.ts'
import type { State } from './state.ts'
import { summarizePurchases } from './summaries.ts'

export function readTotals(
  state: State,
  store: StoreKey,
  { from, month, by }: TotalsQuery,
): StoreTotals {
  const most = { isTop: true, limit: MOST_ITEMS }
  const currencies = mostUsed(summarizePurchases(state, store, { from }, []).map(withoutBuyers))
  const shown = new Set(currencies.slice(0, MOST_CHARTS).map(({ currency }) => currency))
  const periods = summarizePurchases(state, store, { from }, [by])
  return {
    currencies,
    periods: periods
      .filter(({ currency }) => shown.has(currency))
      .slice(0, MOST_PERIODS + 1)
      .map(withoutBuyers),
    items: summarizePurchases(state, store, { from: month }, ['sku'], most).map(withoutBuyers),
  }
}

function withoutBuyers<T extends { readonly buyers: number }>({ buyers: _, ...total }: T) {
  return total
}

export function countBuyers(state: State, store: StoreKey, from: number): BuyerCount[] {
  const times = new Map<string, { first: number; last: number; readonly currency: string }>()
  for (const purchase of state.recordsOf(store).purchases.values()) {
    const { user_id, currency = '', purchased_at: at, status } = purchase
    if (user_id === undefined || status !== 'purchased') continue
    const key = `${currency} ${user_id}`
    const { first = at, last = at } = times.get(key) ?? {}
    times.set(key, { currency, first: Math.min(first, at), last: Math.max(last, at) })
  }
  const since = [...times.values()].filter(({ last }) => last >= from)
  const currencies = [...new Set(since.map(({ currency }) => currency))].sort()
  return currencies.map((currency) => {
    const users = since.filter((each) => each.currency === currency)
    const fresh = users.filter(({ first }) => first >= from).length
    return { currency, new: fresh, returning: users.length - fresh }
  })
}
