import {
  type CallOptions,
  type CatalogPlan,
  type CatalogRequest,
  type KeyedAccount,
  MAX_PAGE,
  type NewAccountKey,
  type SummaryQuery,
  type Till,
} from '../../lib/index.ts'
import type { operations } from '../../lib/operations.ts'
import { flagOf, invalidOption, textOf } from './options.ts'
import { MAX_GRACE_MS } from './schemas.ts'

/** The input of an operation: the caller and the parsed request. */
export interface ManageCall {
  readonly till: Till
  readonly caller: KeyedAccount
  readonly params: { readonly [name: string]: string }
  /** The first path parameter. */
  readonly id: string
  /**
   * The path parameters, and the documented fields of the query or body; for an operation that
   * takes only an id, the id. The type is `never`, which every method accepts as its input. The
   * library validates the fields.
   */
  readonly input: never
  readonly options: CallOptions
}

export type OperationName = (typeof operations)[number]['name']

type LibraryMethod = {
  [N in keyof Till & string]: `${N}.${keyof Till[N] & string}`
}[keyof Till & string]

export type Handler = (call: ManageCall) => Promise<object> | AsyncIterable<string>

/** Requires a handler for each operation that the library does not have under the same name. */
type Handlers = {
  readonly [N in Exclude<OperationName, LibraryMethod | 'imports.create'>]: Handler
} & {
  readonly [N in OperationName]?: Handler
}

const MAX_GROUPS = 10_000
const MAX_CHANGES = 1_000
/** Pages of endpoints are short: counting the lag of one endpoint may read 10,000 records. */
const MAX_ENDPOINTS = 20

/** The operations that do more than call the library's method of the same name. */
export const handlers: Handlers = {
  'account.get': async ({ caller: { key_id: _, ...account } }) => account,
  'keys.list': async ({ till, caller, input }) => {
    const { keys, ...next } = await till.accounts.pageOfKeys(caller, input)
    const shown = keys.map((key) => ({ ...key, current: key.key_id === caller.key_id }))
    return { keys: shown, ...next }
  },
  'keys.add': ({ till, caller, input, options }) =>
    till.accounts.addKey(caller, { ...options, ...(input as NewAccountKey) }),
  'keys.revoke': async ({ till, caller, id, options }) => {
    await till.accounts.revokeKey(caller, id, options)
    return { key_id: id }
  },
  'audit.list': ({ till, caller, input }) => till.accounts.listAudit(caller, input),

  'projects.get': (call) => show(call, 'projects', call.id),
  'projects.create': async (call) => {
    const { id } = await call.till.projects.create(call.caller, call.input, call.options)
    return show(call, 'projects', id)
  },
  'projects.update': async (call) => {
    await call.till.projects.update(call.caller, call.input, call.options)
    return show(call, 'projects', call.id)
  },
  'projects.rotateKey': async (call) => {
    const { till, caller, id, input, options } = call
    const { grace_period: gracePeriod } = input as { readonly grace_period?: number }
    const isValid = Number.isInteger(gracePeriod) && (gracePeriod as number) >= 0
    if (gracePeriod !== undefined && !(isValid && gracePeriod <= MAX_GRACE_MS)) {
      throw invalidOption('grace_period', `must be milliseconds from 0 to ${MAX_GRACE_MS}`)
    }
    await till.projects.rotateKey(caller, { id, gracePeriod }, options)
    return show(call, 'projects', id)
  },
  'stores.get': (call) => show(call, 'stores', call.id),
  'stores.create': async (call) => {
    const { store_id } = await call.till.stores.create(call.caller, call.input, call.options)
    return show(call, 'stores', store_id)
  },
  'stores.update': async (call) => {
    await call.till.stores.update(call.caller, call.input, call.options)
    return show(call, 'stores', call.id)
  },
  'items.list': async ({ till, caller, input }) => {
    const { revision: _, ...page } = await till.items.list(caller, input)
    return page
  },

  'catalog.export': ({ till, caller, id }) => till.catalog.export(caller, { project_id: id }),
  'catalog.plan': async (call) =>
    showPlan(await call.till.catalog.plan(call.caller, catalogRequest(call))),
  'catalog.apply': async (call) => {
    const request = { ...catalogRequest(call), digest: textOf(call.input, 'digest') }
    return showPlan(await call.till.catalog.apply(call.caller, request, call.options))
  },

  'purchases.summarize': async ({ till, caller, input }) => {
    const query = { ...(input as SummaryQuery), maxGroups: MAX_GROUPS }
    return { summaries: await till.purchases.summarize(caller, query) }
  },
  'users.erase': ({ till, caller, params, input, options }) => {
    const { project_id = '', user_id = '' } = params
    const deletes = flagOf(input, 'delete')
    return till.users.erase(caller, { project_id, user_id }, { ...options, delete: deletes })
  },

  'webhooks.list': ({ till, caller, input }) => {
    const { limit = MAX_ENDPOINTS } = input as { readonly limit?: string }
    const isLarge = Number(limit) > MAX_ENDPOINTS && Number(limit) <= MAX_PAGE
    return till.webhooks.list(caller, {
      ...(input as object),
      limit: isLarge ? MAX_ENDPOINTS : limit,
    })
  },
  'webhooks.deliveries': ({ till, caller, input }) => till.webhooks.log(caller, input),
  'webhooks.confirm': ({ till, caller, id, input, options }) => {
    const seen = { url: textOf(input, 'url'), unconfirmed_at: textOf(input, 'unconfirmed_at') }
    return till.webhooks.confirm(caller, id, { ...options, ...seen })
  },
}

/**
 * Reads a project or a store, with the names of the secrets that are set. Their values are never in
 * an answer.
 */
async function show({ till, caller }: ManageCall, noun: 'projects' | 'stores', id: string) {
  const record = await till[noun].get(caller, id)
  return { ...record, secrets: await till[noun].listSecrets(caller, id) }
}

/** Converts the input of a catalog route to the field names of the library. */
function catalogRequest({ id, input }: ManageCall): CatalogRequest {
  return {
    catalog: (input as { readonly catalog: CatalogRequest['catalog'] }).catalog,
    project_id: id,
    archiveMissing: flagOf(input, 'archive_missing'),
    createStores: flagOf(input, 'create_stores'),
    itemsOnly: flagOf(input, 'items_only'),
    as: (input as Pick<CatalogRequest, 'as'>).as,
  }
}

/** A catalog plan with only its first changes. Its counts include all changes. */
function showPlan(plan: CatalogPlan): object {
  return { ...plan, changes: plan.changes.slice(0, MAX_CHANGES) }
}
