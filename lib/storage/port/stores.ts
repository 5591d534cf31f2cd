import type { Store } from '../../domain/store.ts'
import type { Page, RecordPage } from './page.ts'
import type { Insertion, WriteOptions } from './write.ts'

export interface StoreMethods {
  /** Inserts a store. Resolves to `taken` if the account has a store with this `store_id`. */
  insertStore(store: Store, write?: WriteOptions): Promise<Insertion>
  /** Finds a store. With a `project_id`, the store must be in that project. */
  findStore(account_id: string, store_id: string, project_id?: string): Promise<Store | undefined>
  /** Lists the stores of a project in order of creation. A page of large configs ends early. */
  listStores(project_id: string, page: Page): Promise<RecordPage<Store>>
  /** Lists the stores of a project like `listStores`, but without reading their configurations. */
  listStoreSummaries(project_id: string, page: Page): Promise<RecordPage<StoreSummary>>
  /** Replaces a store by the result of `change`, under the rules of `updateProject`. */
  updateStore(
    store: StoreKey,
    change: (current: Store) => Store,
    write?: WriteOptions,
  ): Promise<Store | undefined>
}

/** Identifies a store, whose `store_id` is unique only within its account. */
export type StoreKey = Pick<Store, 'account_id' | 'store_id'>

/** Selects one store of an account, or all its stores, or only the sandbox or the live ones. */
export type StoresOfAccount = Pick<Store, 'account_id'> &
  Partial<Pick<Store, 'is_sandbox'>> & { readonly store_id?: string | undefined }

/** Identifies a store. If `project_id` is given, the store must be in that project. */
export type StoreOfProject = StoreKey & { readonly project_id?: string }

/** The fields of a store that a client gets with its session. */
export type StoreSummary = Pick<Store, 'store_id' | 'store_type' | 'is_sandbox' | 'status'>
