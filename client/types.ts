import type { ItemAnswer } from '../http/answers.ts'
import type { ImportSummary } from '../lib/domain/import.ts'
import type {
  NewProject as ProjectInput,
  ProjectChange as StoredProjectChange,
} from '../lib/domain/project.ts'
import type { OwnedQuery as UserOwnedQuery } from '../lib/domain/query.ts'

export type {
  AccessTokenAnswer as AccessToken,
  CreatedItemAnswer as CreatedItem,
  InitializedSessionAnswer as InitializedSession,
  ItemAnswer as Item,
  ProjectAnswer as Project,
  SessionAnswer as Session,
  StoreAnswer as Store,
} from '../http/answers.ts'
export type { ItemType, NewItem } from '../lib/domain/item.ts'
export type { JsonObject } from '../lib/domain/json.ts'
export type { OwnedItem, OwnedPage } from '../lib/domain/purchase.ts'
export type { DeviceInfo } from '../lib/domain/session.ts'
export type { NewStore, StoreType } from '../lib/domain/store.ts'

export interface ItemQuery {
  readonly store_id: string
  /** The maximum number of items on the page, 1 to 1000. By default, it has all of the store. */
  readonly limit?: number | undefined
  /** The `next` of the previous page. */
  readonly cursor?: string | undefined
}

export interface ItemPage {
  readonly items: readonly ItemAnswer[]
  /** The `cursor` of the next page; missing on the last page. */
  readonly next?: string
}

export type NewProject = ProjectInput & { readonly account_id: string }

export type ProjectChange = Omit<StoredProjectChange, 'status'>

export interface PurchaseFile {
  readonly store_id: string
  /**
   * The CSV file. Programs without XMLHttpRequest, such as those on Node, can also pass a stream, or
   * a function that returns a new stream. Only a stream that can be created again can be sent again.
   */
  readonly file: Blob | Uint8Array | string | Chunks | (() => Chunks)
  /** The name of the file, for the import's record. */
  readonly fileName?: string | undefined
  /** Whether to check everything but store nothing. */
  readonly dryRun?: boolean | undefined
  /** The vendor's file format. By default, the header line decides. */
  readonly preset?: string | undefined
  /** A layout that describes the file, instead of a preset. */
  readonly layout?: object | undefined
  /** The text of a CSV file that maps the vendor's SKUs (`vendor_sku`) to items (`item`). */
  readonly skus?: string | undefined
  /** Whether the file only advances the statuses of stored purchases, by their ids alone. */
  readonly refundsOnly?: boolean | undefined
  /** Whether the purchases that the import adds must still be delivered. */
  readonly undelivered?: boolean | undefined
  /** Called while the file is sent. `total` is missing for a stream. */
  readonly onProgress?: ((progress: Progress) => void) | undefined
}

export type Chunks = AsyncIterable<Uint8Array>

export interface Progress {
  readonly bytes: number
  readonly total: number | undefined
}

/** The counts of an import. All its rows are stored. */
export interface ImportResult
  extends Pick<ImportSummary, 'rows' | 'skipped' | 'updated' | 'repeated' | 'passed_over'> {
  readonly import_id: string
}

export type OwnedQuery = Omit<UserOwnedQuery, 'user_id'>
