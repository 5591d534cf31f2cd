import {
  type CallOptions,
  type CatalogPlan,
  type KeyedAccount,
  MAX_PAGE,
  type NewAccountKey,
  type SummaryQuery,
  type Till,
} from '../../lib/index.ts'
import type { operations } from '../../lib/operations.ts'

/** The input of an operation: the caller and the parsed request. */
export interface ManageCall {
  readonly till: Till
  readonly caller: KeyedAccount
  /**
   * The path parameters, and the documented fields of the query or body; for an operation that
   * takes only an id, the id. The type is `never`, which every method accepts as its input. The
   * library validates the fields.
   */
  readonly input: never
  readonly options: CallOptions
  /** Aborted when the client has gone; only for reports. */
  readonly signal: AbortSignal | undefined
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
  'keys.revoke': async ({ till, caller, input: key_id, options }) => {
    await till.accounts.revokeKey(caller, key_id, options)
    return { key_id }
  },
  'audit.list': ({ till, caller, input }) => till.accounts.listAudit(caller, input),

  'items.list': async ({ till, caller, input }) => {
    const { revision: _, ...page } = await till.items.list(caller, input)
    return page
  },
  'catalog.export': ({ till, caller, input: project_id }) =>
    till.catalog.export(caller, { project_id }),
  'catalog.plan': async ({ till, caller, input }) =>
    showPlan(await till.catalog.plan(caller, input)),
  'catalog.apply': async ({ till, caller, input, options }) =>
    showPlan(await till.catalog.apply(caller, input, options)),
  'purchases.overview': ({ till, caller, input, signal }) =>
    till.purchases.overview(caller, input, { signal }),
  'purchases.buyers': ({ till, caller, input, signal }) =>
    till.purchases.buyers(caller, input, { signal }),
  'purchases.summarize': async ({ till, caller, input, signal }) => {
    const query = { ...(input as SummaryQuery), maxGroups: MAX_GROUPS }
    return { summaries: await till.purchases.summarize(caller, query, { signal }) }
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
}

/** A catalog plan with only its first changes. Its counts include all changes. */
function showPlan(plan: CatalogPlan): object {
  return { ...plan, changes: plan.changes.slice(0, MAX_CHANGES) }
}
