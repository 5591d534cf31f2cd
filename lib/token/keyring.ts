import { Buffer } from 'node:buffer'
import { createHash, randomBytes } from 'node:crypto'
import { TillError } from '../errors.ts'
import { type Claims, LEEWAY } from './claims.ts'
import { signToken, verifyToken } from './jwt.ts'
import type { SigningKey } from './key.ts'

/** The keys that sign and verify tokens: one signs, all verify. */
export interface Keyring {
  sign(claims: Claims): Promise<string>
  /** `now` in Unix seconds. */
  verify(token: string, expected: { iss: string; now: number }): Promise<Claims | undefined>
  /**
   * Adds a key, which signs from `HANDOVER_MS` on, and drops those that no valid token needs; or
   * all others, when one may have leaked: then every token ends within that time. `replace` does
   * it on the keyStore.
   */
  rotate(
    drop: 'unneeded' | 'others',
    replace: ReplaceKeys,
  ): Promise<{ readonly kid: string; readonly dropped: readonly string[] }>
  /** The keys without their secrets, oldest first. */
  list(): Promise<{ readonly kid: string; readonly created_at: string }[]>
}

/** A key as it is kept; `created_at` in ISO 8601. */
export interface KeptKey extends SigningKey {
  readonly created_at: string
}

/** Where the ring is kept. */
export interface KeyStore {
  /** Oldest first. */
  list(): Promise<readonly KeptKey[]>
  /** Adds a key unless there is one. */
  insertFirst(key: KeptKey): Promise<void>
}

/**
 * Adds a key to a keyStore and takes those away that `drop` chooses by their `kid`, of all that there
 * are then: both or neither. Resolves to those taken away.
 */
export type ReplaceKeys = (
  key: KeptKey,
  drop: (keys: readonly KeptKey[]) => readonly string[],
) => Promise<readonly string[]>

/** The longest life of a token, in seconds. */
export const MAX_LIFETIME = 86_400

/**
 * A ring is looked at again when it is this old: a key that was dropped verifies no longer. And a
 * new key signs when it is this old: no process of the same clock then meets a key it does not
 * know.
 */
export const HANDOVER_MS = 5_000

/** For those of another clock: tokens that do not verify make us look at most this often. */
const RELOAD_MS = 1_000

/** How long after its successor was made a key is needed: no token it signed is valid any more. */
const NEEDED_MS = HANDOVER_MS + (MAX_LIFETIME + LEEWAY) * 1_000

/**
 * A ring kept on a keyStore, shared with every process that uses the same one. `now` in Unix
 * milliseconds. The first use of an empty keyStore puts a key there, which signs at once.
 */
export function createStoredKeyring(keyStore: KeyStore, now: () => number): Keyring {
  let keys: readonly KeptKey[] = []
  let loadedAt = Number.NEGATIVE_INFINITY
  let loading: Promise<void> | undefined

  const reload = async () => {
    // What is added to the keyStore from here on may not be in the answer.
    const askedAt = now()
    let kept = await keyStore.list()
    if (kept.length === 0) {
      await keyStore.insertFirst(createKey(now()))
      kept = await keyStore.list()
    }
    keys = kept.map((key) => keys.find((known) => isSame(known, key)) ?? key)
    loadedAt = askedAt
  }

  /** Those who come while it loads wait for the same answer. */
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
      const choose = (kept: readonly KeptKey[]) =>
        drop === 'others'
          ? kept.map(({ kid }) => kid).filter((kid) => kid !== key.kid)
          : findExpendable(kept, now())
      return { kid: key.kid, dropped: await replace(key, choose) }
    },
    async list() {
      const kept = await keyStore.list()
      return kept.map(({ kid, created_at }) => ({ kid, created_at }))
    },
  }
}

/** A ring of one key made of the operator's own secret. Throws a TypeError below 32 bytes. */
export function createFixedKeyring(secret: string | Uint8Array): Keyring {
  const bytes = typeof secret === 'string' ? new TextEncoder().encode(secret) : secret
  if (bytes.length < 32) throw new TypeError('the token secret must have at least 32 bytes')
  const kid = createHash('sha256').update('kid').update(bytes).digest('hex').slice(0, 16)
  const keys = [{ kid, secret: bytes }] as const
  const refuse = async () => {
    const message = 'The token secret takes the place of the kept keys: change it instead'
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

function createKey(now: number): KeptKey {
  const created_at = new Date(now).toISOString()
  return { kid: randomBytes(8).toString('hex'), secret: randomBytes(32), created_at }
}

/** The tokens that a key has seen are remembered by its object, which is to outlast a look. */
function isSame(a: KeptKey, b: KeptKey): boolean {
  return a.kid === b.kid && Buffer.compare(a.secret, b.secret) === 0
}

/** The newest that all know, else the oldest. */
function signerOf(keys: readonly KeptKey[], now: number): KeptKey {
  const known = keys.findLast((key) => now - Date.parse(key.created_at) >= HANDOVER_MS)
  return (known ?? keys[0]) as KeptKey
}

function findExpendable(keys: readonly KeptKey[], now: number): string[] {
  const expendable = keys.filter((_, at) => {
    const successor = keys[at + 1]
    return successor && now - Date.parse(successor.created_at) > NEEDED_MS
  })
  return expendable.map(({ kid }) => kid)
}
