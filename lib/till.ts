import { PLATFORMS } from './domain/project.ts'
import { type Accounts, createAccounts } from './services/accounts.ts'
import { type Catalogs, createCatalog } from './services/catalog.ts'
import { type ChangeListener, createChanges } from './services/change-events.ts'
import type { Context } from './services/context.ts'
import { createImports, type Imports } from './services/imports.ts'
import { createItems, type Items } from './services/items.ts'
import { createKeyUses } from './services/key-uses.ts'
import { createLongCalls } from './services/long-calls.ts'
import { createOperations, type Operations } from './services/operator.ts'
import { createOutbox, type Outbox } from './services/outbox.ts'
import { createProjects, type Projects } from './services/projects.ts'
import { createPurchases, type Purchases } from './services/purchases.ts'
import { parseQuotas, type Quotas } from './services/quotas.ts'
import { createRevision } from './services/revision.ts'
import { createRowQuotas } from './services/row-quotas.ts'
import { createSealer } from './services/secrets.ts'
import { createSessions, type Sessions } from './services/sessions.ts'
import { createStores, type Stores } from './services/stores.ts'
import { createUsers, type Users } from './services/users.ts'
import { createWebhooks, type Webhooks } from './services/webhooks.ts'
import type { Revision, Storage, Together } from './storage/port.ts'
import {
  createFixedKeyring,
  createStoredKeyring,
  type KeyStore,
  MAX_LIFETIME,
} from './token/keyring.ts'

const DAY_MS = MAX_LIFETIME * 1000

export interface TillOptions {
  readonly storage: Storage
  /** A secret of at least 32 bytes that signs the tokens, instead of the keys in the storage. */
  readonly tokenSecret?: string | Uint8Array
  /** Milliseconds that a token is valid, one minute to one day; default one hour. */
  readonly tokenLifetime?: number
  /** The `iss` of tokens; default `tillkit`. */
  readonly issuer?: string
  /**
   * Keys of 32 bytes that encrypt the stored secrets of projects and stores (AES-256-GCM). The
   * first key encrypts; all keys decrypt. Without a key, secrets are stored unencrypted.
   */
  readonly masterKeys?: readonly Uint8Array[]
  /** Whether tokens that clients get with a public key can only read items; default false. */
  readonly lockdown?: boolean
  /** The platforms that a project may have; default: all platforms in the specification. */
  readonly platforms?: readonly string[]
  /** Limits of each account; see `Quotas` for the defaults. */
  readonly quotas?: Partial<Quotas>
  readonly webhooks?: WebhookOptions
  /** Returns the current time in Unix milliseconds; for tests. */
  readonly now?: () => number
}

export interface WebhookOptions {
  /**
   * The delay before each retry in milliseconds. The last value applies to all further retries.
   * Default: 5 s, 30 s, 2 min, 15 min, 1 h, 6 h.
   */
  readonly retries?: readonly number[] | undefined
  /**
   * Milliseconds after which a message is no longer retried; default three days. The time begins
   * when the message is created, replayed or resumed.
   */
  readonly giveUpAfter?: number | undefined
}

/**
 * The object through which a program uses tillkit. These rules hold for all methods:
 *
 * - Most methods take the **caller** first, an account or a session, and act only on its records. A
 *   record of another account throws the same error as an unknown record.
 * - Records, inputs and queries have the field names of the HTTP API (`store_id`). Options are
 *   camelCase.
 * - Times in records are ISO 8601 strings in UTC. Durations are milliseconds.
 * - Prices in records are whole numbers of minor units (`499` is 4.99 USD). Prices in inputs are
 *   strings of digits.
 * - An unknown field of an input throws `invalid_request`. An unknown option, or a caller that is
 *   neither an account nor a session, throws a `TypeError`.
 * - A `list` method returns one page. Pass its `next` as the `cursor` of the next call; the last page
 *   has no `next`. `all` iterates over all pages.
 * - A method that adds data throws `quota_exceeded` if the account would exceed a quota.
 */
export interface Till extends AsyncDisposable {
  readonly accounts: Accounts
  readonly projects: Projects
  readonly stores: Stores
  readonly items: Items
  readonly catalog: Catalogs
  readonly sessions: Sessions
  readonly purchases: Purchases
  readonly imports: Imports
  readonly users: Users
  readonly operations: Operations
  readonly webhooks: Webhooks
  /** The operations of the webhook sender. */
  readonly outbox: Outbox
  /**
   * Call it once for each request. The returned function runs the library calls of the request.
   * Reads that such a call begins synchronously may return data from the start of the request,
   * because they share one version check of the database. Later reads are current.
   */
  together(): Together
  /**
   * Lets a program check whether its cached answers are still correct. Missing in some storages.
   */
  readonly revision?: Revision
  /**
   * Calls the listener for each change that is committed from now on, by any process on the
   * storage. It is called soon after a commit of this process, and within a second after a commit
   * of another. The listener delays no write, and its errors are ignored. Returns a function that
   * removes it.
   */
  on(name: 'change', listener: ChangeListener): () => void
  /** Closes the storage. `await using` calls it too. */
  close(): Promise<void>
}

/**
 * Creates a till on a storage. Throws a TypeError for wrong options.
 *
 * @example
 * const till = createTill({ storage: createMemoryStorage() })
 * const account = await till.accounts.create({ name: 'Studio' })
 */
export function createTill(options: TillOptions): Till {
  const context = createContext(options)
  const changes = createChanges(context)
  const revision = createRevision(context)
  const close = async () => {
    changes.close()
    await context.keyUses.close()
    await options.storage.close()
  }
  return {
    accounts: createAccounts(context),
    projects: createProjects(context),
    stores: createStores(context),
    items: createItems(context),
    catalog: createCatalog(context),
    sessions: createSessions(context),
    purchases: createPurchases(context),
    imports: createImports(context),
    users: createUsers(context),
    operations: createOperations(context),
    webhooks: createWebhooks(context),
    outbox: createOutbox(context),
    together: () => options.storage.together?.() ?? callOnly,
    ...(revision && { revision }),
    on: changes.on,
    close,
    [Symbol.asyncDispose]: close,
  }
}

function callOnly<T>(call: () => T): T {
  return call()
}

function createContext(options: TillOptions): Context {
  if (typeof options?.storage?.findItem !== 'function') {
    throw new TypeError('createTill needs a storage: { storage: await openSqliteStorage(…) }')
  }
  const {
    storage,
    tokenSecret,
    tokenLifetime = 3_600_000,
    issuer = 'tillkit',
    masterKeys = [],
    lockdown = false,
    platforms = PLATFORMS,
    quotas = {},
    webhooks = {},
    now = Date.now,
    ...others
  } = options
  const [unknown] = Object.keys(others)
  if (unknown !== undefined) throw new TypeError(`createTill has no option ${unknown}`)
  const unknownPlatform = platforms.find((each) => !(PLATFORMS as readonly string[]).includes(each))
  if (unknownPlatform !== undefined) {
    throw new TypeError(`platforms must be of ${PLATFORMS.join(', ')}, not ${unknownPlatform}`)
  }
  if (!(Number.isInteger(tokenLifetime) && tokenLifetime >= 60_000 && tokenLifetime <= DAY_MS)) {
    throw new TypeError(`tokenLifetime must be whole milliseconds from 60000 to ${DAY_MS}`)
  }
  const keyStore: KeyStore = {
    list: () => storage.listSigningKeys(),
    insertFirst: (key) => storage.insertFirstSigningKey(key),
  }
  const keyring =
    tokenSecret === undefined ? createStoredKeyring(keyStore, now) : createFixedKeyring(tokenSecret)
  const sealer = createSealer(masterKeys)
  const allQuotas = parseQuotas(quotas)
  return {
    storage,
    ...parseRetries(webhooks),
    longCalls: createLongCalls(storage.poolState?.().size),
    keyUses: createKeyUses(storage, now),
    now,
    keyring,
    platforms,
    tokenLifetime,
    issuer,
    lockdown,
    sealer,
    quotas: allQuotas,
    rowQuotas: createRowQuotas(allQuotas, storage),
  }
}

const HOUR_MS = 3_600_000
const RETRIES = [5_000, 30_000, 2 * 60_000, 15 * 60_000, HOUR_MS, 6 * HOUR_MS]

function parseRetries({ retries = RETRIES, giveUpAfter = 3 * DAY_MS, ...others }: WebhookOptions) {
  const [unknown] = Object.keys(others)
  if (unknown !== undefined) throw new TypeError(`webhooks has no option ${unknown}`)
  const isTime = (each: unknown) => Number.isInteger(each) && (each as number) >= 0
  if (!Array.isArray(retries) || retries.length === 0 || !retries.every(isTime)) {
    throw new TypeError('webhooks.retries must be whole milliseconds')
  }
  if (!isTime(giveUpAfter)) throw new TypeError('webhooks.giveUpAfter must be whole milliseconds')
  return { retries: retries as readonly number[], giveUpAfter }
}
