import { PLATFORMS } from '../domain/project.ts'
import type { Storage } from '../storage/port.ts'
import {
  createFixedKeyring,
  createStoredKeyring,
  type KeyStore,
  MAX_LIFETIME,
} from '../token/keyring.ts'
import { createKeyUses } from './key-uses.ts'
import { createFileCalls, createLongCalls } from './long-calls.ts'
import { parseQuotas, type Quotas } from './quotas.ts'
import { createRowQuotas } from './row-quotas.ts'
import { createSealer } from './sealer.ts'

const DAY_MS = MAX_LIFETIME * 1000

export interface TillOptions {
  readonly storage: Storage
  /** A secret of at least 32 bytes that signs the tokens, instead of the keys in the storage. */
  readonly tokenSecret?: string | Uint8Array | undefined
  /** Milliseconds that a token is valid, one minute to one day; default one hour. */
  readonly tokenLifetime?: number | undefined
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
  readonly platforms?: readonly string[] | undefined
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

export type Context = ReturnType<typeof createContext>

/** The state that all services share: the storage, the clock and the settings. */
export function createContext(options: TillOptions) {
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
  const allQuotas = parseQuotas(quotas)
  return {
    storage,
    ...parseRetries(webhooks),
    longCalls: createLongCalls(storage.poolState?.().size),
    reconciliations: createFileCalls(),
    catalogPlans: createFileCalls(),
    keyUses: createKeyUses(storage, now),
    now,
    keyring,
    platforms,
    tokenLifetime,
    issuer,
    lockdown,
    sealer: createSealer(masterKeys),
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
