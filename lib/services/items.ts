import type { Account } from '../domain/account.ts'
import { invalidField } from '../domain/fields.ts'
import { formatInstant } from '../domain/instant.ts'
import { type Item, type NewItem, parseNewItem } from '../domain/item.ts'
import { type ItemQuery, pageFor, parseItemQuery } from '../domain/query.ts'
import { TillError } from '../errors.ts'
import { pagesOf } from '../storage/pages.ts'
import type { ItemPage } from '../storage/port.ts'
import {
  assertAccount,
  assertScope,
  type Caller,
  getNamedStore,
  isSession,
  reaches,
  unknownStore,
} from './access.ts'
import { type CreateOptions, createOnce } from './audit.ts'
import type { Context } from './context.ts'
import { createId } from './ids.ts'

export interface Items {
  /** Throws `invalid_request`, also if the store already has an item with this `name`. */
  create(account: Account, input: NewItem, options?: CreateOptions): Promise<Item>
  /** Finds an item. Throws `item_not_found`, also for an item that the caller does not reach. */
  get(caller: Caller, id: string): Promise<Item>
  /**
   * Reads one page of a store's items in order of creation. A page ends before its limit once its
   * items hold 1 MiB of text. `revision` changes with each change of the store's items.
   */
  list(caller: Caller, query: ItemQuery): Promise<ItemPage>
  /** Iterates over all items of a store, and reads them page by page. */
  all(caller: Caller, query: Pick<ItemQuery, 'store_id'>): AsyncIterable<Item>
}

export function createItems(context: Context): Items {
  const { storage, now } = context
  const assertCursor = async (caller: Caller, store_id: string, cursor: string) => {
    const item = await storage.findItem(cursor)
    if (item?.store_id === store_id && reaches(caller, item)) return
    await getNamedStore(storage, caller, store_id) // it reports a wrong store_id first
    throw invalidField('cursor', 'unknown', 'must be the next of the previous page')
  }

  const items: Items = {
    async create(account, input, options = {}) {
      assertAccount(account)
      const { meta: metadata, ...rest } = parseNewItem(input)
      const fields = { ...rest, metadata }
      const store = await getNamedStore(storage, account, fields.store_id)
      const item = {
        id: createId('itm', now()),
        account_id: store.account_id,
        project_id: store.project_id,
        ...fields,
        created_at: formatInstant(now()),
      }
      const creation = { input: fields, record: item, subject: item.id }
      const created = await createOnce(
        context,
        account,
        'item.create',
        creation,
        options,
        (write) => storage.insertItem(item, write),
      )
      if (!created) throw invalidField('name', 'taken', 'is taken in this store')
      return created
    },

    async get(caller, id) {
      assertScope(caller, 'items:read')
      const item = await storage.findItem(id)
      if (item && reaches(caller, item)) return item
      throw new TillError('item_not_found', 'No item has this id')
    },

    async list(caller, query) {
      assertScope(caller, 'items:read')
      const { store_id, limit, cursor } = parseItemQuery(query)
      const page = pageFor({ limit, cursor })
      if (cursor !== undefined) await assertCursor(caller, store_id, cursor)
      const { account_id } = caller
      const reach = isSession(caller) ? { project_id: caller.project_id } : {}
      try {
        // Lists the items and checks the permission in one statement, to save a round trip.
        return await storage.listItems({ account_id, store_id, ...reach }, page)
      } catch (error) {
        if (error instanceof TillError && error.code === 'store_not_found') throw unknownStore()
        throw error
      }
    },

    async *all(caller, query) {
      for await (const page of pagesOf(({ limit, after: cursor }) =>
        items.list(caller, { ...query, limit, cursor }),
      )) {
        yield* page.items
      }
    },
  }
  return items
}
