import { PLATFORMS } from './domain/project.ts'
import { type Accounts, createAccounts } from './services/accounts.ts'
import type { Context } from './services/context.ts'
import { createItems, type Items } from './services/items.ts'
import { createProjects, type Projects } from './services/projects.ts'
import { createPurchases, type Purchases } from './services/purchases.ts'
import { createSessions, type Sessions } from './services/sessions.ts'
import { createStores, type Stores } from './services/stores.ts'
import type { Storage } from './storage/port.ts'
import {
  createFixedKeyring,
  createStoredKeyring,
  type KeyShelf,
  MAX_LIFETIME,
} from './token/keyring.ts'

export interface TillOptions {
  readonly storage: Storage
  /** Signs the tokens in place of the keys kept in the storage; at least 32 bytes. */
  readonly tokenSecret?: string | Uint8Array
  /** Seconds that a token is valid, 60 to 86400; 3600 unless told. */
  readonly tokenLifetime?: number
  /** The `iss` of tokens; `tillkit` unless told. */
  readonly issuer?: string
  /** The platforms that projects may have; all of the specification's unless told. */
  readonly platforms?: readonly string[]
  /** Unix milliseconds; for tests. */
  readonly now?: () => number
}

/** The whole service. An operation takes who is calling first, and reaches what that caller may. */
export interface Till {
  readonly accounts: Accounts
  readonly projects: Projects
  readonly stores: Stores
  readonly items: Items
  readonly sessions: Sessions
  readonly purchases: Purchases
  /** Closes the storage. */
  close(): Promise<void>
}

/**
 * The service on a storage. Throws a TypeError for options that it can not work with.
 *
 * @example
 * const till = createTill({ storage: createMemoryStorage() })
 * const account = await till.accounts.create({ name: 'Studio' })
 */
export function createTill(options: TillOptions): Till {
  const context = createContext(options)
  return {
    accounts: createAccounts(context),
    projects: createProjects(context),
    stores: createStores(context),
    items: createItems(context),
    sessions: createSessions(context),
    purchases: createPurchases(context),
    close: () => options.storage.close(),
  }
}

function createContext(options: TillOptions): Context {
  const {
    storage,
    tokenSecret,
    tokenLifetime = 3600,
    issuer = 'tillkit',
    platforms = PLATFORMS,
    now = Date.now,
  } = options
  if (!storage) throw new TypeError('createTill needs a storage: see openSqliteStorage')
  if (!Number.isInteger(tokenLifetime) || tokenLifetime < 60 || tokenLifetime > MAX_LIFETIME) {
    throw new TypeError(`tokenLifetime must be whole seconds from 60 to ${MAX_LIFETIME}`)
  }
  const shelf: KeyShelf = {
    list: () => storage.listSigningKeys(),
    insertFirst: (key) => storage.insertFirstSigningKey(key),
    insert: (key) => storage.insertSigningKey(key),
    delete: (kids) => storage.deleteSigningKeys(kids),
  }
  const keyring =
    tokenSecret === undefined ? createStoredKeyring(shelf, now) : createFixedKeyring(tokenSecret)
  return { storage, now, keyring, platforms, tokenLifetime, issuer }
}
