export { PRESET_NAMES } from './csv/presets.ts'
export type { Account } from './domain/account.ts'
export { formatAmount } from './domain/currency.ts'
export { formatInstant } from './domain/instant.ts'
export type { Item, ItemType } from './domain/item.ts'
export type { Project } from './domain/project.ts'
export type { Purchase, PurchaseStatus } from './domain/purchase.ts'
export type { Scope, Session } from './domain/session.ts'
export type { Store, StoreType } from './domain/store.ts'
export { type ErrorCode, type ErrorDetail, type ErrorKind, TillError } from './errors.ts'
export type { Caller } from './services/access.ts'
export type { Accounts } from './services/accounts.ts'
export type { ImportSummary, ImportTotal } from './services/imports.ts'
export type { ItemList, Items } from './services/items.ts'
export type { Projects } from './services/projects.ts'
export type {
  ImportRequest,
  ImportResult,
  PurchaseSummary,
  Purchases,
} from './services/purchases.ts'
export type { InitializedSession, IssuedToken, Sessions } from './services/sessions.ts'
export type { Stores } from './services/stores.ts'
export { createMemoryStorage } from './storage/memory.ts'
export type { Storage } from './storage/port.ts'
export { openSqliteStorage, type SqliteOptions } from './storage/sqlite.ts'
export { createTill, type Till, type TillOptions } from './till.ts'
