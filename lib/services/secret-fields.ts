import type { EndpointOwner } from '../domain/endpoint.ts'
import { isSameJson, type JsonObject } from '../domain/json.ts'
import { PROJECT_SECRETS, type Project } from '../domain/project.ts'
import { SECRETS_OF_TYPE, STORE_SECRETS, type Store } from '../domain/store.ts'
import type { KeyCheck } from '../storage/port.ts'
import { isSealed, type Sealed, type Sealer } from './sealer.ts'

/** A record whose configuration may hold secrets. */
export type SecretHolder = Project | Store

/**
 * Returns the record with the results of `change` as its secrets. The result undefined removes one.
 * Returns `record` if nothing changes: a copy of 5,000 fields takes 4 ms.
 */
function mapSecrets<T extends SecretHolder>(
  record: T,
  change: (stored: unknown, name: string, place: string) => unknown,
): T {
  const { field, config, names, place } = secretsOf(record)
  let changed: { [name: string]: unknown } | undefined
  for (const name of names.filter((each) => Object.hasOwn(config, each))) {
    const value = change(config[name], name, `${place}/${name}`)
    if (value === config[name]) continue
    changed ??= { ...config }
    if (value === undefined) delete changed[name]
    else changed[name] = value
  }
  return changed ? { ...record, [field]: changed } : record
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

/** The results of `withoutSecrets` by record. The read cache returns the same record again. */
const shown = new WeakMap<SecretHolder, SecretHolder>()

/**
 * Removes the secrets from a record before it is returned to a caller. Copies no configuration
 * without secrets, and any other only once.
 */
export function withoutSecrets<T extends SecretHolder>(record: T): T {
  const known = shown.get(record) as T | undefined
  if (known) return known
  const stripped = mapSecrets(record, () => undefined)
  if (stripped === record || !Object.isFrozen(record)) return stripped
  Object.freeze(stripped)
  Object.freeze(secretsOf(stripped).config)
  shown.set(record, stripped)
  return stripped
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
