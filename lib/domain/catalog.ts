import type { ErrorDetail } from '../errors.ts'
import type { Differences } from './differences.ts'
import {
  boolean,
  type Fields,
  freeForm,
  type Given,
  type Input,
  isObject,
  type JsonObject,
  oneOf,
  optional,
  parseAt,
  required,
  rule,
  text,
  withSchema,
} from './fields.ts'
import { ITEM, ITEM_NAMES, type ItemValues } from './item.ts'
import type { ProjectFields } from './project.ts'
import { STORE_TYPES, type StoreFields, type StoreType, storeId } from './store.ts'

/** A project with its stores and their items, as a catalog file describes it. */
export interface Catalog {
  /** The URL or path of the JSON Schema, for editors. tillkit ignores it. */
  readonly $schema?: string | undefined
  readonly project?: CatalogProject | undefined
  readonly stores?: readonly CatalogStore[] | undefined
}

/** A field that is left out keeps its stored value. */
export interface CatalogProject extends Input<Partial<Omit<ProjectFields, 'config'>>> {
  readonly id?: string | undefined
  /** Never changes. */
  readonly bundle_id?: string | undefined
  /** Never changes. */
  readonly dlscheme?: string | undefined
  /**
   * Replaces the whole `config`. In place of each secret, it has a `SecretReference`. Secrets that
   * are left out are kept, except `webhook_secret` if `webhook_url` changes.
   */
  readonly config?: JsonObject | undefined
}

/** A field that is left out keeps its stored value. */
export interface CatalogStore extends Input<Partial<Omit<StoreFields, 'store_config'>>> {
  readonly store_id: string
  /** The store type. Never changes; required for a new store. */
  readonly store_type?: StoreType | undefined
  /** Replaces the whole `store_config`. Its secrets follow the rules of the project's `config`. */
  readonly store_config?: JsonObject | undefined
  readonly items?: readonly CatalogFileItem[] | undefined
}

/**
 * A field that is left out keeps its stored value. In a new item, it gets its default, but
 * `display_name` is required.
 */
export interface CatalogFileItem extends Input<Partial<Omit<ItemValues, 'name' | 'price'>>> {
  readonly name: string
  /** The price: digits, in minor currency units; required for a new item. */
  readonly price?: string | undefined
  /** `false` restores an archived item, `true` archives one. */
  readonly archived?: boolean | undefined
}

/** Stands in a catalog for a secret: `env` is the name of the environment variable that has it. */
export interface SecretReference {
  readonly env: string
}

export type ParsedItem = Given<Omit<CatalogFileItem, 'price'>> & { readonly price?: number }

export interface CatalogPlan {
  readonly project_id: string
  /** Identifies the state of the catalog that the plan was made from. */
  readonly digest: string
  /** How many records (project, stores and items) the plan creates, updates, and so on. */
  readonly created: number
  readonly updated: number
  readonly archived: number
  readonly restored: number
  /** The number of items in the catalog that are already stored with the same values. */
  readonly unchanged: number
  /** The number of active items that the catalog lacks. They stay active. */
  readonly missing: number
  /** Environment variables that are not set. The stored secrets stay unchanged. */
  readonly unset_variables: readonly string[]
  readonly changes: readonly PlannedChange[]
}

export interface PlannedChange {
  readonly action: 'create' | 'update' | 'archive' | 'restore'
  readonly kind: 'project' | 'store' | 'item'
  /** The id of the changed store, or of the changed item's store. */
  readonly store_id?: string
  /** The name of the item. */
  readonly name?: string
  /** The id of an existing item, and its version before the change. */
  readonly id?: string
  readonly version?: number
  /** The old and new values of an update. A secret is shown as `(secret)`. */
  readonly fields?: Differences | undefined
  /** The new item. */
  readonly item?: ParsedItem
}

/** A catalog with a checked structure. Configurations and items are parsed later, one by one. */
export interface ParsedCatalog {
  readonly project?: Given<CatalogProject>
  readonly stores: readonly ParsedStore[]
}

type ParsedStore = Given<Omit<CatalogStore, 'items'>> & { readonly items: readonly unknown[] }

const anything = withSchema<unknown>({}, (value) => value)
const array = rule(
  (value): value is readonly unknown[] => Array.isArray(value),
  'must be an array',
  { type: 'array' },
)

const catalogFields: Fields<{ $schema?: string; project?: unknown; stores?: readonly unknown[] }> =
  { $schema: optional(text(0, 4096)), project: optional(anything), stores: optional(array) }

// Checks types and lengths. The parsers of projects and stores check the values later.
const projectFields: Fields<Given<CatalogProject>> = {
  id: optional(text(1, 64)),
  name: optional(text(1, 255)),
  bundle_id: optional(text(1, 155)),
  platform: optional(text(1, 64)),
  status: optional(text(1, 64)),
  dlscheme: optional(text(0, 255)),
  config: optional(freeForm),
}

const storeFields: Fields<ParsedStore> = {
  store_id: required(storeId),
  store_type: optional(oneOf(STORE_TYPES)),
  is_sandbox: optional(boolean),
  status: optional(text(1, 64)),
  store_config: optional(freeForm),
  items: optional(array, () => []),
}

const itemFields = {
  ...Object.fromEntries(ITEM_NAMES.map((name) => [name, optional<unknown>(ITEM[name].rule)])),
  name: required(ITEM.name.rule),
  archived: optional(boolean),
} as Fields<ParsedItem>

/** Parses a catalog except for its items. Adds mistakes, with their JSON paths, to `problems`. */
export function parseCatalog(input: unknown, problems: ErrorDetail[]): ParsedCatalog {
  const { project, stores = [] } = parseAt(input, catalogFields, '$', problems) ?? {}
  const parsed =
    project === undefined ? undefined : parseAt(project, projectFields, '$.project', problems)
  const firsts = new Map<string, number>()
  return {
    ...(parsed ? { project: parsed } : {}),
    stores: stores.map((store, index) => {
      const path = `$.stores[${index}]`
      const found = parseAt(store, storeFields, path, problems)
      const { store_id = '' } = found ?? {}
      const first = firsts.get(store_id)
      if (first === undefined) firsts.set(store_id, index)
      else if (found) problems.push(repeated(`${path}.store_id`, `$.stores[${first}]`))
      return found ?? { store_id: '', items: [] }
    }),
  }
}

/** Parses one item of a catalog. Returns undefined for a bad item. */
export function parseCatalogItem(
  input: unknown,
  path: string,
  problems: ErrorDetail[],
): ParsedItem | undefined {
  return parseAt(input, itemFields, path, problems)
}

/** The error for a store or item that is listed twice. */
export function repeated(field: string, first: string): ErrorDetail {
  return { field, code: 'repeated', message: `is listed twice: first in ${first}` }
}

/** The reference that an export writes in place of a secret: it names an environment variable. */
export function secretReference(owner: string, key: string): SecretReference {
  return { env: `${owner}_${key}`.toUpperCase().replaceAll(/[^A-Z0-9_]/g, '_') }
}

/**
 * Replaces each reference to a secret by the value of its environment variable. If the variable is
 * not set, keeps the stored secret and adds the variable to `unset`.
 */
export function resolveSecrets(
  config: JsonObject,
  { names, stored, env, path, unset, problems }: SecretOptions,
): JsonObject {
  const resolved = { ...config }
  // See `replaceConfig`.
  const isForOtherUrl = (name: string) =>
    name === 'webhook_secret' &&
    Object.hasOwn(stored, name) &&
    config.webhook_url !== stored.webhook_url
  for (const name of names) {
    const reference = config[name]
    if (reference === undefined || reference === null) continue
    const field = `${path}.${name}`
    if (!isReference(reference)) {
      const message = 'must be a reference to a variable: {"env": "NAME"}'
      problems.push({ field, code: 'invalid', message })
      continue
    }
    const value = env[reference.env]
    if (value !== undefined && value !== '') resolved[name] = value
    else if (Object.hasOwn(stored, name) && !isForOtherUrl(name)) {
      delete resolved[name] // `replaceConfig` then keeps the stored secret
      unset.push(reference.env)
    } else {
      const reason = isForOtherUrl(name) ? ': a new webhook_url does not keep the old secret' : ''
      const message = `needs the variable ${reference.env}, which is not set${reason}`
      problems.push({ field, code: 'required', message })
    }
  }
  return resolved
}

interface SecretOptions {
  /** The keys of the configuration that hold secrets. */
  readonly names: readonly string[]
  /** The stored configuration. */
  readonly stored: JsonObject
  readonly env: { readonly [name: string]: string | undefined }
  /** The JSON path of the configuration. */
  readonly path: string
  readonly unset: string[]
  readonly problems: ErrorDetail[]
}

function isReference(value: unknown): value is SecretReference {
  return (
    isObject(value) &&
    typeof value.env === 'string' &&
    /^[A-Za-z_]\w{0,254}$/.test(value.env) &&
    Object.keys(value).length === 1
  )
}
