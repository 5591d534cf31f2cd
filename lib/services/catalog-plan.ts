import { setImmediate } from 'node:timers/promises'
import type { Account } from '../domain/account.ts'
import {
  type Catalog,
  type ParsedCatalog,
  type ParsedItem,
  type PlannedChange,
  parseCatalog,
  parseCatalogItem,
  repeated,
  resolveSecrets,
} from '../domain/catalog.ts'
import { type Differences, differences, differencesIn } from '../domain/differences.ts'
import {
  invalidField,
  isObject,
  type JsonObject,
  oneOf,
  parseObject,
  required,
  rule,
} from '../domain/fields.ts'
import { formatInstant } from '../domain/instant.ts'
import type { Item } from '../domain/item.ts'
import { ITEM_TYPES, type ItemType, REQUIRED_ITEM_FIELDS } from '../domain/item.ts'
import {
  changeProject,
  PROJECT_SECRETS,
  type Project,
  parseProjectChange,
} from '../domain/project.ts'
import {
  changeStore,
  parseNewStore,
  parseStoreChange,
  STORE_SECRETS,
  type Store,
} from '../domain/store.ts'
import { type ErrorDetail, TillError } from '../errors.ts'
import { catalogPages, recordsOf } from '../storage/pages.ts'
import type { CatalogChanges, Quota } from '../storage/port.ts'
import { findReachableProject } from './access.ts'
import { itemChanges, newItems } from './catalog-change.ts'
import { assertNoMistakes } from './catalog-mistakes.ts'
import type { Context } from './context.ts'
import { endpointWrites } from './endpoints.ts'
import { createId } from './ids.ts'
import { assertCurrency } from './purchase-rules.ts'
import {
  changeSealed,
  keyChecksOf,
  type Sealer,
  type SecretHolder,
  sealSecrets,
  secretsOf,
} from './secrets.ts'

/** A catalog as it was read from a file. */
export interface CatalogFile {
  readonly catalog: Catalog
  /** The columns of a spreadsheet that are not stored. */
  readonly ignored_columns?: readonly string[] | undefined
  /** The line of each item of a spreadsheet, by store and item, for messages about mistakes. */
  readonly lines?: readonly (readonly number[])[] | undefined
  /** The mistakes that were found while the file was read. */
  readonly mistakes?: readonly ErrorDetail[] | undefined
}

export interface CatalogRequest extends CatalogFile {
  /** The id of the project; default: the `id` in the catalog. */
  readonly project_id?: string | undefined
  /** Archives items of the listed stores that the catalog does not have; default false. */
  readonly archiveMissing?: boolean | undefined
  /** Creates the stores that the project does not have; default false, which rejects them. */
  readonly createStores?: boolean | undefined
  /**
   * Plans only the items, for an existing project: ignores the project and the settings of stores in
   * the catalog. Default false.
   */
  readonly itemsOnly?: boolean | undefined
  /** With `itemsOnly`: the stored `store_id` for a `store_id` of the catalog; default the same. */
  readonly as?: { readonly [store_id: string]: string } | undefined
  /** The type of new items that have no type in the catalog. Google Play's file has no types. */
  readonly type?: ItemType | undefined
  /** The environment variables that hold the secrets of the catalog. */
  readonly env?: { readonly [name: string]: string | undefined } | undefined
}

/** Keeps a digest from beginning with `-`, as a command-line option does. */
const DIGEST_PREFIX = 'plan_'

/** Whether `digest` is that of a plan which was made from this state of the catalog. */
export function isPlanOf(sealer: Sealer, digest: string, state: string): boolean {
  return (
    digest.startsWith(DIGEST_PREFIX) && sealer.isDigest(digest.slice(DIGEST_PREFIX.length), state)
  )
}

const requestFields: { readonly [F in keyof Required<CatalogRequest>]: true } = {
  catalog: true,
  ignored_columns: true,
  lines: true,
  mistakes: true,
  project_id: true,
  archiveMissing: true,
  createStores: true,
  itemsOnly: true,
  as: true,
  type: true,
  env: true,
}

/** Compares a catalog with the stored one. Throws `invalid_request` that names every mistake. */
export async function preparePlan(context: Context, account: Account, request: CatalogRequest) {
  const unknown = Object.keys(request).find((name) => !Object.hasOwn(requestFields, name))
  if (unknown !== undefined) throw new TypeError(`a catalog request has no field ${unknown}`)
  if (request.type !== undefined)
    parseObject({ type: request.type }, { type: required(oneOf(ITEM_TYPES)) })
  const { storage, sealer, now } = context
  const problems: ErrorDetail[] = [...(request.mistakes ?? [])]
  const parsed = parseCatalog(request.catalog, problems)
  const catalog = request.itemsOnly ? itemsOf(parsed, request, problems) : parsed
  if (request.as && !request.itemsOnly) {
    throw invalidField('as', 'invalid', 'needs itemsOnly')
  }
  const project = await findProject(context, account, request.project_id, catalog)
  const state = await storage.findCatalogState(project.id)
  if (state === undefined) throw new TillError('project_not_found', 'No project has this id')

  const planner = createPlanner(context, account, request, problems)
  const changedProject = planner.planProject(project, catalog)
  const stores = new Map<string, Store>()
  for await (const store of recordsOf((page) => storage.listStores(project.id, page))) {
    stores.set(store.store_id, store)
  }
  for (const [index, { items, ...listed }] of catalog.stores.entries()) {
    const stored = stores.get(listed.store_id)
    const ofProject = changedProject ?? project
    const store = await planner.planStore(ofProject, stored, listed, `$.stores[${index}]`)
    await planner.planItems(store, items, `$.stores[${index}].items`, !stored)
  }
  assertNoMistakes(problems, request.lines)
  if ((await storage.findCatalogState(project.id)) !== state) {
    throw new TillError('catalog_changed', 'The catalog changed while the plan was made: try again')
  }
  const { counts, changes, changedStores, newStores, unset } = planner
  const plan = {
    project_id: project.id,
    digest: DIGEST_PREFIX + sealer.digest(state),
    ...counts,
    unset_variables: [...new Set(unset)],
    changes,
  }
  const writes: CatalogChanges = {
    project_id: project.id,
    state,
    change_id: createId('itm', now()),
    project: changedProject,
    stores: changedStores,
    newStores,
    newItems: { [Symbol.iterator]: () => newItems(context, project, changes) },
    items: { [Symbol.iterator]: () => itemChanges(context, changes) },
  }
  const changed: [before: SecretHolder | undefined, after: SecretHolder][] = [
    ...(changedProject ? [[project, changedProject] as [Project, Project]] : []),
    ...[...newStores, ...changedStores].map((store): [Store | undefined, Store] => [
      stores.get(store.store_id),
      store,
    ]),
  ]
  const endpoints = changed.flatMap((change) => endpointWrites(context, ...change))
  const keyChecks = changed.flatMap((change) => keyChecksOf(sealer, ...change)).slice(0, 1)
  return { plan, writes, quota: planner.quota(project), endpoints, keyChecks }
}

/** The items of a catalog, each list with the `store_id` of the store that gets it. */
function itemsOf(
  { stores }: ParsedCatalog,
  { project_id, createStores, as = {} }: CatalogRequest,
  problems: ErrorDetail[],
): ParsedCatalog {
  if (project_id === undefined) throw invalidField('project_id', 'required', 'is required')
  if (createStores) throw invalidField('createStores', 'invalid', 'cannot go with itemsOnly')
  const names = new Map(Object.entries(parseObject({ as }, { as: required(storeNames) }).as ?? {}))
  const targets = new Set<string>()
  const listed = stores.map(({ store_id, items }, index) => {
    const target = names.get(store_id) ?? store_id
    names.delete(store_id)
    if (targets.has(target)) {
      const message = `leads two stores of the catalog to '${target}'`
      problems.push({ field: `$.stores[${index}].store_id`, code: 'repeated', message })
    }
    targets.add(target)
    return { store_id: target, items }
  })
  for (const store_id of names.keys()) {
    problems.push({
      field: `as.${store_id}`,
      code: 'unknown',
      message: 'is no store of the catalog',
    })
  }
  return { stores: listed }
}

const storeNames = rule(
  (value): value is { readonly [store_id: string]: string } =>
    isObject(value) && Object.values(value).every((each) => typeof each === 'string'),
  'must be an object of store ids',
  { type: 'object' },
)

async function findProject(
  { storage }: Context,
  account: Account,
  given: string | undefined,
  { project: listed }: ParsedCatalog,
): Promise<Project> {
  const id = given ?? listed?.id
  const field = given === undefined ? '$.project.id' : 'project_id'
  if (id === undefined) throw invalidField(field, 'required', 'is required')
  const project = await findReachableProject(storage, account, id)
  if (!project)
    throw invalidField(field, 'unknown', 'names no project that this credential reaches')
  if (listed?.id !== undefined && listed.id !== id) {
    const message = `is another project's: the catalog describes ${listed.id}, not ${id}`
    throw invalidField('$.project.id', 'mismatch', message)
  }
  return project
}

function createPlanner(
  { storage, now, sealer, platforms, quotas }: Context,
  { account_id }: Account,
  { archiveMissing = false, createStores = false, type: newType, env = {} }: CatalogRequest,
  problems: ErrorDetail[],
) {
  const counts = { created: 0, updated: 0, archived: 0, restored: 0, unchanged: 0, missing: 0 }
  const changes: PlannedChange[] = []
  const changedStores: Store[] = []
  const newStores: Store[] = []
  const unset: string[] = []
  const at = formatInstant(now())
  let addedBytes = 0

  const resolve = (
    config: JsonObject,
    names: readonly string[],
    stored: JsonObject,
    path: string,
  ) => resolveSecrets(config, { names, stored, env, path, unset, problems })

  const note = (change: PlannedChange) => {
    counts[`${change.action}d` as 'created']++
    changes.push(change)
  }

  /** Adds a problem when the catalog has another value for a field that never changes. */
  const assertSame = (listed: unknown, stored: string, field: string) => {
    if (listed === undefined || listed === stored) return
    problems.push({ field, code: 'fixed', message: `never changes: the stored one is '${stored}'` })
  }

  const sizeOf = (config: JsonObject) => Buffer.byteLength(JSON.stringify(config))

  /** Plans the update of a project or store. Returns the changed record; undefined if it is the same. */
  const planChange = <T extends SecretHolder>(
    stored: T,
    sent: JsonObject | undefined,
    about: Pick<PlannedChange, 'kind' | 'store_id'>,
    path: string,
    change: () => T,
  ): T | undefined => {
    const changed = within(path, problems, () => changeSealed(stored, change(), sealer))
    if (!changed || changed === stored) return undefined
    const { config: before, names, field } = secretsOf(stored)
    const { config: after } = secretsOf(changed)
    const fields = {
      ...differences({ ...stored, [field]: undefined }, { ...changed, [field]: undefined }),
      ...differencesIn(field, before, after, sent, names),
    }
    if (Object.keys(fields).length === 0) return undefined
    addedBytes += sizeOf(after) - sizeOf(before)
    note({ action: 'update', ...about, fields })
    return changed
  }

  return {
    ...{ counts, changes, changedStores, newStores, unset },

    planProject(project: Project, { project: listed }: ParsedCatalog): Project | undefined {
      if (!listed) return undefined
      const { id: _, bundle_id, dlscheme, config, ...fields } = listed
      assertSame(bundle_id, project.bundle_id, '$.project.bundle_id')
      assertSame(dlscheme, project.dlscheme, '$.project.dlscheme')
      const sent = config && resolve(config, PROJECT_SECRETS, project.config, '$.project.config')
      const input = { id: project.id, ...fields, config: sent }
      return planChange(project, sent, { kind: 'project' }, '$.project', () =>
        changeProject(project, parseProjectChange(input, 'account', platforms)),
      )
    },

    /** Resolves to the stored or new store; undefined for a new one with a mistake. */
    async planStore(
      project: Project,
      stored: Store | undefined,
      { store_config: config, store_id, ...fields }: Omit<ParsedCatalog['stores'][number], 'items'>,
      path: string,
    ): Promise<Store | undefined> {
      if (store_id === '') return undefined
      const before = stored?.store_config ?? {}
      const sent = config && resolve(config, STORE_SECRETS, before, `${path}.store_config`)
      if (!stored) {
        const problem = { field: `${path}.store_id`, code: 'unknown' }
        if (!createStores) {
          problems.push({ ...problem, message: `'${store_id}' is no store of this project` })
          return undefined
        }
        if (await storage.findStore(account_id, store_id)) {
          const message = `'${store_id}' is taken by another project`
          problems.push({ ...problem, code: 'taken', message })
          return undefined
        }
        const input = { project_id: project.id, store_id, ...fields, store_config: sent }
        const parsed = within(path, problems, () => {
          const fields = parseNewStore(input)
          assertCurrency(project, fields)
          return fields
        })
        if (!parsed) return undefined
        const store = sealSecrets({ ...parsed, store_id, account_id, created_at: at }, sealer)
        addedBytes += sizeOf(store.store_config)
        newStores.push(store)
        note({ action: 'create', kind: 'store', store_id })
        return store
      }
      const { store_type, ...changeable } = fields
      assertSame(store_type, stored.store_type, `${path}.store_type`)
      const input = { store_id, ...changeable, store_config: sent }
      const changed = planChange(stored, sent, { kind: 'store', store_id }, path, () => {
        const next = changeStore(stored, parseStoreChange(input, stored.store_type))
        assertCurrency(project, next, stored)
        return next
      })
      if (changed) changedStores.push(changed)
      return stored
    },

    /** Plans the changes of a store's items. Without a store, only checks each item. */
    async planItems(
      store: Store | undefined,
      items: readonly unknown[],
      path: string,
      isNew: boolean,
    ) {
      const listed = new Map<string, { readonly item: ParsedItem; readonly path: string }>()
      // The path of the first item with each name, also of one with another bad field.
      const firsts = new Map<string, string>()
      for (const [index, each] of items.entries()) {
        const itemPath = `${path}[${index}]`
        const item = parseCatalogItem(each, itemPath, problems)
        const name = item ? item.name : nameOf(each)
        const first = firsts.get(name)
        if (first !== undefined) problems.push(repeated(`${itemPath}.name`, first))
        else if (name !== '') firsts.set(name, itemPath)
        if (item && first === undefined) listed.set(name, { item, path: itemPath })
        if (index % 1000 === 999) await setImmediate()
      }
      if (!store) return
      const { store_id } = store

      const compare = (stored: Item): void => {
        const found = listed.get(stored.name)
        const isArchived = stored.archived_at !== undefined
        if (!found) {
          if (isArchived) return
          if (archiveMissing) note(changeOf('archive', stored, {}))
          else counts.missing++
          return
        }
        listed.delete(stored.name)
        const { type, archived, ...fields } = found.item
        assertSame(type, stored.type, `${found.path}.type`)
        if (isArchived && archived === undefined) {
          const message = 'is taken by an archived item: "archived": false restores it'
          problems.push({ field: `${found.path}.name`, code: 'archived', message })
        }
        const changed = differences(stored, fields)
        if ((archived ?? isArchived) !== isArchived) {
          note(changeOf(archived ? 'archive' : 'restore', stored, changed))
        } else if (Object.keys(changed).length > 0) note(changeOf('update', stored, changed))
        else counts.unchanged++
      }

      if (!isNew) {
        for await (const { records } of catalogPages(storage, store)) {
          for (const each of records) compare(each)
        }
      }
      for (const [name, { item: given, path: itemPath }] of listed) {
        const item = newType && !given.type ? { ...given, type: newType } : given
        for (const field of REQUIRED_ITEM_FIELDS.filter((each) => item[each] === undefined)) {
          const message = 'is required for a new item'
          problems.push({ field: `${itemPath}.${field}`, code: 'required', message })
        }
        note({ action: 'create', kind: 'item', store_id, name, item })
      }
    },

    /** The quotas to check when the plan is carried out; undefined if it adds nothing. */
    quota({ id }: Project): Quota | undefined {
      if (addedBytes <= 0 && newStores.length === 0) return undefined
      const bytes = addedBytes > 0 ? { config_bytes: quotas.configBytes } : {}
      const stores = newStores.length > 0 ? { stores: quotas.storesPerProject } : {}
      return { account_id, project_id: id, ...bytes, ...stores }
    },
  }
}

/** Runs a parse function, and adds its mistakes under `path`. */
function within<T>(path: string, problems: ErrorDetail[], parse: () => T): T | undefined {
  try {
    return parse()
  } catch (error) {
    if (!(error instanceof TillError) || error.code !== 'invalid_request') throw error
    const isKnown = (field: string) => problems.some((each) => each.field === field)
    for (const { field = '', ...problem } of error.details) {
      const full = `${path}.${field}`
      if (!isKnown(full)) problems.push({ field: full, ...problem })
    }
    return undefined
  }
}

function changeOf(
  action: PlannedChange['action'],
  { store_id, name, id, version }: Item,
  fields: Differences,
): PlannedChange {
  const change = { action, kind: 'item', store_id, name, id, version } as const
  return Object.keys(fields).length > 0 ? { ...change, fields } : change
}

/** The name of an item that has a bad field; '' if the name itself is bad. */
function nameOf(item: unknown): string {
  const { name } = isObject(item) ? item : {}
  return typeof name === 'string' ? name : ''
}
