export { type Client, createClient } from './client.ts'
export { type ErrorDetail, TillError } from './errors.ts'
export type { CallOptions, ClientOptions, CreateOptions } from './options.ts'
export type {
  AccessToken,
  Chunks,
  CreatedItem,
  DeviceInfo,
  ImportResult,
  InitializedSession,
  Item,
  ItemPage,
  ItemQuery,
  ItemType,
  JsonObject,
  NewItem,
  NewProject,
  NewStore,
  OwnedItem,
  OwnedPage,
  OwnedQuery,
  Progress,
  Project,
  ProjectChange,
  PurchaseFile,
  Session,
  Store,
  StoreType,
} from './types.ts'
