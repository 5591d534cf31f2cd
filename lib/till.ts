import { PLATFORMS } from './domain/project.ts'
import { type Accounts, createAccounts } from './services/accounts.ts'
import type { Context } from './services/context.ts'
import { createItems, type Items } from './services/items.ts'
import { createOperations, type Operations } from './services/operations.ts'
import { createProjects, type Projects } from './services/projects.ts'
import { createPurchases, type Purchases } from './services/purchases.ts'
import { type Quotas, quotasOf } from './services/quotas.ts'
import { createSealer } from './services/secrets.ts'
import { createSessions, type Sessions } from './services/sessions.ts'
import { createStores, type Stores } from './services/stores.ts'
import type { Storage } from './storage/port.ts'
import {
  createFixedKeyring,
  createStoredKeyring,
  type KeyStore,
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
  /**
   * 32 bytes under which the secrets of projects and stores are stored (AES-256-GCM); in clear
   * without. Of several the first seals, and all open: so that one can take another's place.
   */
  readonly masterKeys?: readonly Uint8Array[]
  /** Whether tokens got with a public key only read items; off unless told. */
  readonly lockdown?: boolean
  /** The platforms that projects may have; all of the specification's unless told. */
  readonly platforms?: readonly string[]
  /** What an account may have; those left out are as in `Quotas`. */
  readonly quotas?: Partial<Quotas>
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
  readonly operations: Operations
  readonly rateLimits: RateLimits
  /** Closes the storage. */
  close(): Promise<void>
}

/** Token buckets that all servers on one storage share. */
export interface RateLimits {
  /**
   * Consumes from the named buckets. A cost is the time in which the bucket refills it. `elapsed` is
   * the time since the previous call. Resolves to the time until each bucket is full; negative when
   * it already is. All times are in milliseconds.
   */
  consume(costs: ReadonlyMap<string, number>, elapsed: number): Promise<ReadonlyMap<string, number>>
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
    operations: createOperations(context),
    rateLimits: { consume: (costs, elapsed) => options.storage.consumeBuckets(costs, elapsed) },
    close: () => options.storage.close(),
  }
}

function createContext(options: TillOptions): Context {
  const {
    storage,
    tokenSecret,
    tokenLifetime = 3600,
    issuer = 'tillkit',
    masterKeys = [],
    lockdown = false,
    platforms = PLATFORMS,
    quotas = {},
    now = Date.now,
    ...others
  } = options
  const [unknown] = Object.keys(others)
  if (unknown !== undefined) throw new TypeError(`createTill has no option ${unknown}`)
  if (typeof storage?.findItem !== 'function') {
    throw new TypeError('createTill needs a storage: await openSqliteStorage(…)')
  }
  const strange = platforms.find((each) => !(PLATFORMS as readonly string[]).includes(each))
  if (strange !== undefined) {
    throw new TypeError(`platforms must be of ${PLATFORMS.join(', ')}, not ${strange}`)
  }
  if (!Number.isInteger(tokenLifetime) || tokenLifetime < 60 || tokenLifetime > MAX_LIFETIME) {
    throw new TypeError(`tokenLifetime must be whole seconds from 60 to ${MAX_LIFETIME}`)
  }
  const keyStore: KeyStore = {
    list: () => storage.listSigningKeys(),
    insertFirst: (key) => storage.insertFirstSigningKey(key),
  }
  const keyring =
    tokenSecret === undefined ? createStoredKeyring(keyStore, now) : createFixedKeyring(tokenSecret)
  const sealer = createSealer(masterKeys)
  return {
    storage,
    now,
    keyring,
    platforms,
    tokenLifetime,
    issuer,
    lockdown,
    sealer,
    quotas: quotasOf(quotas),
  }
}
