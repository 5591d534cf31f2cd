import { PLATFORMS } from './domain/project.ts'
import { TillError } from './errors.ts'
import { type Accounts, createAccounts } from './services/accounts.ts'
import type { Context } from './services/context.ts'
import { createItems, type Items } from './services/items.ts'
import { createProjects, type Projects } from './services/projects.ts'
import { createPurchases, type Purchases } from './services/purchases.ts'
import { createSessions, type Sessions } from './services/sessions.ts'
import { createStores, type Stores } from './services/stores.ts'
import type { Storage } from './storage/port.ts'
import { createFixedKeyring, createStoredKeyring } from './token/keyring.ts'

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
  /** Resolves when the storage answers; throws `storage_unavailable` when it does not. */
  ready(): Promise<void>
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
    ready: () => assertReady(options.storage),
    close: () => options.storage.close(),
  }
}

async function assertReady(storage: Storage): Promise<void> {
  try {
    await storage.listSigningKeys()
  } catch {
    throw new TillError('storage_unavailable', 'The storage does not answer')
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
  if (!Number.isInteger(tokenLifetime) || tokenLifetime < 60 || tokenLifetime > 86_400) {
    throw new TypeError('tokenLifetime must be whole seconds from 60 to 86400')
  }
  const shelf = {
    list: () => storage.listSigningKeys(),
    insertFirst: (key: { kid: string; secret: Uint8Array }) =>
      storage.insertFirstSigningKey({ ...key, created_at: new Date(now()).toISOString() }),
  }
  const keyring =
    tokenSecret === undefined ? createStoredKeyring(shelf, now) : createFixedKeyring(tokenSecret)
  return { storage, now, keyring, platforms, tokenLifetime, issuer }
}
