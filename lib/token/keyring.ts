import { Buffer } from 'node:buffer'
import { createHash, randomBytes } from 'node:crypto'
import { TillError } from '../errors.ts'
import { type Claims, LEEWAY, type VerifiedClaims } from './claims.ts'
import { signToken, verifyToken } from './jwt.ts'
import type { SigningKey } from './key.ts'

/** The signing keys. One of them signs new tokens, and all verify tokens. */
export interface Keyring {
  sign(claims: Claims): Promise<string>
  /** A number that increases whenever this process notices that a key was dropped. */
  version(): number
  /** Reloads the keys if they were loaded at least `HANDOVER_MS` ago. */
  refresh(): Promise<void> | undefined
  /** Verifies a token. `now` is in Unix seconds. */
  verify(token: string, expected: { iss: string; now: number }): Promise<VerifiedClaims | undefined>
  /**
   * Adds a key, which signs tokens `HANDOVER_MS` later. If `drop` is `unneeded`, drops the keys
   * that no valid token needs. If it is `others`, drops all other keys: after `HANDOVER_MS`, no
   * earlier token is valid. `replace` stores the change.
   */
  rotate(drop: 'unneeded' | 'others', replace: ReplaceKeys): Promise<RotatedKeys>
  /** Lists the keys without their secrets, oldest first. */
  list(): Promise<SigningKeyInfo[]>
}

export interface RotatedKeys {
  readonly kid: string
  readonly dropped: readonly string[]
}

export type SigningKeyInfo = Omit<StoredKey, 'secret'>

/** A signing key as it is stored. */
export interface StoredKey extends SigningKey {
  /** The time of creation; ISO 8601, UTC. */
  readonly created_at: string
}

export interface KeyStore {
  /** Lists the keys, oldest first. */
  list(): Promise<readonly StoredKey[]>
  /** Adds a key if the key store is empty. */
  insertFirst(key: StoredKey): Promise<void>
}

/**
 * Adds a key, and deletes the keys whose `kid` is in the result of `drop`, in one transaction.
 * Resolves to the `kid` of each deleted key.
 */
export type ReplaceKeys = (
  key: StoredKey,
  drop: (keys: readonly StoredKey[]) => readonly string[],
) => Promise<readonly string[]>

/** The longest lifetime of a token, in seconds. */
export const MAX_LIFETIME = 86_400

/**
 * Each process reloads the keys after this time. Until then, it may still accept a dropped key. A
 * key signs only when it is this old: all processes with the same clock have then loaded it.
 */
export const HANDOVER_MS = 5_000

/**
 * An invalid token causes a reload of the keys, but only this many milliseconds after the previous
 * reload. The token may be valid: if the clock of its server is ahead, that server already signs
 * with a key that this process has not loaded.
 */
const RELOAD_MS = 1_000

/** How long a key is kept after the next key was created. By then, its last token has expired. */
const NEEDED_MS = HANDOVER_MS + (MAX_LIFETIME + LEEWAY) * 1_000

/**
 * Creates a keyring from a key store, which several processes may share. `now` returns Unix
 * milliseconds. If the key store is empty, the first use adds a key that signs at once.
 */
export function createStoredKeyring(keyStore: KeyStore, now: () => number): Keyring {
  let keys: readonly StoredKey[] = []
  let loadedAt = Number.NEGATIVE_INFINITY
  let loading: Promise<void> | undefined
  let version = 0

  const reload = async () => {
    const startedAt = now() // the read below may miss a key that is added after this
    let stored = await keyStore.list()
    if (stored.length === 0) {
      await keyStore.insertFirst(createKey(now()))
      stored = await keyStore.list()
    }
    const loaded = stored.map((key) => keys.find((known) => isSame(known, key)) ?? key)
    if (keys.some((key) => !loaded.includes(key))) version++
    keys = loaded
    loadedAt = startedAt
  }

  /** Shares one reload between concurrent callers. */
  const load = () => {
    loading ??= reload().finally(() => {
      loading = undefined
    })
    return loading
  }

  const isOlderThan = (age: number) => Math.abs(now() - loadedAt) >= age

  return {
    version: () => version,
    refresh: () => (isOlderThan(HANDOVER_MS) ? load() : undefined),
    async sign(claims) {
      if (isOlderThan(HANDOVER_MS)) await load()
      return signToken(claims, signerOf(keys, now()))
    },
    async verify(token, expected) {
      if (isOlderThan(HANDOVER_MS)) await load()
      const claims = verifyToken(token, keys, expected)
      if (claims || !isOlderThan(RELOAD_MS)) return claims
      await load()
      return verifyToken(token, keys, expected)
    },
    async rotate(drop, replace) {
      const key = createKey(now())
      const choose = (stored: readonly StoredKey[]) =>
        drop === 'others'
          ? stored.map(({ kid }) => kid).filter((kid) => kid !== key.kid)
          : findUnneeded(stored, now())
      return { kid: key.kid, dropped: await replace(key, choose) }
    },
    async list() {
      const stored = await keyStore.list()
      return stored.map(({ kid, created_at }) => ({ kid, created_at }))
    },
  }
}

/** Creates a keyring of one secret. Throws a TypeError if it has less than 32 bytes. */
export function createFixedKeyring(secret: string | Uint8Array): Keyring {
  const bytes = Buffer.from(secret) // a copy: the caller may overwrite its own
  if (bytes.length < 32) throw new TypeError('the token secret must have at least 32 bytes')
  const kid = createHash('sha256').update('kid').update(bytes).digest('hex').slice(0, 16)
  const key = { kid, secret: bytes, created_at: '' }
  const refuse = async () => {
    const message = 'The token secret is used instead of the stored keys: change it instead'
    throw new TillError('invalid_request', message)
  }
  const keyStore = { list: async () => [key], insertFirst: refuse }
  return { ...createStoredKeyring(keyStore, Date.now), rotate: refuse, list: refuse }
}

function createKey(now: number): StoredKey {
  const created_at = new Date(now).toISOString()
  return { kid: randomBytes(8).toString('hex'), secret: randomBytes(32), created_at }
}

/**
 * Whether a reloaded key equals a key in memory. The key in memory is then kept, because it has the
 * token cache.
 */
function isSame(a: StoredKey, b: StoredKey): boolean {
  return a.kid === b.kid && Buffer.compare(a.secret, b.secret) === 0
}

/** The newest key that is so old that all processes have loaded it, or else the oldest key. */
function signerOf(keys: readonly StoredKey[], now: number): StoredKey {
  const known = keys.findLast((key) => now - Date.parse(key.created_at) >= HANDOVER_MS)
  return (known ?? keys[0]) as StoredKey
}

function findUnneeded(keys: readonly StoredKey[], now: number): string[] {
  const unneeded = keys.filter((_, at) => {
    const successor = keys[at + 1]
    return successor && now - Date.parse(successor.created_at) > NEEDED_MS
  })
  return unneeded.map(({ kid }) => kid)
}
