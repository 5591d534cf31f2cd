import type { Account } from '../domain/account.ts'
import { invalidField } from '../domain/fields.ts'
import { formatInstant } from '../domain/instant.ts'
import { parseNewStore, type Store, withoutStoreSecrets } from '../domain/store.ts'
import { TillError } from '../errors.ts'
import { assertAccount, type Caller, getNamedProject, reaches } from './access.ts'
import type { Context } from './context.ts'
import { createId } from './ids.ts'
import { sealStore } from './secrets.ts'
import { type CreateOptions, makeOnce } from './trail.ts'

export interface Stores {
  /** Endpoint 10. The answer holds `store_config` as it was sent. */
  create(account: Account, input: unknown, options?: CreateOptions): Promise<Store>
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
