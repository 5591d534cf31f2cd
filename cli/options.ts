import type { PurchaseQuery, PurchaseStatus } from '../lib/index.ts'
import type { Command, Invocation, OptionSpecs } from './command.ts'
import { json } from './option-values.ts'

// The options that several commands share, grouped by use.

/** Options of every command. */
export const COMMON_OPTIONS = {
  db: { value: 'DB', help: 'a file, postgres://…, or memory: (default tillkit.db)' },
  json: { help: 'print one JSON document on stdout, and nothing else there' },
  help: { short: 'h', help: 'print this help' },
} satisfies OptionSpecs

export const ACCOUNT_OPTION = {
  account: { value: 'ID', required: true, help: 'the account' },
} as const satisfies OptionSpecs

export const PROJECT_OPTION = {
  project: { value: 'ID', required: true, help: 'the project' },
} as const satisfies OptionSpecs

export const STORE_OPTIONS = {
  account: { value: 'ID', required: true, help: 'the account that owns the store' },
  store: { value: 'ID', required: true, help: 'the store' },
} as const satisfies OptionSpecs

/** Options of the commands that create a project or a store. */
export const NEW_STATUS_OPTION = {
  status: { value: 'S', help: 'default active; disabled and archived close it' },
} as const satisfies OptionSpecs

/** Options of the commands that change a project or a store. */
export const CHANGE_OPTIONS = {
  status: { value: 'S', help: 'disabled and archived close it' },
  config: {
    value: 'JSON|@FILE',
    parse: json,
    help: 'replaces the configuration; a secret left out is kept',
  },
} as const satisfies OptionSpecs

export const PAGE_OPTIONS = {
  limit: { value: 'N', help: 'the most entries to print, 1 to 1000 (default 100)' },
  cursor: { value: 'NEXT', help: 'continue after the previous page' },
} as const satisfies OptionSpecs

/** Options that select purchases of a store. */
export const PURCHASE_OPTIONS = {
  ...STORE_OPTIONS,
  user: { value: 'ID', help: 'only those of this user' },
  sku: { value: 'SKU', help: 'only those of this item' },
  status: { value: 'S', help: 'only purchased, pending, refunded or cancelled ones' },
  import: { value: 'ID', help: 'only those that this import added' },
  from: { value: 'TIME', help: 'from this time or day on: 2026-01-31' },
  to: { value: 'TIME', help: 'before this time or day' },
} as const satisfies OptionSpecs

/** Converts the values of `PURCHASE_OPTIONS` to the library's query. */
export function purchaseQuery(
  options: Invocation<typeof PURCHASE_OPTIONS>['options'],
): PurchaseQuery {
  const { store, user, sku, import: import_id, from, to } = options
  const status = options.status as PurchaseStatus | undefined // the library validates it
  return { store_id: store, user_id: user, sku, status, import_id, from, to }
}

/** All options of a command, including the common ones. */
export function optionsOf({ options, databaseOption }: Command): OptionSpecs {
  const { db, ...others } = COMMON_OPTIONS
  return { ...options, ...(databaseOption ? {} : { db }), ...others }
}
