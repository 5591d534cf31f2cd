import type { Store } from '../../domain/store.ts'

/** Identifies a store, whose `store_id` is unique only within its account. */
export type StoreKey = Pick<Store, 'account_id' | 'store_id'>

/** Selects one store of an account, or all its stores, or only the sandbox or the live ones. */
export type StoresOfAccount = Pick<Store, 'account_id'> &
  Partial<Pick<Store, 'is_sandbox'>> & { readonly store_id?: string | undefined }

/** The fields of a store that a client gets with its session. */
export type StoreSummary = Pick<Store, 'store_id' | 'store_type' | 'is_sandbox' | 'status'>
