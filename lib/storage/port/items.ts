import type { AuditEntry } from '../../domain/audit.ts'
import type { Item, ItemFields } from '../../domain/item.ts'
import type { Project } from '../../domain/project.ts'
import type { Store } from '../../domain/store.ts'
import type { Page, RecordPage } from './page.ts'
import type { StoreKey, StoreOfProject } from './stores.ts'
import type { Insertion, UpdateOptions, WriteOptions } from './write.ts'

export interface ItemMethods {
  /** Inserts an item. Resolves to `taken` if the store has an item with this `name`. */
  insertItem(item: Item, write?: WriteOptions): Promise<Insertion>
  /** Inserts items in the given order, for `copyStorage`. Skips items whose id exists. */
  insertItems(items: readonly Item[]): Promise<void>
  /** Counts the items of an account, up to `most` of them. */
  countItems(account_id: string, most: number): Promise<number>
  findItem(id: string): Promise<Item | undefined>
  findItemByName(store: StoreKey, name: string): Promise<Item | undefined>
  /**
   * Replaces an item by the result of `change`, under the rules of `updateProject`. Also adds 1 to
   * the item's `version`.
   */
  updateItem(
    id: string,
    change: (current: Item) => Item,
    write?: UpdateOptions<Item>,
  ): Promise<Item | undefined>
  /**
   * Lists the items of a store in order of creation. `after` is the id of an item in the store. A
   * page ends early once its text reaches `PAGE_TEXT`. Throws `store_not_found` before reading
   * items if the store does not exist or is not in the given project.
   */
  listItems(items: ItemSelection, page: Page): Promise<ItemPage>
}

/** The items to list: all, only the archived ones (`true`), or only the active ones (`false`). */
export type ItemSelection = StoreOfProject & { readonly archived?: boolean }

export interface ItemPage {
  readonly items: readonly Item[]
  /** The id of the last item on the page; missing on the last page. */
  readonly next?: string
  /**
   * A text that changes with every change of an item in the store. Correct only on the first page.
   * The items of the page may be newer than the revision, but never older.
   */
  readonly revision: string
}

export interface CatalogMethods {
  /**
   * A digest of a project with its stores and all items, even archived ones. Every change of one of
   * these records changes the digest. Resolves to undefined when there is no such project.
   */
  findCatalogState(project_id: string): Promise<string | undefined>
  /**
   * Lists the items of a store in order of creation, including archived ones. A page of large texts
   * ends early.
   */
  listCatalogItems(store: StoreKey, page: Page): Promise<RecordPage<Item>>
  /**
   * Writes all changes in one transaction. Writes an audit entry for each changed record, and the
   * audit entry that `write` contains. Throws `catalog_changed`, and writes nothing, if the digest
   * of the catalog is no longer `state`, or if a new name is taken.
   */
  applyCatalog(changes: CatalogChanges, write?: WriteOptions): Promise<void>
}

/** The new values of an item. `version` is the version that they replace. */
export interface CatalogItemChange extends Pick<Item, 'id' | 'version'>, Partial<ItemFields> {
  /** The time since which the item is archived. Null makes the item active again. */
  readonly archived_at?: string | null
  /** The fields of this item's audit entry that differ from those of the catalog's own entry. */
  readonly audit?: Partial<AuditEntry>
}

export interface CatalogChanges {
  readonly project_id: string
  /** The result of `findCatalogState` on which the changes are based. */
  readonly state: string
  /** A random id for this change of the items. It begins with the time, so ids sort by time. */
  readonly change_id: string
  /** The changed project. Missing if only stores and items change. */
  readonly project?: Project | undefined
  readonly newStores: readonly Store[]
  readonly stores: readonly Store[]
  /** The items to insert. Must be iterable repeatedly: each attempt to write iterates over all. */
  readonly newItems: Iterable<Item>
  readonly items: Iterable<CatalogItemChange>
}
