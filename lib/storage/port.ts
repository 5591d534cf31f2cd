import type { Account, AccountKey } from '../domain/account.ts'
import type { Item } from '../domain/item.ts'
import type { Project } from '../domain/project.ts'
import type { NewPurchase, Purchase, PurchaseField } from '../domain/purchase.ts'
import type { PurchaseFilter } from '../domain/query.ts'
import type { Store } from '../domain/store.ts'

/**
 * What tillkit asks of a database, in domain words. Every verb is one atomic step of its own, and a
 * write is durable when its promise resolves. A record goes in and comes out unchanged. A database
 * that can not be used right now (locked, full, gone) is a `TillError` `storage_unavailable`.
 */
export interface Storage {
  /** Adds an account together with its first key. */
  insertAccount(account: Account, key: AccountKey): Promise<void>
  findAccount(account_id: string): Promise<Account | undefined>
  findAccountByKeyHash(hash: string): Promise<Account | undefined>
  /** All accounts, in order of creation. */
  listAccounts(): Promise<Account[]>

  insertProject(project: Project): Promise<void>
  findProject(id: string): Promise<Project | undefined>
  findProjectByPublicKey(public_key: string): Promise<Project | undefined>
  /** An account's projects, in order of creation. */
  listProjects(account_id: string): Promise<Project[]>
  /** Replaces a project by what `change` makes of it; two at once follow one another. */
  updateProject(id: string, change: (current: Project) => Project): Promise<Project | undefined>

  /** Adds a store; false when its account has one of that `store_id`. */
  insertStore(store: Store): Promise<boolean>
  findStore(account_id: string, store_id: string): Promise<Store | undefined>
  /** A project's stores, in order of creation. */
  listStores(project_id: string): Promise<Store[]>

  /** Adds an item; false when its store has one of that `name`. */
  insertItem(item: Item): Promise<boolean>
  findItem(id: string): Promise<Item | undefined>
  /** A store's items, in order of creation. */
  listItems(store: StoreKey): Promise<Item[]>

  /** Starts an import into a store, or resolves to undefined while another one is under way there. */
  openImport(store: StoreKey, import_id: string): Promise<PurchaseImport | undefined>
  /** Those of a store's purchases that the filter lets pass, in the order of import, one page. */
  listPurchases(store: StoreKey, filter: PurchaseFilter, page: Page): Promise<PurchasePage>

  insertSigningKey(key: StoredSigningKey): Promise<void>
  /** Adds a key unless there is one: of several that do so at once, one is added. */
  insertFirstSigningKey(key: StoredSigningKey): Promise<void>
  /** The keys that sign tokens, oldest first. */
  listSigningKeys(): Promise<StoredSigningKey[]>
  /** Takes keys away; a kid that none has is passed over. */
  deleteSigningKeys(kids: readonly string[]): Promise<void>

  close(): Promise<void>
}

/** What names a store: its id is unique within its account only. */
export type StoreKey = Pick<Store, 'account_id' | 'store_id'>

/** `after` is a page's `next`, from the same storage. */
export interface Page {
  readonly limit: number
  readonly after?: string
}

export interface PurchasePage {
  readonly purchases: Purchase[]
  /** Where the next page begins; absent on the last. */
  readonly next?: string
}

export interface StoredSigningKey {
  readonly kid: string
  readonly secret: Uint8Array
  readonly created_at: string
}

/**
 * An import under way. Nothing of it is seen before `commit`, and all of it after. It never shares a
 * transaction with other writes, and holds no lock between calls.
 */
export interface PurchaseImport {
  /** Adds rows that follow those staged before. What becomes of them may be told later. */
  stage(rows: readonly NewPurchase[]): Promise<StagedRows>
  /** Ends the staging: tells what became of all rows not yet told of. */
  finish(): Promise<StagedRows>
  /** Lets all be seen; after `finish`. */
  commit(): Promise<void>
  /** Takes back all that was staged. */
  abort(): Promise<void>
}

/** What became of rows. A transaction that is there already is judged by `judgeRepeat`. */
export interface StagedRows {
  readonly added: number
  readonly skipped: number
  readonly updated: number
  readonly conflicts: readonly { readonly line: number; readonly field: PurchaseField }[]
  /** The lines whose sku names no item of the store; such rows are left out. */
  readonly unknown: readonly number[]
}
