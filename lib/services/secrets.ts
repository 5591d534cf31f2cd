import { createCipheriv, createDecipheriv, createHash, createHmac, randomBytes } from 'node:crypto'
import type { EndpointOwner } from '../domain/endpoint.ts'
import { isObject, isSameJson, type JsonObject } from '../domain/fields.ts'
import { PROJECT_SECRETS, type Project } from '../domain/project.ts'
import { SECRETS_OF_TYPE, STORE_SECRETS, type Store } from '../domain/store.ts'
import type { KeyCheck } from '../storage/port.ts'
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

/** A record whose configuration may hold secrets. */
export type SecretHolder = Project | Store

/** Returns the record with the results of `change` as its secrets. The result undefined removes one. */
function mapSecrets<T extends SecretHolder>(
  record: T,
  change: (stored: unknown, name: string, place: string) => unknown,
): T {
  const { field, config, names, place } = secretsOf(record)
  const changed = { ...config }
  for (const name of names.filter((each) => Object.hasOwn(config, each))) {
    const value = change(config[name], name, `${place}/${name}`)
    if (value === undefined) delete changed[name]
    else changed[name] = value
  }
  return { ...record, [field]: changed }
}

/** Returns the record with its secrets encrypted by the newest key, or `record` if they are. */
export function sealSecrets<T extends SecretHolder>(record: T, sealer: Sealer): T {
  // The secrets of another store type are no secrets of this store, and may have any JSON value.
  const sealed = mapSecrets(record, (stored, _name, place) =>
    isSecret(stored) ? sealer.renew(stored, place) : stored,
  )
  return isSameJson(sealed, record) ? record : sealed
}

/**
 * Returns the record to store after a change, or `current` if nothing differs. If the caller sends
 * a stored secret again, keeps its ciphertext: encrypting it again would give other bytes.
 */
export function changeSealed<T extends SecretHolder>(current: T, changed: T, sealer: Sealer): T {
  const { config } = secretsOf(current)
  const kept = mapSecrets(changed, (sent, name, place) => {
    const stored = config[name]
    return isSealed(stored) && sealer.open(stored, place) === sent ? stored : sent
  })
  const next = sealSecrets(kept, sealer)
  return isSameJson(current, next) ? current : next
}

/** Verifies the master keys if the change from `before` to `after` stores a secret. */
export function keyChecksOf(
  { checkValues: values }: Sealer,
  before: SecretHolder | undefined,
  after: SecretHolder,
): KeyCheck[] {
  const { config, names } = secretsOf(after)
  const stored = before ? secretsOf(before).config : {}
  const storesSecret = names.some(
    (name) => isSecret(config[name]) && !isSameJson(config[name], stored[name]),
  )
  return storesSecret ? [{ values }] : []
}

/** Identifies a stored secret. */
export interface StoredSecret {
  readonly account_id: string
  readonly project_id: string
  /** The store; missing for a secret of the project itself. */
  readonly store_id?: string
  /** The secret's name in `config` or `store_config`. */
  readonly field: string
}

/**
 * Finds secrets of a record. In a store, checks only the secrets of its type. Any other field may
 * hold any object, even one that looks encrypted.
 */
export function findSecrets(
  record: SecretHolder,
  isFound: (stored: unknown, place: string) => boolean,
): StoredSecret[] {
  const { config, names, owner, place } = secretsOf(record)
  const known = isStore(record) ? SECRETS_OF_TYPE[record.store_type] : names
  const { store_id, ...project } = owner
  return known
    .filter((field) => isFound(config[field], `${place}/${field}`))
    .map((field) => ({ ...project, ...(store_id !== '' && { store_id }), field }))
}

/** Finds the encrypted secrets of a record that no master key decrypts. */
export function findUnreadable(record: SecretHolder, sealer: Sealer): StoredSecret[] {
  return findSecrets(
    record,
    (stored, place) => isSealed(stored) && sealer.open(stored, place) === undefined,
  )
}

/** Returns the record without the secrets that no master key decrypts. */
export function dropUnreadable<T extends SecretHolder>(record: T, sealer: Sealer): T {
  const dropped = findUnreadable(record, sealer).map(({ field }) => field)
  if (dropped.length === 0) return record
  return mapSecrets(record, (stored, name) => (dropped.includes(name) ? undefined : stored))
}

/** The size of a record's configuration as JSON, in bytes; 0 without a record. */
export function configBytes(record: SecretHolder | undefined): number {
  return record ? Buffer.byteLength(JSON.stringify(secretsOf(record).config)) : 0
}

/** Removes the secrets from a record before it is returned to a caller. */
export function withoutSecrets<T extends SecretHolder>(record: T): T {
  return mapSecrets(record, () => undefined)
}

/** Returns the record with only those secrets that this caller sent. */
export function withSentSecrets<T extends SecretHolder>(record: T, sent: JsonObject = {}): T {
  return mapSecrets(record, (_, name) => (typeof sent[name] === 'string' ? sent[name] : undefined))
}

export function isStore(record: SecretHolder): record is Store {
  return 'store_id' in record
}

/** The names of the secrets that are set in the configuration of a record. */
export function namesOfSecrets(record: SecretHolder): string[] {
  const { config, names } = secretsOf(record)
  return names.filter((name) => config[name] !== undefined)
}

/**
 * A record's configuration, the field that has it, the names of its secrets, their owner, and the
 * first part of their `place`. A store has the names of all store types, to return none of them.
 */
export function secretsOf(record: SecretHolder) {
  const { account_id } = record
  if (isStore(record)) {
    const { project_id, store_id, store_config: config } = record
    const owner = { account_id, project_id, store_id }
    return { field: 'store_config', config, names: STORE_SECRETS, owner, place: placeOf(owner) }
  }
  const { id: project_id, config } = record
  const owner = { account_id, project_id, store_id: '' }
  return { field: 'config', config, names: PROJECT_SECRETS, owner, place: placeOf(owner) }
}

/** The first part of the `place` of an owner's secrets; see `createSealer`. */
export function placeOf({ account_id, project_id, store_id }: EndpointOwner): string {
  return store_id === '' ? project_id : `${account_id}/${store_id}`
}

function isSecret(value: unknown): value is string | Sealed {
  return typeof value === 'string' || isSealed(value)
}

export function isSealed(value: unknown): value is Sealed {
  return isObject(value) && typeof value.key === 'string' && typeof value.sealed === 'string'
}
