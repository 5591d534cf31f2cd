import { createCipheriv, createDecipheriv, createHash, createHmac, randomBytes } from 'node:crypto'
import { isObject } from '../domain/json.ts'
import { hashText } from './ids.ts'

/** A secret that is encrypted with a master key. An unencrypted one is stored as a string. */
export interface Sealed {
  /** The id of the master key. */
  readonly key: string
  /** Initialization vector, cipher text and tag, base64url. */
  readonly sealed: string
}

/** The check value of a master key is an HMAC of this text. */
const CHECKED_TEXT = 'check value of the master key'

const IV_BYTES = 12
const TAG_BYTES = 16

export type Sealer = ReturnType<typeof createSealer>

/**
 * Creates a sealer, which encrypts ("seals") secrets for the storage with AES-256-GCM. The first key
 * encrypts, each key decrypts. Keys have 32 bytes. `place` identifies the field that holds a secret.
 * A secret that was encrypted for one place cannot be decrypted for another.
 */
export function createSealer(masterKeys: readonly Uint8Array[]) {
  const keys = masterKeys.map((secret) => {
    if (secret.length !== 32) throw new TypeError('a master key must have 32 bytes')
    return { secret, id: createHash('sha256').update(secret).digest('hex').slice(0, 8) }
  })
  const [newest] = keys
  const digestUnder = (secret: Uint8Array, text: string) =>
    createHmac('sha256', secret).update(text).digest('base64url')

  /** Encrypts a text. Without a master key, returns the text itself. */
  const seal = (text: string, place: string): string | Sealed => {
    if (!newest) return text
    const iv = randomBytes(IV_BYTES)
    const cipher = createCipheriv('aes-256-gcm', newest.secret, iv).setAAD(Buffer.from(place))
    const bytes = Buffer.concat([iv, cipher.update(text), cipher.final(), cipher.getAuthTag()])
    return { key: newest.id, sealed: bytes.toString('base64url') }
  }

  /** Decrypts a secret. Returns undefined if none of the keys decrypts it. */
  const open = (stored: string | Sealed, place: string): string | undefined => {
    if (typeof stored === 'string') return stored
    const key = keys.find(({ id }) => id === stored.key)
    if (!key) return undefined
    const bytes = Buffer.from(stored.sealed, 'base64url')
    const iv = bytes.subarray(0, IV_BYTES)
    try {
      const decipher = createDecipheriv('aes-256-gcm', key.secret, iv, { authTagLength: TAG_BYTES })
        .setAAD(Buffer.from(place))
        .setAuthTag(bytes.subarray(-TAG_BYTES))
      const text = decipher.update(bytes.subarray(IV_BYTES, -TAG_BYTES))
      return Buffer.concat([text, decipher.final()]).toString()
    } catch {
      return undefined
    }
  }

  const digestWith = (key: (typeof keys)[number] | undefined, hash: string) =>
    key ? `${key.id}.${digestUnder(key.secret, hash)}` : hash

  return {
    /** Whether a master key is set. */
    isOn: newest !== undefined,
    /** The check values of the master keys, newest first; see `KeyCheck`. */
    checkValues: keys.map(({ secret }) => digestUnder(secret, CHECKED_TEXT)),
    seal,
    open,
    /**
     * Encrypts a secret again with the newest key. Returns it unchanged if it cannot be decrypted.
     */
    renew(stored: string | Sealed, place: string): string | Sealed {
      if (typeof stored !== 'string' && stored.key === newest?.id) return stored
      const text = open(stored, place)
      return text === undefined ? stored : seal(text, place)
    },
    /**
     * Hashes a text. With a master key, the hash is an HMAC, so only the holder of the key can test
     * guesses of the text. Without a master key, it is SHA-256.
     */
    digest: (text: string) => digestWith(newest, hashText(text)),
    /** The beginning of digests with the newest master key. */
    digestPrefix: newest && `${newest.id}.`,
    /** Whether `digest` was computed from the text with any of the keys, or without a key. */
    isDigest(digest: string, text: string): boolean {
      const hash = hashText(text)
      return [...keys, undefined].some((key) => digestWith(key, hash) === digest)
    },
  }
}

/** Whether a stored value is an encrypted secret. */
export function isSealed(value: unknown): value is Sealed {
  return isObject(value) && typeof value.key === 'string' && typeof value.sealed === 'string'
}
