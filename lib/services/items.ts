import { setImmediate } from 'node:timers/promises'
import type { Account } from '../domain/account.ts'
import type { AuditAction } from '../domain/audit.ts'
import { invalidField, parseObject, sentFields } from '../domain/fields.ts'
import { formatInstant } from '../domain/instant.ts'
import {
  archiveItem,
  changeItem,
  describeItemChange,
  type Item,
  type ItemChange,
  type ItemValues,
  type NewItem,
  parseItemChange,
  parseNewItem,
  restoreItem,
} from '../domain/item.ts'
import {
  type ItemHistoryQuery,
  type ItemQuery,
  itemHistoryFields,
  itemListFields,
  MAX_PAGE,
  pageFor,
} from '../domain/query.ts'
import type { Store } from '../domain/store.ts'
import { TillError } from '../errors.ts'
import { type AuditPage, type ItemPage, listAll, type Page } from '../storage/port.ts'
import {
  assertAccount,
  assertScope,
  type Caller,
  getNamedStore,
  isSession,
  reaches,
  unknownStore,
  verified,
} from './access.ts'
import {
  auditedWrite,
  type CallOptions,
  type CreateOptions,
  createOnce,
  subjectOf,
} from './audit.ts'
import type { Context } from './context.ts'
import { createId } from './ids.ts'

export interface Items {
  /**
   * Creates an item. Throws `invalid_request`, also if the store already has an item with this
   * `name`, and `quota_exceeded`.
   */
  create(account: Account, input: NewItem, options?: CreateOptions): Promise<Item>
  /**
   * Changes the fields that the input has. A change that alters nothing writes no audit entry and
   * leaves the `version`. Throws `item_not_found`, and `version_conflict` if the item has another
   * `version` than the input.
   */
  update(account: Account, input: ItemChange, options?: CallOptions): Promise<Item>
  /**
   * Takes an item out of the lists of its store. `get` still returns it, and imports accept past
   * purchases of it. Throws `item_not_found`.
   */
  archive(account: Account, id: string, options?: CallOptions): Promise<Item>
  /** Puts an archived item back into the lists, at its former place. Throws `item_not_found`. */
  restore(account: Account, id: string, options?: CallOptions): Promise<Item>
  /** Finds an item. Throws `item_not_found`, also for one that the caller has no access to. */
  get(caller: Caller, id: string): Promise<Item>
  /**
   * Reads one page of an item's history, newest first: the audit entries of all changes after its
   * creation. `data` has the old and the new price. Throws `item_not_found`.
   */
  history(account: Account, query: ItemHistoryQuery): Promise<AuditPage>
  /** Like `get`, but finds the item by name, even an archived one. */
  getByName(account: Account, store_id: string, name: string): Promise<Item>
  /**
   * One page of a store's items in order of creation: all active ones or all archived ones. A page
   * ends early when its items hold 512 KiB of text. Its `revision` changes whenever an item of the
   * store does. A search examines at most 10,000 items. Its page may then have few items or none,
   * and still a `next`.
   */
  list(caller: Caller, query: ItemQuery): Promise<ItemPage>
  /** All active or all archived items of a store, read page by page. */
  all(caller: Caller, query: Pick<ItemQuery, 'store_id' | 'archived'>): AsyncIterable<Item>
}

/** An item record of a store, with a new id. */
export function newItem({ now }: Context, store: Store, fields: ItemValues): Item {
  const { account_id, project_id, store_id } = store
  const created_at = formatInstant(now())
  return {
    id: createId('itm', now()),
    account_id,
    project_id,
    store_id,
    ...fields,
    created_at,
    version: 1,
  }
}

export function createItems(context: Context): Items {
  const { storage, now, rowQuotas } = context
  const assertCursor = async (caller: Caller, store_id: string, cursor: string) => {
    const item = await storage.findItem(cursor)
    if (item?.store_id === store_id && reaches(caller, item)) return
    await getNamedStore(storage, caller, store_id) // throws if the store_id is wrong
    throw invalidField('cursor', 'unknown', 'must be the next of the previous page')
  }

  const getItem = async (caller: Caller, id: string): Promise<Item> => {
    const item = await storage.findItem(id)
    if (item && reaches(caller, item)) return item
    throw new TillError('item_not_found', 'No item has this id')
  }

  /** A list of the item with a name, or an empty one. */
  const findListed = async (
    caller: Caller,
    { store_id, archived }: Pick<ItemQuery, 'store_id' | 'archived'>,
    name: string,
  ): Promise<ItemPage> => {
    const store = await getNamedStore(storage, caller, store_id)
    const item = await storage.findItemByName(store, name)
    if (!item || archived !== (item.archived_at !== undefined)) return { items: [], revision: '' }
    return { items: [item], revision: `${item.id} ${item.version}` }
  }

  const updateItem = async (
    account: Account,
    action: AuditAction,
    id: string,
    change: (current: Item) => Item,
    options: CallOptions | undefined,
  ): Promise<Item> => {
    const about = subjectOf(await getItem(account, id))
    const write = auditedWrite(context, account, action, about, options)
    const apply = (current: Item) => {
      const changed = change(current)
      if (changed === current) return { record: current }
      const record = { ...changed, version: current.version + 1 }
      return { record, data: describeItemChange(current, record) }
    }
    const changed = await storage.updateItem(id, apply, write)
    return changed as Item // always found, because items are never deleted
  }

  const items: Items = {
    async create(account, input, options = {}) {
      assertAccount(account, 'catalog')
      const fields = parseNewItem(input)
      // The store's record may be outdated. Only its ids are used, and they never change.
      const store = await getNamedStore(storage.stale, account, fields.store_id)
      const item = newItem(context, store, fields)
      const created = await createOnce(
        context,
        account,
        'item.create',
        {
          input: fields,
          sent: () => sentFields(fields, { ...input, ...(input.meta && { metadata: input.meta }) }),
          record: item,
        },
        options,
        async (write) => {
          if ((await rowQuotas.items.room(item.account_id)) < 1) throw rowQuotas.items.refusal()
          const insertion = await storage.insertItem(item, write)
          if (insertion === 'inserted') rowQuotas.items.add(item.account_id, 1)
          return insertion
        },
      )
      if (created) return created
      const holder = await storage.findItemByName(store, item.name)
      const message = holder?.archived_at
        ? 'is taken by an archived item in this store: restore that item'
        : 'is taken in this store'
      throw invalidField('name', 'taken', message)
    },

    async update(account, input, options) {
      assertAccount(account, 'catalog')
      const change = parseItemChange(input)
      const apply = (current: Item) => changeItem(current, change)
      return updateItem(account, 'item.update', change.id, apply, options)
    },

    async archive(account, id, options) {
      assertAccount(account, 'catalog')
      const apply = (current: Item) => archiveItem(current, formatInstant(now()))
      return updateItem(account, 'item.archive', id, apply, options)
    },

    async restore(account, id, options) {
      assertAccount(account, 'catalog')
      return updateItem(account, 'item.restore', id, restoreItem, options)
    },

    async get(caller, id) {
      assertScope(caller, 'items:read')
      return getItem(caller, id)
    },

    async history(account, query) {
      assertAccount(account, 'read')
      const { id, ...paging } = parseObject(query, itemHistoryFields)
      await items.get(account, id)
      return storage.listItemAudit(id, pageFor(paging))
    },

    async getByName(account, store_id, name) {
      assertAccount(account, 'read')
      const store = await getNamedStore(storage, account, store_id)
      const item = await storage.findItemByName(store, name)
      if (item) return item
      throw new TillError('item_not_found', 'No item of this store has this name')
    },

    async list(caller, query) {
      assertScope(caller, 'items:read')
      const parsed = parseObject(query, itemListFields)
      const { store_id, archived, search, name, limit, cursor } = parsed
      if (isSession(caller) && (archived || search !== undefined)) {
        const field = archived ? 'archived' : 'search'
        throw invalidField(field, 'forbidden', 'is for accounts only')
      }
      if (name !== undefined) {
        for (const [field, value] of Object.entries({ cursor, search })) {
          if (value !== undefined) throw invalidField(field, 'invalid', 'cannot go with name')
        }
        return findListed(caller, parsed, name)
      }
      const page = pageFor({ limit, cursor })
      if (cursor !== undefined) await assertCursor(caller, store_id, cursor)
      const { account_id } = caller
      const reach = isSession(caller) ? { project_id: caller.project_id } : {}
      try {
        // One statement lists the items and checks the permission: one round trip.
        const read = (page: Page) =>
          storage.listItems({ account_id, store_id, archived, ...reach }, page)
        return await (search === undefined ? read(page) : searchItems(read, search, page))
      } catch (error) {
        if (error instanceof TillError && error.code === 'store_not_found') throw unknownStore()
        throw error
      }
    },

    all: (caller, query) =>
      listAll(
        verified(context, caller, 'read', (page) => items.list(caller, { ...query, ...page })),
        'items',
      ),
  }
  return items
}

/** The most pages that a search reads. Each has at most 1,000 items and 512 KiB of text. */
const SEARCHED_PAGES = 10

/** Finds items whose name or display name contains `search`. Ignores case. */
async function searchItems(
  read: (page: Page) => Promise<ItemPage>,
  search: string,
  { limit, ...start }: Page,
): Promise<ItemPage> {
  const wanted = search.toLowerCase()
  const matches = ({ name, display_name }: Item) =>
    name.toLowerCase().includes(wanted) || display_name.toLowerCase().includes(wanted)
  const found: Item[] = []
  let revision: string | undefined
  let { after } = start
  for (let pages = 0; pages < SEARCHED_PAGES; pages++) {
    if (pages > 0) await setImmediate() // yields to other requests
    const page = await read({ limit: MAX_PAGE, ...(after !== undefined && { after }) })
    revision ??= page.revision
    for (const item of page.items) {
      if (found.length === limit) return { items: found, next: after as string, revision }
      after = item.id
      if (matches(item)) found.push(item)
    }
    if (page.next === undefined) return { items: found, revision }
  }
  return { items: found, next: after as string, revision: revision as string }
}
