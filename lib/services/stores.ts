import type { Account } from '../domain/account.ts'
import { invalidField, type JsonObject } from '../domain/fields.ts'
import { formatInstant } from '../domain/instant.ts'
import { pageFor, parseProjectStoreQuery, type StoreQuery } from '../domain/query.ts'
import {
  changeStore,
  type NewStore,
  parseNewStore,
  parseStoreChange,
  parseStoreQuery,
  STORE_SECRETS,
  type Store,
  type StoreChange,
  withoutStoreSecrets,
} from '../domain/store.ts'
import { TillError } from '../errors.ts'
import { pagesOf } from '../storage/pages.ts'
import {
  assertAccount,
  type Caller,
  findReachableStore,
  getNamedProject,
  getNamedStore,
} from './access.ts'
import { auditedWrite, type CallOptions, type CreateOptions, makeOnce } from './audit.ts'
import type { Context } from './context.ts'
import { createId } from './ids.ts'
import { changeSealed, sealSecrets } from './secrets.ts'

export interface Stores {
  /** Endpoint 10. The answer holds `store_config` as it was sent. */
  create(account: Account, input: NewStore, options?: CreateOptions): Promise<Store>
  /**
   * Changes what `input` holds. The type of a store and its project stay as they are. When nothing
   * differs, nothing is written, and no audit entry either.
   */
  update(account: Account, input: StoreChange, options?: CallOptions): Promise<Store>
  /** Throws `store_not_found`, for a foreign one too. */
  get(caller: Caller, store_id: string): Promise<Store>
  /**
   * A page of the stores of the project that `query` names as `project_id`, in order of creation. It
   * has fewer than `limit` once they hold a mebibyte of configuration.
   */
  list(caller: Caller, query: StoreQuery): Promise<StorePage>
  /** All stores of a project, read page by page. */
  all(caller: Caller, query: Pick<StoreQuery, 'project_id'>): AsyncIterable<Store>
}

export interface StorePage {
  readonly stores: readonly Store[]
  /** The `cursor` of the next page; absent on the last. */
  readonly next?: string
}

export function createStores(context: Context): Stores {
  const { storage, now, sealer, quotas } = context
  const { storesPerProject: most, configBytes: config_bytes } = quotas
  const stores: Stores = {
    async create(account, input, options = {}) {
      assertAccount(account)
      const fields = parseNewStore(input)
      await getNamedProject(storage, account, fields.project_id, 'project_id')
      const store = {
        store_id: createId('str', now()),
        ...fields,
        account_id: account.account_id,
        created_at: formatInstant(now()),
      }
      const making = { asked: fields, made: store, subject: store.store_id }
      const { account_id, project_id } = store
      const quota = { account_id, project_id, stores: most, config_bytes }
      const made = await makeOnce(context, account, 'store.create', making, options, (write) =>
        storage.insertStore(sealSecrets(store, sealer), { ...write, quota }),
      )
      if (!made) throw invalidField('store_id', 'taken', 'is taken in this account')
      return made
    },

    async update(account, input, options) {
      assertAccount(account)
      const { store_id } = parseStoreQuery(input)
      const store = await getNamedStore(storage, account, store_id)
      const change = parseStoreChange(input, store.store_type)
      const write = auditedWrite(context, account, 'store.update', store_id, options)
      // A secret that is sealed on the way makes no change of a status too large.
      const quota = change.store_config && { account_id: store.account_id, config_bytes }
      const changed = await storage.updateStore(
        store,
        (current) => changeSealed(current, changeStore(current, change), sealer),
        quota ? { ...write, quota } : write,
      )
      return shownTo(changed as Store, change.store_config) // no store is ever removed
    },

    async get(caller, store_id) {
      const store = await findReachableStore(storage, caller, store_id)
      if (store) return withoutStoreSecrets(store)
      throw new TillError('store_not_found', 'No store has this store_id')
    },

    async list(caller, query) {
      const { project_id, ...asked } = parseProjectStoreQuery(query)
      await getNamedProject(storage, caller, project_id, 'project_id')
      const { records, ...further } = await storage.listStores(project_id, pageFor(asked))
      return { stores: records.map(withoutStoreSecrets), ...further }
    },

    async *all(caller, query) {
      for await (const page of pagesOf(({ limit, after: cursor }) =>
        stores.list(caller, { limit, ...query, cursor }),
      )) {
        yield* page.stores
      }
    },
  }
  return stores
}

/** A secret goes back only to the one who sent it. */
function shownTo(store: Store, sent: JsonObject = {}): Store {
  const shown = withoutStoreSecrets(store)
  const own = STORE_SECRETS.filter((key) => typeof sent[key] === 'string')
  const config = {
    ...shown.store_config,
    ...Object.fromEntries(own.map((key) => [key, sent[key]])),
  }
  return { ...shown, store_config: config }
}
