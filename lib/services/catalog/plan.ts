import type { Account } from '../../domain/account.ts'
import {
  MAX_MISTAKES,
  type ParsedCatalog,
  type PlannedChange,
  parseCatalog,
  planFields,
} from '../../domain/catalog.ts'
import { assertCurrency } from '../../domain/currency.ts'
import { differences, differencesIn } from '../../domain/field-differences.ts'
import { type InputOf, invalidField, type ParsedOf, parseObject } from '../../domain/fields.ts'
import { formatInstant } from '../../domain/instant.ts'
import type { JsonObject } from '../../domain/json.ts'
import { changeProject, type Project, parseProjectChange } from '../../domain/project.ts'
import { optional, text, unchecked } from '../../domain/rules.ts'
import { resolveSecrets } from '../../domain/secret-reference.ts'
import {
  changeStore,
  parseNewStore,
  parseStoreChange,
  STORE_SECRETS,
  type Store,
} from '../../domain/store.ts'
import { type ErrorDetail, TillError } from '../../errors.ts'
import { type Page, recordsOf, type StoreUpdate } from '../../storage/port.ts'
import { getNamedProject, getNamedStore } from '../access.ts'
import { writesOfChange } from '../configured.ts'
import type { Context } from '../context.ts'
import {
  changeSealed,
  configBytes,
  type SecretHolder,
  sealSecrets,
  secretsOf,
} from '../secret-fields.ts'
import { type CatalogFile, fileFields, readCatalog } from './file.ts'
import {
  addChange,
  assertSame,
  createDraft,
  type Draft,
  parseItems,
  planNewItems,
  planStoredItems,
  shownFields,
} from './items.ts'
import { assertNoMistakes } from './mistakes.ts'

const requestFields = {
  ...fileFields,
  /** The id of the project; default: the `id` in the catalog. */
  project_id: optional(text(1, 64)),
  ...planFields,
  /** The environment variables that hold the secrets of the catalog. */
  env: optional(unchecked<{ readonly [name: string]: string | undefined }>(), () => ({})),
  /** Aborts the call: it throws the signal's reason and changes nothing. */
  signal: optional(unchecked<AbortSignal>()),
}

export interface CatalogRequest extends InputOf<typeof requestFields> {}

type ParsedRequest = ParsedOf<typeof requestFields>
type ParsedStore = ParsedCatalog['stores'][number]

/** Compares a catalog with the stored one. Throws `invalid_request` that names every mistake. */
export async function preparePlan(context: Context, account: Account, input: CatalogRequest) {
  const { storage } = context
  const request = parseObject(input, requestFields)
  const read = await readText(context, account, request)
  const { catalog: listed, lines, mistakes = [] } = read ?? request
  const draft = createDraft([...mistakes], request.signal)
  const parsed = parseCatalog(listed, draft.problems)
  const catalog = request.items_only ? itemsOf(parsed, request, draft.problems) : parsed
  if (request.as && !request.items_only) throw invalidField('as', 'invalid', 'needs items_only')
  const project = await findProject(context, account, request.project_id, catalog)
  const state = await storage.findCatalogState(project.id)
  if (state === undefined) throw new TillError('project_not_found', 'No project has this id')

  const planner = createPlanner(context, account, request, draft)
  const changed = planner.planProject(project, catalog)
  await planStores(context, request, draft, planner, changed ?? project, catalog)
  assertNoMistakes(draft.problems, lines)
  if ((await storage.findCatalogState(project.id)) !== state) {
    throw new TillError('catalog_changed', 'The catalog changed while the plan was made: try again')
  }
  const digest = `plan_${state}`
  if (request.digest !== undefined && request.digest !== digest) {
    throw new TillError('catalog_changed', 'The catalog changed since the plan was made')
  }
  const plan = {
    project_id: project.id,
    digest,
    ...draft.counts,
    unset_variables: [...new Set(planner.unset)],
    changes: draft.changes,
  }
  const writes = { ...writesOf(draft), project_id: project.id, state, project: changed }
  return { plan, writes, checks: checksOf(context, project, draft) }
}

/** Reads the text of a catalog file. Google Play's spreadsheet needs the currency of the store. */
async function readText(
  { storage }: Context,
  account: Account,
  { catalog, file, store_id }: ParsedRequest,
): Promise<CatalogFile | undefined> {
  if (file === undefined) return undefined
  if (catalog !== undefined)
    throw invalidField('file', 'invalid', 'must be absent beside a catalog')
  const store = store_id === undefined ? undefined : await getNamedStore(storage, account, store_id)
  const currency = store?.store_config.currency as string | undefined
  return readCatalog([file], { store_id, currency })
}

/** Plans the stores of a catalog and their items, in the order of the catalog. */
async function planStores(
  context: Context,
  { archive_missing, type }: ParsedRequest,
  draft: Draft,
  planner: ReturnType<typeof createPlanner>,
  project: Project,
  catalog: ParsedCatalog,
): Promise<void> {
  const { storage } = context
  const stores = new Set<string>()
  const list = (page: Page) => storage.listStoreSummaries(project.id, page)
  for await (const { store_id } of recordsOf(list)) stores.add(store_id)
  for (const [index, { items = [], ...listed }] of catalog.stores.entries()) {
    if (draft.problems.length >= MAX_MISTAKES) return
    draft.signal?.throwIfAborted()
    const path = `$.stores[${index}]`
    // One store at a time: the parsed configurations of all stores could take 400 MiB.
    const stored = stores.has(listed.store_id)
      ? await storage.findStore(project.account_id, listed.store_id)
      : undefined
    const store = stored
      ? planner.planStoredStore(project, stored, listed, path)
      : await planner.planNewStore(project, listed, path)
    const listedItems = await parseItems(items, `${path}.items`, draft.problems)
    if (stored) await planStoredItems(context, draft, stored, listedItems, archive_missing)
    if (store) await planNewItems(context, draft, store, listedItems, type)
  }
}

/** The new and changed records of a plan. */
function writesOf({ newStores, stores, newItems, items, entries }: Draft) {
  return { newStores, stores, newItems, items, entries }
}

/** The checks and writes of a plan's transaction besides the records. */
function checksOf(context: Context, { id, account_id }: Project, draft: Draft) {
  const { configBytes: config_bytes, storesPerProject } = context.quotas
  const { endpoints, keyChecks, newStores, addedConfigBytes } = draft
  const quota = {
    account_id,
    project_id: id,
    ...(addedConfigBytes > 0 && { config_bytes }),
    ...(newStores.length > 0 && { stores: storesPerProject }),
  }
  return { endpoints, keyChecks: keyChecks.slice(0, 1), quota }
}

/** The items of a catalog, each list with the `store_id` of the store that gets it. */
function itemsOf(
  { stores }: ParsedCatalog,
  { project_id, create_stores, as = {} }: ParsedRequest,
  problems: ErrorDetail[],
): ParsedCatalog {
  if (project_id === undefined) throw invalidField('project_id', 'required', 'is required')
  if (create_stores) throw invalidField('create_stores', 'invalid', 'cannot go with items_only')
  const names = new Map(Object.entries(as))
  const targets = new Set<string>()
  const listed = stores.map(({ store_id, items = [] }, index) => {
    if (store_id === '') return { store_id } // its mistake is known
    const target = names.get(store_id) ?? store_id
    names.delete(store_id)
    if (targets.has(target)) {
      const message = `leads two stores of the catalog to '${target}'`
      problems.push({ field: `$.stores[${index}].store_id`, code: 'repeated', message })
      return { store_id: '' }
    }
    targets.add(target)
    return { store_id: target, items }
  })
  const message = 'is no store of the catalog'
  for (const store_id of names.keys()) {
    problems.push({ field: `as.${store_id}`, code: 'unknown', message })
  }
  return { stores: listed }
}

async function findProject(
  { storage }: Context,
  account: Account,
  given: string | undefined,
  { project: listed }: ParsedCatalog,
): Promise<Project> {
  const id = given ?? listed?.id
  const field = given === undefined ? '$.project.id' : 'project_id'
  if (id === undefined) throw invalidField(field, 'required', 'is required')
  const project = await getNamedProject(storage, account, id, field)
  if (listed?.id !== undefined && listed.id !== id) {
    const message = `is another project's: the catalog describes ${listed.id}, not ${id}`
    throw invalidField('$.project.id', 'mismatch', message)
  }
  return project
}

function createPlanner(
  context: Context,
  account: Account,
  { create_stores, items_only, env }: ParsedRequest,
  draft: Draft,
) {
  const { storage, now, sealer, platforms } = context
  const { problems } = draft
  const unset: string[] = []
  const found = { env, unset, problems }

  const addConfigured = (before: SecretHolder | undefined, after: SecretHolder) => {
    const { endpoints, keyChecks } = writesOfChange(context, account, before, after)
    draft.endpoints.push(...endpoints)
    draft.keyChecks.push(...keyChecks)
    draft.addedConfigBytes += configBytes(after) - configBytes(before)
  }

  /** Plans the update of a project or store. Returns the changed record; undefined if it is the same. */
  const planChange = <T extends SecretHolder>(
    stored: T,
    listed: JsonObject,
    about: Pick<PlannedChange, 'kind' | 'store_id'>,
    path: string,
    change: (input: JsonObject) => T,
  ): T | undefined => {
    const { config: before, names, field } = secretsOf(stored)
    const config = listed[field] as JsonObject | undefined
    const sent = resolveSecrets(config, names, before, `${path}.${field}`, found)
    const next = within(path, problems, () =>
      changeSealed(stored, change({ ...listed, [field]: sent }), sealer),
    )
    if (!next || next === stored) return undefined
    const fields = {
      ...differences({ ...stored, [field]: undefined }, { ...next, [field]: undefined }),
      ...differencesIn(field, before, secretsOf(next).config, sent, names),
    }
    if (Object.keys(fields).length === 0) return undefined
    addConfigured(stored, next)
    addChange(draft, { action: 'update', ...about, ...shownFields(draft, fields) }, next)
    return next
  }

  return {
    unset,

    planProject(project: Project, { project: listed }: ParsedCatalog): Project | undefined {
      if (!listed) return undefined
      const { bundle_id, dlscheme, ...fields } = { ...listed, id: project.id }
      assertSame(draft, bundle_id, project.bundle_id, '$.project.bundle_id')
      assertSame(draft, dlscheme, project.dlscheme, '$.project.dlscheme')
      return planChange(project, fields, { kind: 'project' }, '$.project', (input) =>
        changeProject(project, parseProjectChange(input, 'account', platforms)),
      )
    },

    planStoredStore(
      project: Project,
      stored: Store,
      { store_type, ...listed }: ParsedStore,
      path: string,
    ): Store {
      const { store_id } = stored
      assertSame(draft, store_type, stored.store_type, `${path}.store_type`)
      const changed = planChange(stored, listed, { kind: 'store', store_id }, path, (input) => {
        const next = changeStore(stored, parseStoreChange(input, stored.store_type))
        assertCurrency(project, next, stored)
        return next
      })
      if (changed) draft.stores.push(updateOf(stored, changed))
      return stored
    },

    /** Resolves to the new store; undefined for one with a mistake. */
    async planNewStore(
      project: Project,
      listed: ParsedStore,
      path: string,
    ): Promise<Store | undefined> {
      const { id: project_id, account_id } = project
      const { store_id, store_config } = listed
      if (store_id === '') return undefined
      const field = `${path}.store_config`
      const sent = resolveSecrets(store_config, STORE_SECRETS, {}, field, found)
      const problem = { field: `${path}.store_id`, code: 'unknown' }
      if (!create_stores) {
        const hint = items_only
          ? 'as, or --as, names another store'
          : 'create_stores, or --create-stores, creates it'
        const message = `'${store_id}' is no store of this project: ${hint}`
        problems.push({ ...problem, message })
        return undefined
      }
      if (await storage.findStore(account_id, store_id)) {
        const message = `'${store_id}' is taken by another project`
        problems.push({ ...problem, code: 'taken', message })
        return undefined
      }
      const input = { ...listed, project_id, store_config: sent }
      const parsed = within(path, problems, () => {
        const fields = parseNewStore(input)
        assertCurrency(project, fields)
        return fields
      })
      if (!parsed) return undefined
      const created_at = formatInstant(now())
      const store = sealSecrets({ ...parsed, store_id, account_id, created_at }, sealer)
      addConfigured(undefined, store)
      draft.newStores.push(store)
      addChange(draft, { action: 'create', kind: 'store', store_id }, store)
      return store
    },
  }
}

/** The fields of a store that a change alters. */
function updateOf(stored: Store, changed: Store): StoreUpdate {
  const { account_id, store_id } = stored
  const fields = Object.entries(differences(stored, changed)).map(([name, { to }]) => [name, to])
  return { account_id, store_id, ...Object.fromEntries(fields) }
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
