import type { Account } from '../domain/account.ts'
import { invalidField } from '../domain/fields.ts'
import { formatInstant } from '../domain/instant.ts'
import { type Item, parseNewItem } from '../domain/item.ts'
import { parseStoreQuery } from '../domain/store.ts'
import { TillError } from '../errors.ts'
import { assertAccount, assertScope, type Caller, getNamedStore, reaches } from './access.ts'
import type { Context } from './context.ts'
import { createId } from './ids.ts'

export interface Items {
  /** Endpoint 4. */
  create(account: Account, input: unknown): Promise<Item>
  /** Endpoint 6. Throws `item_not_found`, for a foreign one too. */
  get(caller: Caller, id: string): Promise<Item>
  /** Endpoint 5: the items of the store that `input` names as `store_id`, in order of creation. */
  list(caller: Caller, input: unknown): Promise<Item[]>
}

export function createItems({ storage, now }: Context): Items {
  return {
    async create(account, input) {
      assertAccount(account)
      const { meta, ...fields } = parseNewItem(input)
      const store = await getNamedStore(storage, account, fields.store_id)
      const item = {
        id: createId('itm', now()),
        account_id: store.account_id,
        project_id: store.project_id,
        ...fields,
        metadata: meta,
        created_at: formatInstant(now()),
      }
      const inserted = await storage.insertItem(item)
      if (!inserted) throw invalidField('name', 'taken', 'is taken in this store')
      return item
    },

    async get(caller, id) {
      assertScope(caller, 'items:read')
      const item = await storage.findItem(id)
      if (item && reaches(caller, item)) return item
      throw new TillError('item_not_found', 'No item has this id')
    },

    async list(caller, input) {
      assertScope(caller, 'items:read')
      const store = await getNamedStore(storage, caller, parseStoreQuery(input).store_id)
      return storage.listItems(store)
    },
  }
}
