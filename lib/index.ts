export { formatErrorReport } from './csv/error-report.ts'
export { PRESET_NAMES } from './csv/presets.ts'
export type { Account, NewAccount } from './domain/account.ts'
export type { AuditAction, AuditEntry } from './domain/audit.ts'
export { formatAmount } from './domain/currency.ts'
export type { JsonObject } from './domain/fields.ts'
export { formatInstant } from './domain/instant.ts'
export type { Item, ItemType, NewItem } from './domain/item.ts'
export {
  type NewProject,
  PLATFORMS,
  type Project,
  type ProjectChange,
  type ProjectKeyRotation,
} from './domain/project.ts'
export type { Purchase, PurchaseStatus } from './domain/purchase.ts'
export {
  type AuditArchive,
  type AuditQuery,
  type ItemQuery,
  type ListQuery,
  MAX_PAGE,
  type PurchaseQuery,
  type StoreQuery,
} from './domain/query.ts'
export type {
  DeviceInfo,
  NewToken,
  Scope,
  Session,
  SessionRequest,
  TokenIssuer,
  TokenRevocation,
} from './domain/session.ts'
export type { NewStore, Store, StoreChange, StoreType } from './domain/store.ts'
export { type ErrorCode, type ErrorDetail, type ErrorKind, excerpt, TillError } from './errors.ts'
export type { Caller } from './services/access.ts'
export type { AccountPage, Accounts, ShownKey } from './services/accounts.ts'
export type { CallOptions, CreateOptions } from './services/audit.ts'
export type { ImportSummary, ImportTotal } from './services/imports.ts'
export type { Items } from './services/items.ts'
export type {
  ArchiveOptions,
  Operations,
  RotatedKeys,
  RotationOptions,
  ShownSigningKey,
} from './services/operations.ts'
export type { ProjectPage, Projects } from './services/projects.ts'
export type {
  ImportRequest,
  ImportResult,
  PurchaseSummary,
  Purchases,
} from './services/purchases.ts'
export { DEFAULT_QUOTAS, type Quotas } from './services/quotas.ts'
export type { UnreadableSecret } from './services/secrets.ts'
export type { InitializedSession, IssuedToken, Sessions } from './services/sessions.ts'
export type { StorePage, Stores } from './services/stores.ts'
export { type CopyProgress, copyStorage } from './storage/copy.ts'
export type { Inventory } from './storage/inventory.ts'
export { createMemoryStorage } from './storage/memory.ts'
export type {
  AuditPage,
  ItemPage,
  PoolState,
  PurchasePage,
  Storage,
  StorageSize,
  StoreSummary,
} from './storage/port.ts'
export { openPostgresStorage, type PostgresOptions } from './storage/postgres.ts'
export { openSqliteStorage, type SqliteOptions } from './storage/sqlite.ts'
export { createTill, type RateLimits, type Till, type TillOptions } from './till.ts'
