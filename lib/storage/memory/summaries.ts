import { formatInstant } from '../../domain/instant.ts'
import type { PurchaseFilter } from '../../domain/query.ts'
import type { PurchaseSummary, SummaryKey } from '../../domain/summary.ts'
import { matches } from '../filter.ts'
import type { MostGroups, StoresOfAccount } from '../port.ts'
import { groupsOf } from '../summaries.ts'
import type { KeptPurchase, State } from './state.ts'

const DAY_MS = 24 * 60 * 60_000

const keys: { readonly [K in SummaryKey]: (purchase: KeptPurchase) => string } = {
  day: ({ purchased_at }) => formatInstant(purchased_at).slice(0, 10),
  week: ({ purchased_at }) => {
    const day = (new Date(purchased_at).getUTCDay() + 6) % 7
    return formatInstant(purchased_at - day * DAY_MS).slice(0, 10)
  },
  month: ({ purchased_at }) => formatInstant(purchased_at).slice(0, 7),
  sku: ({ sku }) => sku,
  currency: ({ currency = '' }) => currency,
  store: ({ store_id }) => store_id,
}

export function summarizePurchases(
  state: State,
  { account_id, store_id }: StoresOfAccount,
  filter: PurchaseFilter,
  by: readonly SummaryKey[],
  { isTop, limit }: MostGroups = { isTop: false, limit: Number.POSITIVE_INFINITY },
): PurchaseSummary[] {
  const groups = new Map<string, Group>()
  for (const { store, purchases } of state.stores.values()) {
    const isWanted = store_id === undefined || store.store_id === store_id
    if (store.account_id !== account_id || !isWanted) continue
    for (const purchase of purchases.values()) {
      if (!matches(purchase, filter)) continue
      const names = groupsOf(by).map((key) => [key, keys[key](purchase)] as const)
      const key = names.map(([, value]) => value).join('\n')
      const group = groups.get(key) ?? newGroup(names)
      groups.set(key, group)
      add(group, purchase, store.project_id)
    }
  }
  const sorted = [...groups].sort(([a], [b]) => (a < b ? -1 : 1))
  const found = sorted.map(([, { record, users }]) => ({ ...record, buyers: users.size }))
  if (isTop) found.sort((a, b) => b.purchased - a.purchased)
  return found.slice(0, limit)
}

interface Group {
  readonly record: { -readonly [K in keyof PurchaseSummary]: PurchaseSummary[K] }
  readonly users: Set<string>
}

const NOTHING = { purchased: 0, pending: 0, refunded: 0, cancelled: 0 }

function newGroup(names: readonly (readonly [SummaryKey, string])[]): Group {
  const fields = names.map(([key, value]) => [key === 'store' ? 'store_id' : key, value])
  const found = Object.fromEntries(fields) as { readonly currency: string }
  const record = { ...found, ...NOTHING, revenue: '0', refunded_total: '0', buyers: 0 }
  return { record, users: new Set() }
}

function add({ record, users }: Group, purchase: KeptPurchase, project_id: string): void {
  const { status, price = 0, user_id } = purchase
  record[status]++
  const plus = (total: string) => String(BigInt(total) + BigInt(price))
  if (status === 'refunded') record.refunded_total = plus(record.refunded_total)
  if (status !== 'purchased') return
  record.revenue = plus(record.revenue)
  if (user_id !== undefined) users.add(`${project_id}/${user_id}`)
}
