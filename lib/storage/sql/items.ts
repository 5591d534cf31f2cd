import { randomBytes } from 'node:crypto'
import type { Item } from '../../domain/item.ts'
import { numberOf } from './columns.ts'
import type { Sql } from './dialect.ts'
import { findRecord } from './pages.ts'
import { find, run } from './program.ts'
import type {
  AuditedWrite,
  AuthorizedChange,
  Changed,
  Insertion,
  ItemPage,
  ItemSelection,
  Page,
  StoreKey,
  WriteOptions,
} from './records.ts'
import { ITEM_CHANGES, ITEM_ROWS, itemRecord } from './tables.ts'
import { changeRecord, insertOnce, shareOf } from './write.ts'

/** The methods for items that each database has of its own. */
export interface OwnItemMethods {
  /**
   * Lists the items of a store in order of creation. `after` is the id of an item in the store. A
   * page ends early once its text reaches `PAGE_TEXT`. Throws `store_not_found` before reading
   * items if the store does not exist or is not in the given project.
   */
  listItems(items: ItemSelection, page: Page): Promise<ItemPage>
  /**
   * Checks the account key, and inserts an item with its audit entry and idempotency record, in one
   * statement without a transaction. Resolves to false if it inserts nothing: for a taken name, a
   * known idempotency key or a revoked account key.
   */
  readonly insertAlone?: (item: Item, write: AuditedWrite) => Promise<boolean>
}

export function itemMethods(sql: Sql, { listItems, insertAlone }: OwnItemMethods) {
  const { read, write } = sql
  const lockItem = FIND_ITEM + (sql.forUpdate && `${sql.forUpdate} OF i`)
  return {
    listItems,
    /** Counts the items of an account, up to `most` of them. */
    countItems: async (account_id: string, most: number) =>
      numberOf((await read(find(COUNT_ITEMS, account_id, most)))?.n),
    findItem: (id: string) => read(findRecord<Item>(itemRecord, FIND_ITEM, id)),
    findItemByName: ({ account_id, store_id }: StoreKey, name: string) =>
      read(findRecord<Item>(itemRecord, FIND_ITEM_BY_NAME, account_id, store_id, name)),
    /** Inserts an item. Resolves to `taken` if the store has an item with this `name`. */
    async insertItem(item: Item, options: WriteOptions = {}): Promise<Insertion> {
      if (insertAlone && isSimple(options) && (await insertAlone(item, options))) return 'inserted'
      return insertOnce(sql, options, ITEM_ROWS, item) // also finds out why nothing was inserted
    },
    /**
     * Replaces an item by the result of `change`, which must have a higher `version`: see
     * `changeRecord`.
     */
    updateItem: (
      id: string,
      change: (current: Item) => Changed<Item>,
      options: AuthorizedChange = {},
    ) =>
      write(() => {
        const stored = {
          find: findRecord<Item>(itemRecord, lockItem, id),
          update: (changed: Item) =>
            run(UPDATE_ITEM, ...ITEM_CHANGES.values({ ...changed, changed: newChange() }), id),
        }
        return changeRecord(sql, stored, change, options)
      }, shareOf(options)),
  }
}

const COUNT_ITEMS = `
  SELECT count(*) AS n FROM (
    SELECT 1 FROM stores s JOIN items i ON i.store = s.seq WHERE s.account_id = ? LIMIT ?) c`
const ITEMS_WITH_STORES = `
  SELECT i.*, s.account_id, s.project_id, s.store_id FROM items i JOIN stores s ON s.seq = i.store`
const FIND_ITEM = `${ITEMS_WITH_STORES} WHERE i.id = ?`
const FIND_ITEM_BY_NAME = `
  ${ITEMS_WITH_STORES} WHERE s.account_id = ? AND s.store_id = ? AND i.name = ?`
const UPDATE_ITEM = ITEM_CHANGES.updateWhere('id = ?')

/** Whether a write has nothing to check but an account key and an idempotency key. */
function isSimple(write: WriteOptions): write is AuditedWrite {
  const { audit, authority, quota, endpoints, keyChecks } = write
  const isChecked = authority?.token ?? authority?.store ?? quota ?? endpoints ?? keyChecks
  return audit !== undefined && isChecked === undefined
}

/** Makes a statement for each value of `archived` in an `ItemSelection`. */
export function byArchived(statement: (condition: string) => string) {
  const all = statement('')
  const archived = statement('AND archived_at IS NOT NULL')
  const active = statement('AND archived_at IS NULL')
  return (value: boolean | undefined) => (value === undefined ? all : value ? archived : active)
}

/** A value for the column `changed`: nine characters of the time, then 80 random bits. */
export function newChange(): string {
  const time = Date.now().toString(36).padStart(9, '0')
  return `${time}${randomBytes(10).toString('base64url')}`
}
