import type { Account } from '../lib/domain/account.ts'
import type { JsonObject } from '../lib/domain/fields.ts'
import type { ImportDetails, PassedOverCount } from '../lib/domain/import.ts'
import type { Project as StoredProject } from '../lib/domain/project.ts'
import type { Purchase, UnequalCount } from '../lib/domain/purchase.ts'
import type { Store as StoredStore } from '../lib/domain/store.ts'
import type { PurchaseFile } from './types.ts'

export type { AuditEntry } from '../lib/domain/audit.ts'
export type { JsonObject } from '../lib/domain/fields.ts'
export type { ImportRecord, ImportTotal, PassedOverCount } from '../lib/domain/import.ts'
export type { Item, ItemChange, ItemType, NewItem } from '../lib/domain/item.ts'
export type {
  Buyers,
  BuyersQuery,
  OverviewFigures,
  OverviewQuery,
  PurchaseOverview,
  PurchaseTotal,
} from '../lib/domain/overview.ts'
export type { NewProject, ProjectChange } from '../lib/domain/project.ts'
export type { Purchase, PurchaseStatus } from '../lib/domain/purchase.ts'
export type { PurchaseInput } from '../lib/domain/purchase-input.ts'
export type {
  ItemQuery,
  ListQuery,
  OwnedQuery,
  PurchaseQuery,
} from '../lib/domain/query.ts'
export type { NewStore, StoreChange, StoreType } from '../lib/domain/store.ts'
export type { PurchaseSummary, SummaryKey, SummaryQuery } from '../lib/domain/summary.ts'
export type { ErasedUser } from '../lib/domain/user.ts'
export type {
  WebhookDelivery,
  WebhookDeliveryState,
  WebhookEndpoint,
  WebhookRequest,
} from '../lib/domain/webhook.ts'
export type { OwnedItem } from './types.ts'
export type { Account }

/** One page of a list. `next` is the `cursor` of the next page; missing on the last page. */
export type Page<Name extends string, T> = { readonly [N in Name]: readonly T[] } & {
  readonly next?: string
}

export interface AccountKey {
  readonly key_id: string
  readonly account_id: string
  readonly created_at: string
  readonly revoked_at?: string
  /** Whether the client uses this key. */
  readonly current: boolean
}

export interface NewAccountKey extends Pick<AccountKey, 'key_id' | 'account_id' | 'created_at'> {
  /** Only this answer has it. */
  readonly account_key: string
}

/** Names the secrets that are set. Their values are never in an answer. Missing in a list. */
interface WithSecrets {
  readonly secrets?: readonly string[]
}

export type Project = StoredProject & WithSecrets
export type Store = StoredStore & WithSecrets

// The following types repeat those of `lib/services`. Importing them would require the types of Node.

export interface CatalogRequest {
  readonly catalog: JsonObject
  readonly archive_missing?: boolean | undefined
  readonly create_stores?: boolean | undefined
  /** Ignores the project and the store settings of the catalog. */
  readonly items_only?: boolean | undefined
  /** With `items_only`: the store of the project for a store of the catalog. */
  readonly as?: { readonly [store_id: string]: string } | undefined
}

export interface CatalogPlan {
  readonly project_id: string
  /** Identifies the state of the catalog that the plan was made from. */
  readonly digest: string
  readonly created: number
  readonly updated: number
  readonly archived: number
  readonly restored: number
  readonly unchanged: number
  /** The number of active items that the catalog does not have, and that stay. */
  readonly missing: number
  readonly unset_variables: readonly string[]
  /** The first 1,000 changes. */
  readonly changes: readonly CatalogChange[]
}

export interface CatalogChange {
  readonly action: 'create' | 'update' | 'archive' | 'restore'
  readonly kind: 'project' | 'store' | 'item'
  readonly store_id?: string
  readonly name?: string
  readonly fields?: {
    readonly [field: string]: { readonly from: unknown; readonly to: unknown }
  }
  readonly item?: JsonObject
}

export interface RecordedPurchase {
  readonly outcome: 'added' | 'updated' | 'skipped'
  /** Missing when the purchase was deleted with its user. */
  readonly purchase?: Purchase
}

/** How to read a purchase file. */
export interface ImportOptions
  extends Pick<PurchaseFile, 'fileName' | 'dryRun' | 'preset' | 'layout' | 'skus' | 'refundsOnly'> {
  /** Whether prices are in minor units (`499`, the default) or in major units (`4.99`). */
  readonly priceUnit?: 'minor' | 'major' | undefined
  /** The name of the file's column for each field. */
  readonly map?: { readonly [field: string]: string } | undefined
  readonly onProgress?: PurchaseFile['onProgress']
}

export interface ImportResult
  extends Omit<ImportDetails, 'actor' | 'file_name' | 'bytes' | 'sha256' | 'finished_at'> {
  /** Missing after a dry run. */
  readonly import_id?: string
  readonly ignored_columns: readonly string[]
  /** The rows that were passed over: up to 20 reasons, and `others`. */
  readonly passed_over_reasons: readonly PassedOverCount[]
  /** The rows with values that the stored purchases lack or have otherwise. */
  readonly unequal: readonly UnequalCount[]
  /** The preset that fits the header, if the file was read by a map without a preset. */
  readonly fitting_preset?: string
}
