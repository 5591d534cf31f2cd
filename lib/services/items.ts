import type { Account } from '../domain/account.ts'
import { invalidField } from '../domain/fields.ts'
import { formatInstant } from '../domain/instant.ts'
import { type Item, type NewItem, parseNewItem } from '../domain/item.ts'
import { type ItemQuery, parseItemQuery } from '../domain/query.ts'
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
import { type CreateOptions, makeOnce } from './audit.ts'
import type { Context } from './context.ts'
import { createId } from './ids.ts'

export interface Items {
  /** Endpoint 4. */
  create(account: Account, input: NewItem, options?: CreateOptions): Promise<Item>
  /** Endpoint 6. Throws `item_not_found`, for a foreign one too. */
  get(caller: Caller, id: string): Promise<Item>
  /**
   * Endpoint 5: a page of the items of the store that `query` names as `store_id`, in order of
   * creation: `limit` of them at most, 1000 unless told, from `cursor` on, the `next` of the page
   * before. It has fewer once they hold a mebibyte of text, so that memory is bounded.
   */
  list(caller: Caller, query: ItemQuery): Promise<ItemPage>
  /** All items of a store, read page by page. */
  all(caller: Caller, query: ItemQuery): AsyncIterable<Item>
}

export function createItems(context: Context): Items {
  const { storage, now } = context
  const assertCursor = async (caller: Caller, store_id: string, cursor: string) => {
    const item = await storage.findItem(cursor)
    if (item?.store_id === store_id && reaches(caller, item)) return
    await getNamedStore(storage, caller, store_id) // when that is wrong too, it is told first
    throw invalidField('cursor', 'unknown', 'must be the next of the page before')
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
      const making = { asked: fields, made: item, subject: item.id }
      const made = await makeOnce(context, account, 'item.create', making, options, (write) =>
        storage.insertItem(item, write),
      )
      if (!made) throw invalidField('name', 'taken', 'is taken in this store')
      return made
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
      const page = cursor === undefined ? { limit } : { limit, after: cursor }
      if (cursor !== undefined) await assertCursor(caller, store_id, cursor)
      const { account_id } = caller
      const reach = isSession(caller) ? { project_id: caller.project_id } : {}
      try {
        // The statement that lists them checks the permission first: one round trip.
        return await storage.listItems({ account_id, store_id, ...reach }, page)
      } catch (error) {
        if (error instanceof TillError && error.code === 'store_not_found') throw unknownStore()
        throw error
      }
    },

    async *all(caller, query) {
      for await (const page of pagesOf(({ after: cursor }) =>
        items.list(caller, { ...query, cursor }),
      )) {
        yield* page.items
      }
    },
  }
  return items
}
