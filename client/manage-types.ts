import type {
  Account,
  AccountKeyChange as KeyChange,
  NewAccountKey as KeyInput,
  KeyScope,
  AccountKey as StoredKey,
} from '../lib/domain/account.ts'
import type { PlanOptions } from '../lib/domain/catalog.ts'
import type { ExplainedFile } from '../lib/domain/explanation.ts'
import type { ImportSummary } from '../lib/domain/import.ts'
import type { JsonObject } from '../lib/domain/json.ts'
import type { Project as StoredProject } from '../lib/domain/project.ts'
import type { Store as StoredStore } from '../lib/domain/store.ts'
import type { PurchaseFile } from './types.ts'

export type { AuditEntry } from '../lib/domain/audit.ts'
export type { CatalogPlan, PlannedChange as CatalogChange } from '../lib/domain/catalog.ts'
export type { ExplainedColumn, Question } from '../lib/domain/explanation.ts'
export type {
  ImportRecord,
  ImportTotal,
  ImportUndoRequest,
  PassedOverCount,
} from '../lib/domain/import.ts'
export type { Item, ItemChange, ItemType, NewItem } from '../lib/domain/item.ts'
export type { JsonObject } from '../lib/domain/json.ts'
export type { Delivered, Deliveries, OrderKey, Refunded, Refunds } from '../lib/domain/order.ts'
export type {
  Buyers,
  BuyersQuery,
  ItemTotal,
  OverviewQuery,
  PurchaseOverview,
  PurchaseTotal,
  StoreTotal,
} from '../lib/domain/overview.ts'
export type { NewProject, ProjectChange, ProjectKeyRotation } from '../lib/domain/project.ts'
export type {
  Purchase,
  PurchaseStatus,
  RecordedPurchase,
  StatusChange,
} from '../lib/domain/purchase.ts'
export type { PurchaseInput } from '../lib/domain/purchase-input.ts'
export type {
  ImportQuery,
  ItemHistoryQuery,
  ItemQuery,
  ListQuery,
  OwnedQuery,
  PurchaseKey,
  PurchaseQuery,
  RecentAuditQuery,
  StoreQuery,
} from '../lib/domain/query.ts'
export type {
  Difference,
  DifferenceGroup,
  DifferenceKind,
  DifferenceTotal,
  Reconciliation,
} from '../lib/domain/reconciliation.ts'
export type { NewToken, TokenCheck, TokenState } from '../lib/domain/session.ts'
export type { NewStore, StoreChange, StoreType } from '../lib/domain/store.ts'
export type { PurchaseSummary, SummaryKey, SummaryQuery } from '../lib/domain/summary.ts'
export type { ErasedUser, UserErasure, UserQuery } from '../lib/domain/user.ts'
export type {
  WebhookChange,
  WebhookConfirmation,
  WebhookDelivery,
  WebhookDeliveryKey,
  WebhookDeliveryState,
  WebhookEndpoint,
  WebhookLogQuery,
  WebhookQuery,
  WebhookReplay,
  WebhookRequest,
} from '../lib/domain/webhook.ts'
export type { OwnedItem } from './types.ts'
export type { Account, KeyChange, KeyInput, KeyScope }

/** One page of a list. `next` is the `cursor` of the next page; missing on the last page. */
export type Page<Name extends string, T> = { readonly [N in Name]: readonly T[] } & {
  readonly next?: string
}

export interface AccountKey extends Omit<StoredKey, 'hash'> {
  /** Whether the client uses this key. */
  readonly current: boolean
}

export interface IssuedToken {
  readonly token: string
  /** ISO 8601, UTC. */
  readonly expires_at: string
  readonly expires_in_seconds: number
}

/** Only the answer to `keys.add` has the `account_key`. */
export type NewAccountKey = Omit<StoredKey, 'hash' | 'revoked_at'> & {
  readonly account_key: string
}

/** Names the secrets that are set. Their values are never in an answer. Missing in a list. */
interface WithSecrets {
  readonly secrets?: readonly string[]
}

export type Project = StoredProject & WithSecrets & WithETag
export type Store = StoredStore & WithSecrets & WithETag

/** For the option `ifMatch` of `update`. Missing in a list. */
interface WithETag {
  readonly etag?: string
}

export interface CatalogRequest extends PlanOptions {
  readonly project_id: string
  readonly catalog?: JsonObject | undefined
}

export type FileToExplain = Pick<PurchaseFile, 'store_id' | 'file' | 'onProgress'>

/** The `layout` is missing for a known format, and if no layout can be proposed. */
export type Explanation = ExplainedFile & { readonly layout?: object }

export interface ImportFile extends PurchaseFile {
  /** Whether prices are in minor units (`499`, the default) or in major units (`4.99`). */
  readonly priceUnit?: 'minor' | 'major' | undefined
  /** The name of the file's column for each field. */
  readonly map?: { readonly [field: string]: string } | undefined
}

export interface ReconcileFile extends Omit<ImportFile, 'dryRun' | 'refundsOnly' | 'undelivered'> {
  /** The start of the period: a time with its zone, or a day in UTC. */
  readonly from?: string | undefined
  /** The exclusive end of the period. */
  readonly to?: string | undefined
  /** The number of purchases that the file lacks. If it is right, they are cancelled. */
  readonly cancel_missing?: number | undefined
}

/** `import_id` is missing after a dry run. */
export type ImportResult = ImportSummary & { readonly import_id?: string }
