import type { AuditEntry } from '../../domain/audit.ts'
import type { Item } from '../../domain/item.ts'
import type { Project } from '../../domain/project.ts'
import type { Store } from '../../domain/store.ts'
import type { StoreKey } from './stores.ts'

/**
 * The items of a store to list: all, only the archived ones (`true`), or only the active ones
 * (`false`). If `project_id` is given, the store must be in that project.
 */
export type ItemSelection = StoreKey &
  Partial<Pick<Item, 'project_id'>> & { readonly archived?: boolean }

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

/** The changed records of a catalog, and the audit entries of these changes. */
export interface CatalogChanges {
  readonly project_id: string
  /** The result of `findCatalogState` on which the changes are based. */
  readonly state: string
  /** The changed project. Missing if only stores and items change. */
  readonly project?: Project | undefined
  readonly newStores: readonly Store[]
  readonly stores: readonly Store[]
  readonly newItems: readonly Item[]
  /** The changed items. Each has the next `version`. */
  readonly items: readonly Item[]
  readonly entries: readonly AuditEntry[]
}
