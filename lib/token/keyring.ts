import { Buffer } from 'node:buffer'
import { createHash, randomBytes } from 'node:crypto'
import { TillError } from '../errors.ts'
import { type Claims, LEEWAY } from './claims.ts'
import { signToken, verifyToken } from './jwt.ts'
import type { SigningKey } from './key.ts'

/** The signing keys: one signs, all verify. */
export interface Keyring {
  sign(claims: Claims): Promise<string>
  /** `now` in Unix seconds. */
  verify(token: string, expected: { iss: string; now: number }): Promise<Claims | undefined>
  /**
   * Adds a key, which signs after `HANDOVER_MS`. Drops the keys that no valid token needs, or all
   * `others` after a leak: then every token is invalid after that time. `replace` stores the
   * result.
   */
  rotate(
    drop: 'unneeded' | 'others',
    replace: ReplaceKeys,
  ): Promise<{ readonly kid: string; readonly dropped: readonly string[] }>
  /** The keys without their secrets, oldest first. */
  list(): Promise<{ readonly kid: string; readonly created_at: string }[]>
}

/** A key in a key store. */
export interface StoredKey extends SigningKey {
  /** ISO 8601, UTC. */
  readonly created_at: string
}

export interface KeyStore {
  /** Oldest first. */
  list(): Promise<readonly StoredKey[]>
  /** Adds a key if there is none. */
  insertFirst(key: StoredKey): Promise<void>
}

/**
 * Adds a key and deletes the keys whose `kid` is in the result of `drop`, in one transaction.
 * Resolves to the deleted ones.
 */
export type ReplaceKeys = (
  key: StoredKey,
  drop: (keys: readonly StoredKey[]) => readonly string[],
) => Promise<readonly string[]>

/** The longest lifetime of a token, in seconds. */
export const MAX_LIFETIME = 86_400

/**
 * Each process reloads the keys after this time, so a dropped key stops verifying. A new key signs
 * only at this age: then every process with the same clock knows it.
 */
export const HANDOVER_MS = 5_000

/** How often an invalid token may cause a reload. Needed when the clocks of processes differ. */
const RELOAD_MS = 1_000

/** A key is needed for this time after the next key was created: then its last token expires. */
const NEEDED_MS = HANDOVER_MS + (MAX_LIFETIME + LEEWAY) * 1_000

/**
 * Keys in a key store, which several processes may share. `now` is in Unix milliseconds. The first
 * use of an empty key store adds a key, which signs at once.
 */
export function createStoredKeyring(keyStore: KeyStore, now: () => number): Keyring {
  let keys: readonly StoredKey[] = []
  let loadedAt = Number.NEGATIVE_INFINITY
  let loading: Promise<void> | undefined

  const reload = async () => {
    const startedAt = now() // a key that is added during the read may be missing
    let stored = await keyStore.list()
    if (stored.length === 0) {
      await keyStore.insertFirst(createKey(now()))
      stored = await keyStore.list()
    }
    keys = stored.map((key) => keys.find((known) => isSame(known, key)) ?? key)
    loadedAt = startedAt
  }

  /** Concurrent callers share one reload. */
  const load = () => {
    loading ??= reload().finally(() => {
      loading = undefined
    })
    return loading
  }

  const isOlderThan = (age: number) => Math.abs(now() - loadedAt) >= age

  return {
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

/** One key from the operator's secret. Throws a TypeError for less than 32 bytes. */
export function createFixedKeyring(secret: string | Uint8Array): Keyring {
  const bytes = typeof secret === 'string' ? new TextEncoder().encode(secret) : secret
  if (bytes.length < 32) throw new TypeError('the token secret must have at least 32 bytes')
  const kid = createHash('sha256').update('kid').update(bytes).digest('hex').slice(0, 16)
  const keys = [{ kid, secret: bytes }] as const
  const refuse = async () => {
    const message = 'The token secret is used instead of the stored keys: change it instead'
    throw new TillError('invalid_request', message)
  }
  return {
    async sign(claims) {
      return signToken(claims, keys[0])
    },
    async verify(token, expected) {
      return verifyToken(token, keys, expected)
    },
    rotate: refuse,
    list: refuse,
  }
}

function createKey(now: number): StoredKey {
  const created_at = new Date(now).toISOString()
  return { kid: randomBytes(8).toString('hex'), secret: randomBytes(32), created_at }
}

/** A reload keeps the object of a known key, because the token cache belongs to the object. */
function isSame(a: StoredKey, b: StoredKey): boolean {
  return a.kid === b.kid && Buffer.compare(a.secret, b.secret) === 0
}

/** The newest key that all processes know, else the oldest key. */
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
