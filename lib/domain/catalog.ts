import type { ErrorDetail } from '../errors.ts'
import type { Differences } from './field-differences.ts'
import { type InputOf, object, optionalFields, type ParsedOf, parseAt } from './fields.ts'
import { ITEM, ITEM_TYPES } from './item.ts'
import { isObject, type JsonObject } from './json.ts'
import { PLATFORMS, PROJECT_SECRETS } from './project.ts'
import {
  boolean,
  currency,
  freeForm,
  type JsonSchema,
  note,
  oneOf,
  optional,
  type Rule,
  required,
  rule,
  text,
  withSchema,
} from './rules.ts'
import { SECRET_REFERENCE } from './secret-reference.ts'
import { status } from './status.ts'
import { STORE_TYPES, storeId } from './store.ts'

const FIXED = 'It never changes.'
const LEFT_OUT = 'A field that is left out stays as it is.'

/** A rule for a configuration. The parser of its record checks the values later. */
function configOf(secrets: readonly string[], others: JsonObject) {
  const properties = {
    ...others,
    ...Object.fromEntries(secrets.map((name) => [name, SECRET_REFERENCE])),
  }
  return withSchema<JsonObject>({ type: 'object', properties }, freeForm)
}

/** A rule for an array. Its entries are parsed later, one by one. */
function arrayOf<I>({ schema }: Rule<unknown, I>): Rule<readonly unknown[], readonly I[]> {
  return withSchema({ type: 'array', items: schema }, (value, field, problems) => {
    if (Array.isArray(value)) return value
    problems.push({ field, code: 'invalid', message: 'must be an array' })
    return []
  })
}

const fixed = <T, I>(rule: Rule<T, I>) => {
  const { description } = rule.schema
  return note(description ? `${description} ${FIXED}` : FIXED, rule)
}

const { name, type, ...others } = ITEM

export const catalogItemFields = {
  name: required(fixed(name)),
  ...optionalFields({ ...others, type: fixed(type) }),
  /** `false` restores an archived item, `true` archives one. */
  archived: optional(note('true archives the item, false restores it.', boolean)),
}

/**
 * A field that is left out keeps its stored value. In a new item, it gets its default, but
 * `display_name` is required.
 */
export interface CatalogFileItem extends InputOf<typeof catalogItemFields> {}

export type ParsedItem = ParsedOf<typeof catalogItemFields>

const item = note(
  `${LEFT_OUT} A new item needs the name, the display name, the price and the type.`,
  object<typeof catalogItemFields, CatalogFileItem>(catalogItemFields),
)

// Checks types and lengths. The parsers of projects and stores check the values later.
const storeFields = {
  store_id: required(storeId),
  /** The store type. Never changes; required for a new store. */
  store_type: optional(note(FIXED, oneOf(STORE_TYPES))),
  is_sandbox: optional(boolean),
  /** Any text, default `active`. A `disabled`, `inactive`, `suspended` or `archived` store takes no purchases. */
  status: optional(status),
  /** Replaces the whole `store_config`. Its secrets follow the rules of the project's `config`. */
  store_config: optional(
    configOf(['webhook_secret', 'shared_secret', 'api_key'], { currency: currency.schema }),
  ),
  items: optional(arrayOf(item)),
}

/** A field that is left out keeps its stored value. */
export interface CatalogStore extends InputOf<typeof storeFields> {}

const projectFields = {
  id: optional(text(1, 64)),
  name: optional(text(1, 255)),
  /** Never changes. */
  bundle_id: optional(note(FIXED, text(3, 155))),
  /** One of `PLATFORMS`. */
  platform: optional(withSchema<string>({ enum: PLATFORMS }, text(1, 64))),
  /** Any text. A `disabled`, `inactive`, `suspended` or `archived` project has no valid tokens. */
  status: optional(status),
  /** Never changes. */
  dlscheme: optional(note(FIXED, text(0, 255))),
  /**
   * Replaces the whole `config`. In place of each secret, it has a `SecretReference`. Secrets that
   * are left out are kept, except `webhook_secret` if there is a new `webhook_url`.
   */
  config: optional(
    configOf(PROJECT_SECRETS, { allowed_currencies: { type: 'array', items: currency.schema } }),
  ),
}

/** A field that is left out keeps its stored value. */
export interface CatalogProject extends InputOf<typeof projectFields> {}

const project = note(LEFT_OUT, object(projectFields))

const catalogFields = {
  /** The URL or path of the JSON Schema, for editors. tillkit ignores it. */
  $schema: optional(text(0, 4096)),
  project: optional(withSchema<unknown, CatalogProject>(project.schema, (value) => value)),
  stores: optional(arrayOf<CatalogStore>(note(LEFT_OUT, object(storeFields)))),
}

/** A project with its stores and their items, as a catalog file describes it. */
export interface Catalog extends InputOf<typeof catalogFields> {}

/** The JSON Schema (draft 2020-12) of a catalog file, for editors and validators. */
export const CATALOG_SCHEMA: JsonSchema = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'tillkit catalog',
  ...object(catalogFields).schema,
}

/** A catalog with a checked structure. Configurations and items are parsed later, one by one. */
export interface ParsedCatalog {
  readonly project?: ParsedOf<typeof projectFields>
  readonly stores: readonly ParsedOf<typeof storeFields>[]
}

const storeNames = rule(
  (value): value is { readonly [store_id: string]: string } =>
    isObject(value) && Object.values(value).every((each) => typeof each === 'string'),
  'must be an object of store ids',
  { type: 'object', additionalProperties: { type: 'string' } },
)

/** The most characters of the text of a catalog file; 100,000 items take about 30 MiB of JSON. */
const MAX_TEXT = 64 * 1024 ** 2

/** A catalog is not read on after so many mistakes: a file may have one for every two bytes. */
export const MAX_MISTAKES = 1_000

/** How a catalog is compared with the stored one. */
export const planFields = {
  /** The text of a catalog file, JSON or a spreadsheet of items, instead of a catalog. */
  file: optional(
    note('The text of a catalog file or a spreadsheet, instead of `catalog`.', text(1, MAX_TEXT)),
  ),
  /** The store of the rows of a spreadsheet that name none. */
  store_id: optional(note('The store of the rows of a spreadsheet that name none.', storeId)),
  /** The type of new items that have no type in the catalog. Google Play's file has no types. */
  type: optional(note('The type of new items without one.', oneOf(ITEM_TYPES))),
  /** Archives items of the listed stores that the catalog does not have; default false. */
  archive_missing: optional(
    note('Archives stored items that a store in the catalog does not list.', boolean),
    () => false,
  ),
  /** Creates the stores that the project does not have; default false, which rejects them. */
  create_stores: optional(
    note('Creates the stores that the project does not have.', boolean),
    () => false,
  ),
  /**
   * Plans only the items, for an existing project: ignores the project and the settings of stores in
   * the catalog. Default false.
   */
  items_only: optional(
    note('Ignores the project and the store settings of the catalog.', boolean),
    () => false,
  ),
  /** With `items_only`: the stored `store_id` for a `store_id` of the catalog; default the same. */
  as: optional(
    note('With `items_only`: the `store_id` of the project by that of the catalog.', storeNames),
  ),
  /** The `digest` of an earlier plan. Fails if the stored catalog has changed since. */
  digest: optional(
    note('The `digest` of a plan. Fails if the stored catalog has another digest.', text(1, 1024)),
  ),
}

export interface PlanOptions extends InputOf<typeof planFields> {}

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
  /** Set if large old values are left out of `fields`. A plan has at most 1 MiB of them. */
  readonly is_shortened?: true
  /** The new item. */
  readonly item?: ParsedItem
}

/** Parses a catalog except for its items. Adds mistakes, with their JSON paths, to `problems`. */
export function parseCatalog(input: unknown, problems: ErrorDetail[]): ParsedCatalog {
  const { project, stores = [] } = parseAt(input, catalogFields, '$', problems) ?? {}
  const parsed =
    project === undefined ? undefined : parseAt(project, projectFields, '$.project', problems)
  const firsts = new Map<string, number>()
  const listed: ParsedCatalog['stores'][number][] = []
  for (const [index, store] of stores.entries()) {
    if (problems.length >= MAX_MISTAKES) break
    const path = `$.stores[${index}]`
    const found = parseAt(store, storeFields, path, problems)
    const { store_id = '' } = found ?? {}
    const first = firsts.get(store_id)
    if (first === undefined) firsts.set(store_id, index)
    else if (found) problems.push(repeated(`${path}.store_id`, `$.stores[${first}]`))
    // A repeated store gets no plan: each plan reads all items of the stored one.
    listed.push(found && first === undefined ? found : { store_id: '' })
  }
  return { ...(parsed ? { project: parsed } : {}), stores: listed }
}

/** The error for a store or item that is listed twice. */
export function repeated(field: string, first: string): ErrorDetail {
  return { field, code: 'repeated', message: `is listed twice: first in ${first}` }
}
