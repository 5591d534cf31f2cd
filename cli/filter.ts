import type { PurchaseQuery, PurchaseStatus } from '../lib/index.ts'
import type { OptionSpecs } from './command.ts'

/** The options that choose purchases, alike for all commands that read them. */
export const FILTER_OPTIONS = {
  account: { value: 'ID', required: true, help: 'the account that owns the store' },
  store: { value: 'ID', required: true, help: 'the store' },
  user: { value: 'ID', help: 'only those of this user' },
  sku: { value: 'SKU', help: 'only those of this item' },
  status: { value: 'S', help: 'only purchased, pending, refunded or cancelled ones' },
  from: { value: 'TIME', help: 'from this time or day on: 2026-01-31' },
  to: { value: 'TIME', help: 'before this time or day' },
} as const satisfies OptionSpecs

/** What the options mean as a query of the library. */
export function filterOf(
  options: { readonly [K in keyof typeof FILTER_OPTIONS]: string | undefined } & {
    readonly store: string
  },
): PurchaseQuery {
  const { store, user, sku, from, to } = options
  const status = options.status as PurchaseStatus | undefined // asserted by the library
  return { store_id: store, user_id: user, sku, status, from, to }
}
