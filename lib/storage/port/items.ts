import type { AuditEntry } from '../../domain/audit.ts'
import type { Item, ItemFields } from '../../domain/item.ts'
import type { Project } from '../../domain/project.ts'
import type { Store } from '../../domain/store.ts'
import type { StoreOfProject } from './stores.ts'

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
