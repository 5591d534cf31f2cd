import { createCipheriv, createDecipheriv, createHash, createHmac, randomBytes } from 'node:crypto'
import { isObject, isSameJson, type JsonObject } from '../domain/fields.ts'
import type { Project } from '../domain/project.ts'
import { SECRETS_OF_TYPE, STORE_SECRETS, type Store } from '../domain/store.ts'
import { hashText } from './ids.ts'

/** A secret as it is stored under a master key. A secret in clear is a string. */
export interface Sealed {
  /** Which master key sealed it. */
  readonly key: string
  /** Initialization vector, cipher text and tag, base64url. */
  readonly sealed: string
}

/**
 * Seals what is stored. `place` says where a text belongs: what was sealed for one place does not
 * open at another.
 */
export interface Sealer {
  /** Whether there is a master key. */
  readonly isOn: boolean
  /** The text itself where there is no master key. */
  seal(text: string, place: string): string | Sealed
  /** Throws for what none of the keys has sealed. */
  open(stored: string | Sealed, place: string): string
  /** The same secret under the newest key; as it is where it can not be opened. */
  renew(stored: string | Sealed, place: string): string | Sealed
  /** Whether `open` would not throw. */
  opens(stored: string | Sealed, place: string): boolean
  /**
   * A hash on which nobody without the newest key can try guesses; SHA-256 without a master key.
   */
  digest(text: string): string
  /**
   * The same digest under the newest key. It wraps what is stored, since the text is not known: one
   * that an older key wrapped is known only while that key is set.
   */
  renewDigest(digest: string): string
  /** Whether it is the text's digest, made under any of the keys or under none. */
  isDigest(digest: string, text: string): boolean
}

const IV_BYTES = 12
const TAG_BYTES = 16

/** AES-256-GCM with the first of the keys, 32 bytes each; the others only open. */
export function createSealer(masterKeys: readonly Uint8Array[]): Sealer {
  const keys = masterKeys.map((secret) => {
    if (secret.length !== 32) throw new TypeError('a master key must have 32 bytes')
    return { secret, id: createHash('sha256').update(secret).digest('hex').slice(0, 8) }
  })
  const [newest] = keys
  const digestUnder = (secret: Uint8Array, text: string) =>
    createHmac('sha256', secret).update(text).digest('base64url')
  const keyOf = (stored: Sealed) => keys.find(({ id }) => id === stored.key)

  const reopen = (stored: string | Sealed, place: string): string | undefined => {
    try {
      return sealer.open(stored, place)
    } catch {
      return undefined
    }
  }

  const sealer: Sealer = {
    isOn: newest !== undefined,
    seal(text, place) {
      if (!newest) return text
      const iv = randomBytes(IV_BYTES)
      const cipher = createCipheriv('aes-256-gcm', newest.secret, iv).setAAD(Buffer.from(place))
      const bytes = Buffer.concat([iv, cipher.update(text), cipher.final(), cipher.getAuthTag()])
      return { key: newest.id, sealed: bytes.toString('base64url') }
    },
    open(stored, place) {
      if (typeof stored === 'string') return stored
      const key = keyOf(stored)
      if (!key) throw new Error(`the master key ${stored.key}, which sealed a secret, is not set`)
      const bytes = Buffer.from(stored.sealed, 'base64url')
      const iv = bytes.subarray(0, IV_BYTES)
      const decipher = createDecipheriv('aes-256-gcm', key.secret, iv, { authTagLength: TAG_BYTES })
        .setAAD(Buffer.from(place))
        .setAuthTag(bytes.subarray(-TAG_BYTES))
      const text = decipher.update(bytes.subarray(IV_BYTES, -TAG_BYTES))
      return Buffer.concat([text, decipher.final()]).toString()
    },
    renew(stored, place) {
      if (typeof stored === 'string') return sealer.seal(stored, place)
      if (stored.key === newest?.id) return stored
      const text = reopen(stored, place)
      return text === undefined ? stored : sealer.seal(text, place)
    },
    opens: (stored, place) => reopen(stored, place) !== undefined,
    digest: (text) => sealer.renewDigest(hashText(text)),
    renewDigest(digest) {
      const { ids, hash } = partsOf(digest)
      if (!newest || ids[0] === newest.id) return digest
      return [newest.id, ...ids, digestUnder(newest.secret, hash)].join('.')
    },
    isDigest(digest, text) {
      const { ids, hash } = partsOf(digest)
      const wrapping = ids.map((each) => keys.find(({ id }) => id === each)?.secret).reverse()
      // Before digests named their key, one was the HMAC of the text itself.
      const unwrapped = [hashText(text), ...keys.map(({ secret }) => digestUnder(secret, text))]
      return unwrapped.some((first) => {
        const wrap = (inner: string, secret: Uint8Array | undefined) =>
          secret ? digestUnder(secret, inner) : ''
        return wrapping.reduce(wrap, first) === hash
      })
    },
  }
  return sealer
}

/** A digest names the keys that wrap it, the outermost first: `<id>.<id>.<hash>`. */
function partsOf(digest: string): { readonly ids: readonly string[]; readonly hash: string } {
  const parts = digest.split('.')
  return { ids: parts.slice(0, -1), hash: parts.at(-1) ?? '' }
}

/** A project as it is stored, its secret under the newest key. */
export function sealProject(project: Project, sealer: Sealer): Project {
  const config = renewAll(project.config, ['webhook_secret'], project.id, sealer)
  return config === project.config ? project : { ...project, config }
}

/** The same for a store. */
export function sealStore(store: Store, sealer: Sealer): Store {
  const place = placeOf(store)
  const store_config = renewAll(store.store_config, STORE_SECRETS, place, sealer)
  return store_config === store.store_config ? store : { ...store, store_config }
}

/**
 * The project to store after a change; `current` itself when nothing differs. A secret that is sent
 * again keeps its sealed form: sealed anew, it would always differ.
 */
export function projectAfter(current: Project, changed: Project, sealer: Sealer): Project {
  const config = keepSealed(current.config, changed.config, ['webhook_secret'], current.id, sealer)
  const next = sealProject({ ...changed, config }, sealer)
  return isSameJson(current, next) ? current : next
}

/** The same for a store. */
export function storeAfter(current: Store, changed: Store, sealer: Sealer): Store {
  const place = placeOf(current)
  const [before, sent] = [current.store_config, changed.store_config]
  const store_config = keepSealed(before, sent, STORE_SECRETS, place, sealer)
  const next = sealStore({ ...changed, store_config }, sealer)
  return isSameJson(current, next) ? current : next
}

/** Where a secret is that no master key opens. */
export interface UnreadableSecret {
  readonly account_id: string
  readonly project_id: string
  /** Absent for a secret of the project itself. */
  readonly store_id?: string
  /** Its name in the `config` or `store_config`. */
  readonly field: string
}

/** The names of a project's secrets that are sealed and do not open. */
export function unreadableOfProject(project: Project, sealer: Sealer): string[] {
  return unreadable(project.config, ['webhook_secret'], project.id, sealer)
}

/**
 * The same of a store. What its type does not know as a secret may be any object that was sent, one
 * that looks sealed among them, and is passed over.
 */
export function unreadableOfStore(store: Store, sealer: Sealer): string[] {
  const place = placeOf(store)
  return unreadable(store.store_config, SECRETS_OF_TYPE[store.store_type], place, sealer)
}

/** A project without the secrets that do not open; the same object when all do. */
export function dropFromProject(project: Project, sealer: Sealer): Project {
  const names = unreadableOfProject(project, sealer)
  return names.length === 0 ? project : { ...project, config: without(project.config, names) }
}

/** The same for a store. */
export function dropFromStore(store: Store, sealer: Sealer): Store {
  const names = unreadableOfStore(store, sealer)
  if (names.length === 0) return store
  return { ...store, store_config: without(store.store_config, names) }
}

function placeOf({ account_id, store_id }: Store): string {
  return `${account_id}/${store_id}`
}

function without(config: JsonObject, names: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(config).filter(([name]) => !names.includes(name)))
}

function unreadable(
  config: JsonObject,
  names: readonly string[],
  place: string,
  sealer: Sealer,
): string[] {
  return names.filter((name) => {
    const stored = config[name]
    return isSealed(stored) && !sealer.opens(stored, `${place}/${name}`)
  })
}

/** The configuration sent, with the sealed form of each secret that is stored already. */
function keepSealed(
  stored: JsonObject,
  sent: JsonObject,
  names: readonly string[],
  place: string,
  sealer: Sealer,
): JsonObject {
  const kept = names.filter((name) => {
    const secret = stored[name]
    const where = `${place}/${name}`
    if (!isSealed(secret) || !sealer.opens(secret, where)) return false
    return sealer.open(secret, where) === sent[name]
  })
  return { ...sent, ...Object.fromEntries(kept.map((name) => [name, stored[name]])) }
}

/** The same object when no secret differs. */
function renewAll(
  config: JsonObject,
  names: readonly string[],
  place: string,
  sealer: Sealer,
): JsonObject {
  let renewed = config
  for (const name of names) {
    const stored = config[name]
    // Under a name that its type does not know, a store may hold any JSON value.
    if (typeof stored !== 'string' && !isSealed(stored)) continue
    const secret = sealer.renew(stored, `${place}/${name}`)
    if (secret !== stored) renewed = { ...renewed, [name]: secret }
  }
  return renewed
}

function isSealed(value: unknown): value is Sealed {
  return isObject(value) && typeof value.key === 'string' && typeof value.sealed === 'string'
}
