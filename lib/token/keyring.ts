import { createHash, randomBytes } from 'node:crypto'
import type { Claims } from './claims.ts'
import { signToken, verifyToken } from './jwt.ts'
import type { SigningKey } from './key.ts'

/** The keys that sign and verify tokens: the newest signs, all verify. */
export interface Keyring {
  sign(claims: Claims): Promise<string>
  /** `now` in Unix seconds. */
  verify(token: string, expected: { iss: string; now: number }): Promise<Claims | undefined>
}

/** Where the ring is kept, oldest key first. */
export interface KeyShelf {
  list(): Promise<readonly SigningKey[]>
  /** Adds a key unless there is one. */
  insertFirst(key: SigningKey): Promise<void>
}

const RELOAD_MS = 1_000

/**
 * A ring kept on a shelf, shared with every process that uses the same one. `now` in Unix
 * milliseconds. The first use of an empty shelf puts a key there.
 */
export function createStoredKeyring(shelf: KeyShelf, now: () => number): Keyring {
  let keys: readonly SigningKey[] = []
  let loadedAt = Number.NEGATIVE_INFINITY
  let loading: Promise<void> | undefined

  const reload = async () => {
    keys = await shelf.list()
    if (keys.length === 0) {
      await shelf.insertFirst({ kid: randomBytes(8).toString('hex'), secret: randomBytes(32) })
      keys = await shelf.list()
    }
    loadedAt = now()
  }

  /** Those who come while it loads wait for the same answer. */
  const load = () => {
    loading ??= reload().finally(() => {
      loading = undefined
    })
    return loading
  }

  // Another process may have added a key. Bad tokens make us look at most once a second.
  const isStale = () => Math.abs(now() - loadedAt) >= RELOAD_MS

  return {
    async sign(claims) {
      if (keys.length === 0) await load()
      return signToken(claims, keys.at(-1) as SigningKey)
    },
    async verify(token, expected) {
      const claims = verifyToken(token, keys, expected)
      if (claims || !isStale()) return claims
      await load()
      return verifyToken(token, keys, expected)
    },
  }
}

/** A ring of one key made of the operator's own secret. Throws a TypeError below 32 bytes. */
export function createFixedKeyring(secret: string | Uint8Array): Keyring {
  const bytes = typeof secret === 'string' ? new TextEncoder().encode(secret) : secret
  if (bytes.length < 32) throw new TypeError('the token secret must have at least 32 bytes')
  const kid = createHash('sha256').update('kid').update(bytes).digest('hex').slice(0, 16)
  const key = { kid, secret: bytes }
  return {
    async sign(claims) {
      return signToken(claims, key)
    },
    async verify(token, expected) {
      return verifyToken(token, [key], expected)
    },
  }
}
