export { formatDifferences } from './csv/differences.ts'
export { formatErrorReport } from './csv/error-report.ts'
export type { Explanation } from './csv/explain/interface.ts'
export type { ItemColumnsOptions } from './csv/items.ts'
export { type LayoutColumns, type LayoutFile, MAX_LAYOUT_BYTES } from './csv/layout-file.ts'
export type { ColumnMap } from './csv/options.ts'
export { formatSkusTemplate, MAX_SKUS_BYTES } from './csv/skus.ts'
export {
  type Account,
  type AccountKey,
  type AccountKeyChange,
  type FirstProject,
  KEY_SCOPES,
  type KeyScope,
  type NewAccount,
  type NewAccountKey,
} from './domain/account.ts'
export type { AuditAction, AuditEntry } from './domain/audit.ts'
export {
  CATALOG_SCHEMA,
  type Catalog,
  type CatalogFileItem,
  type CatalogPlan,
  type CatalogProject,
  type CatalogStore,
  type PlannedChange,
} from './domain/catalog.ts'
export { formatAmount } from './domain/currency.ts'
export { WEBHOOK_EVENTS, type WebhookEventType } from './domain/event.ts'
export type { ExplainedColumn, Question } from './domain/explanation.ts'
export { assertSpelling } from './domain/fields.ts'
export type {
  ImportDetails,
  ImportRecord,
  ImportSummary,
  ImportTotal,
  ImportUndoRequest,
  PassedOver,
  PassedOverCount,
} from './domain/import.ts'
export {
  formatFuture,
  formatPassedOver,
  formatRepeated,
  formatUnequal,
  formatUnpriced,
} from './domain/import-texts.ts'
export { formatInstant } from './domain/instant.ts'
export {
  ITEM_TYPES,
  type Item,
  type ItemChange,
  type ItemType,
  type ItemValues,
  type NewItem,
} from './domain/item.ts'
export type { JsonObject } from './domain/json.ts'
export type { Delivered, Deliveries, OrderKey, Refunded, Refunds } from './domain/order.ts'
export type {
  BuyerCount,
  Buyers,
  BuyersQuery,
  ItemTotal,
  OverviewQuery,
  PurchaseOverview,
  PurchaseTotal,
  StoreTotal,
} from './domain/overview.ts'
export { PRESET_NAMES } from './domain/preset.ts'
export {
  type NewProject,
  PLATFORMS,
  type Project,
  type ProjectChange,
  type ProjectKeyRotation,
} from './domain/project.ts'
export {
  type OwnedItem,
  type OwnedPage,
  PURCHASE_STATUSES,
  type Purchase,
  type PurchaseField,
  type PurchaseStatus,
  type RecordedPurchase,
  type StatusChange,
} from './domain/purchase.ts'
export type { PurchaseInput } from './domain/purchase-input.ts'
export {
  type AuditArchive,
  type AuditQuery,
  type ImportQuery,
  type ItemHistoryQuery,
  type ItemQuery,
  type ListQuery,
  MAX_PAGE,
  type OwnedQuery,
  type PurchaseQuery,
  type PurchaseSelection,
  type RecentAuditQuery,
  type StoreQuery,
} from './domain/query.ts'
export {
  DIFFERENCES,
  type Difference,
  type DifferenceGroup,
  type DifferenceKind,
  type DifferenceTotal,
  type PurchaseSide,
  type Reconciliation,
} from './domain/reconciliation.ts'
export { UNEQUAL_FIELDS, type UnequalCount } from './domain/repeat.ts'
export type { AttemptResult } from './domain/retry.ts'
export type { JsonSchema } from './domain/rules.ts'
export { createManageSchemas, createSchemas } from './domain/schemas.ts'
export type {
  DeviceInfo,
  NewToken,
  Scope,
  Session,
  SessionRequest,
  TokenCheck,
  TokenIssuer,
  TokenRevocation,
  TokenState,
} from './domain/session.ts'
export {
  type NewStore,
  STORE_TYPES,
  type Store,
  type StoreChange,
  type StoreType,
} from './domain/store.ts'
export type { PurchaseSummary, SummaryKey, SummaryQuery } from './domain/summary.ts'
export type { ErasedUser, UserErasure, UserQuery } from './domain/user.ts'
export type {
  WebhookConfirmation,
  WebhookDeliveryKey,
  WebhookLogQuery,
  WebhookQuery,
  WebhookReplay,
} from './domain/webhook.ts'
export {
  WEBHOOK_DELIVERY_STATES,
  type WebhookBody,
  type WebhookDelivery,
  type WebhookDeliveryState,
  type WebhookEndpoint,
  type WebhookFailure,
  type WebhookRequest,
  type WebhookState,
} from './domain/webhook.ts'
export {
  type ErrorCode,
  type ErrorDetail,
  type ErrorKind,
  excerpt,
  MAX_DETAILS,
  type SkuSales,
  TillError,
} from './errors.ts'
export type { Caller } from './services/access.ts'
export type {
  AccountKeyInfo,
  AccountKeyPage,
  AccountPage,
  Accounts,
  CreatedAccount,
  KeyOptions,
} from './services/accounts.ts'
export type { CallOptions, CreateOptions } from './services/audit.ts'
export type { ApplyOptions, CatalogExport, Catalogs } from './services/catalog/catalog.ts'
export { type CatalogFile, parseCatalogItems, readCatalog } from './services/catalog/file.ts'
export type { CatalogRequest } from './services/catalog/plan.ts'
export type { TillOptions, WebhookOptions } from './services/context.ts'
export { type ChangeOptions, etagOf } from './services/etag.ts'
export type { Items } from './services/items.ts'
export type {
  ArchiveOptions,
  FollowedAudit,
  Operator,
  Readiness,
  RotationOptions,
  SealedSecrets,
} from './services/operator.ts'
export type { ProjectPage, Projects } from './services/projects.ts'
export type { ReconcileRequest } from './services/purchases/comparison.ts'
export type { ExplainRequest } from './services/purchases/explain.ts'
export type { ImportRequest, ImportResult } from './services/purchases/file-import.ts'
export type { ImportPage, Imports } from './services/purchases/imports.ts'
export type { OnMistake, UnknownSale } from './services/purchases/mistakes.ts'
export type {
  PurchasePage,
  Purchases,
} from './services/purchases/purchases.ts'
export { DEFAULT_QUOTAS, type Quotas } from './services/quotas.ts'
export type { NearQuota } from './services/row-quotas.ts'
export type { StoredSecret } from './services/secret-fields.ts'
export type { InitializedSession, IssuedToken, Sessions } from './services/sessions.ts'
export type { StorePage, Stores } from './services/stores.ts'
export type { EraseOptions, Users } from './services/users.ts'
export type { Backlog } from './services/webhooks/backlog.ts'
export type { ChangeEvent, ChangeListener } from './services/webhooks/change-events.ts'
export type { OutgoingMessage } from './services/webhooks/held.ts'
export type { Claim, ClaimRequest, Outbox } from './services/webhooks/outbox.ts'
export type {
  WebhookLogPage,
  WebhookPage,
  Webhooks,
} from './services/webhooks/webhooks.ts'
export { type CopyProgress, copyStorage, type Inventory } from './storage/copy.ts'
export type {
  AuditPage,
  DataVersion,
  ItemPage,
  KeyedAccount,
  OpenTransaction,
  Page,
  PoolState,
  Storage,
  StorageSize,
  StoreSummary,
  Together,
} from './storage/port.ts'
export { openPostgresStorage, type PostgresOptions } from './storage/postgres.ts'
export { createMemoryStorage, openSqliteStorage, type SqliteOptions } from './storage/sqlite.ts'
export { createTill, type Till } from './till.ts'
export type { RotatedKeys, SigningKeyInfo } from './token/keyring.ts'
