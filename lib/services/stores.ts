import type { Account } from '../domain/account.ts'
import { assertCurrency } from '../domain/currency.ts'
import { invalidField, parseObject, sentFields } from '../domain/fields.ts'
import { formatInstant } from '../domain/instant.ts'
import { type ListPage, pageFor, type StoreQuery, storeListFields } from '../domain/query.ts'
import {
  changeStore,
  type NewStore,
  parseNewStore,
  parseStoreChange,
  parseStoreId,
  type Store,
  type StoreChange,
} from '../domain/store.ts'
import { TillError } from '../errors.ts'
import { listAll } from '../storage/port.ts'
import {
  assertAccount,
  assertCaller,
  type Caller,
  findReachableStore,
  getNamedProject,
  getNamedStore,
  verified,
} from './access.ts'
import type { CreateOptions } from './audit.ts'
import { createConfigured, updateConfigured } from './configured.ts'
import type { Context } from './context.ts'
import { assertMatch, type ChangeOptions } from './etag.ts'
import { createId } from './ids.ts'
import { changeSealed, namesOfSecrets, withoutSecrets, withSentSecrets } from './secret-fields.ts'

export interface Stores {
  /**
   * Creates a store. Returns it with the sent `store_config`, secrets included. Throws
   * `invalid_request`, also for a taken `store_id`.
   */
  create(account: Account, input: NewStore, options?: CreateOptions): Promise<Store>
  /**
   * Changes the given fields. The type and the project of a store never change. If the new values
   * equal the stored ones, writes no audit entry. Throws `etag_mismatch` if `ifMatch` is not its
   * ETag.
   */
  update(account: Account, input: StoreChange, options?: ChangeOptions): Promise<Store>
  /** Finds a store. Throws `store_not_found`, also for one that the caller has no access to. */
  get(caller: Caller, store_id: string): Promise<Store>
  /** The names of the secrets that are set in a store's `store_config`. Throws like `get`. */
  listSecrets(account: Account, store_id: string): Promise<string[]>
  /**
   * Reads one page of a project's stores in order of creation. A page ends before its limit once
   * its stores hold 128 KiB of configuration.
   */
  list(caller: Caller, query: StoreQuery): Promise<StorePage>
  /** Iterates over all stores of a project, and reads them page by page. */
  all(caller: Caller, query: Pick<StoreQuery, 'project_id'>): AsyncIterable<Store>
}

export interface StorePage extends ListPage {
  readonly stores: readonly Store[]
}

export function createStores(context: Context): Stores {
  const { storage, now, sealer, quotas } = context
  const { storesPerProject, configBytes: config_bytes } = quotas

  const getStore = async (caller: Caller, store_id: string): Promise<Store> => {
    assertCaller(caller, 'read')
    const store = await findReachableStore(storage, caller, store_id)
    if (store) return store
    throw new TillError('store_not_found', 'No store has this store_id')
  }

  const stores: Stores = {
    async create(account, input, options = {}) {
      assertAccount(account, 'catalog')
      const fields = parseNewStore(input)
      const project = await getNamedProject(storage, account, fields.project_id, 'project_id')
      assertCurrency(project, fields)
      const { account_id } = account
      const record = {
        store_id: createId('str', now()),
        ...fields,
        account_id,
        created_at: formatInstant(now()),
      }
      const quota = { account_id, project_id: project.id, stores: storesPerProject, config_bytes }
      const creation = { input: fields, sent: () => sentFields(fields, input), record, quota }
      const created = await createConfigured(context, account, creation, options)
      if (!created) throw invalidField('store_id', 'taken', 'is taken in this account')
      return created
    },

    async update(account, input, { ifMatch, ...options } = {}) {
      assertAccount(account, 'catalog')
      const store_id = parseStoreId(input)
      const store = await getNamedStore(storage, account, store_id)
      const change = parseStoreChange(input, store.store_type)
      const project = change.store_config && (await storage.findProject(store.project_id))
      const apply = (current: Store) => {
        assertMatch(ifMatch, current)
        const next = changeStore(current, change)
        assertCurrency(project, next, current)
        return changeSealed(current, next, sealer)
      }
      // Without a new config, checks no quota: encryption alone may make the stored config larger.
      const quota = change.store_config && { account_id: store.account_id, config_bytes }
      const all = { ...options, quota }
      const changed = await updateConfigured(context, account, 'store.update', store, apply, all)
      return withSentSecrets(changed, change.store_config)
    },

    get: async (caller, store_id) => withoutSecrets(await getStore(caller, store_id)),

    async listSecrets(account, store_id) {
      assertAccount(account, 'read')
      return namesOfSecrets(await getStore(account, store_id))
    },

    async list(caller, query) {
      assertCaller(caller, 'read')
      const { project_id, ...paging } = parseObject(query, storeListFields)
      await getNamedProject(storage, caller, project_id, 'project_id')
      const { records, ...next } = await storage.listStores(project_id, pageFor(paging))
      return { stores: records.map(withoutSecrets), ...next }
    },

    all: (caller, query) =>
      listAll(
        verified(context, caller, 'read', (page) => stores.list(caller, { ...query, ...page })),
        'stores',
      ),
  }
  return stores
}
