import type { Account } from '../domain/account.ts'
import { invalidField, type JsonObject } from '../domain/fields.ts'
import { formatInstant } from '../domain/instant.ts'
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
import { assertAccount, type Caller, getNamedProject, getNamedStore, reaches } from './access.ts'
import type { Context } from './context.ts'
import { createId } from './ids.ts'
import { sealStore } from './secrets.ts'
import { type CallOptions, type CreateOptions, makeOnce, trailOf } from './trail.ts'

export interface Stores {
  /** Endpoint 10. The answer holds `store_config` as it was sent. */
  create(account: Account, input: NewStore, options?: CreateOptions): Promise<Store>
  /** Changes what `input` holds. The type of a store and its project stay as they are. */
  update(account: Account, input: StoreChange, options?: CallOptions): Promise<Store>
  /** Throws `store_not_found`, for a foreign one too. */
  get(caller: Caller, store_id: string): Promise<Store>
  /** A project's stores, in order of creation. */
  list(caller: Caller, project_id: string): Promise<Store[]>
}

export function createStores(context: Context): Stores {
  const { storage, now, sealer } = context
  return {
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
      const made = await makeOnce(context, account, 'store.create', making, options, (trail) =>
        storage.insertStore(sealStore(store, sealer), trail),
      )
      if (!made) throw invalidField('store_id', 'taken', 'is taken in this account')
      return made
    },

    async update(account, input, options) {
      assertAccount(account)
      const { store_id } = parseStoreQuery(input)
      const store = await getNamedStore(storage, account, store_id)
      const change = parseStoreChange(input, store.store_type)
      const trail = trailOf(context, account, 'store.update', store_id, options)
      const changed = await storage.updateStore(
        store,
        (current) => sealStore(changeStore(current, change), sealer),
        trail,
      )
      return shownTo(changed as Store, change.store_config) // no store is ever removed
    },

    async get(caller, store_id) {
      const store = await storage.findStore(caller.account_id, store_id)
      if (store && reaches(caller, store)) return withoutStoreSecrets(store)
      throw new TillError('store_not_found', 'No store has this store_id')
    },

    async list(caller, project_id) {
      await getNamedProject(storage, caller, project_id, 'project_id')
      const stores = await storage.listStores(project_id)
      return stores.map(withoutStoreSecrets)
    },
  }
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
