import type { Account } from '../domain/account.ts'
import { invalidField } from '../domain/fields.ts'
import { formatInstant } from '../domain/instant.ts'
import { parseNewStore, type Store, withoutStoreSecrets } from '../domain/store.ts'
import { TillError } from '../errors.ts'
import { assertAccount, type Caller, getNamedProject, reaches } from './access.ts'
import type { Context } from './context.ts'
import { createId } from './ids.ts'

export interface Stores {
  /** Endpoint 10. The answer holds `store_config` as it was sent. */
  create(account: Account, input: unknown): Promise<Store>
  /** Throws `store_not_found`, for a foreign one too. */
  get(caller: Caller, store_id: string): Promise<Store>
  /** A project's stores, in order of creation. */
  list(caller: Caller, project_id: string): Promise<Store[]>
}

export function createStores({ storage, now }: Context): Stores {
  return {
    async create(account, input) {
      assertAccount(account)
      const fields = parseNewStore(input)
      await getNamedProject(storage, account, fields.project_id, 'project_id')
      const store = {
        store_id: createId('str', now()),
        ...fields,
        account_id: account.account_id,
        created_at: formatInstant(now()),
      }
      const inserted = await storage.insertStore(store)
      if (inserted === 'taken') throw invalidField('store_id', 'taken', 'is taken in this account')
      return store
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
