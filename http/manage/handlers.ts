import {
  type AccountKeyChange,
  type BuyersQuery,
  type CallOptions,
  type CatalogPlan,
  type CatalogRequest,
  type ItemQuery,
  type KeyedAccount,
  type ListQuery,
  MAX_PAGE,
  type NewAccountKey,
  type NewToken,
  type OverviewQuery,
  type RecentAuditQuery,
  type SummaryQuery,
  type Till,
  type TokenCheck,
  type TokenRevocation,
  type WebhookLogQuery,
  type WebhookQuery,
} from '../../lib/index.ts'
import type { operations } from '../../lib/operations.ts'

/** A call of an operation: the caller and the parsed request. */
interface ManageCall<Input> {
  readonly till: Till
  readonly caller: KeyedAccount
  /**
   * The path parameters, and the documented fields of the query or body; for an operation that
   * takes only an id, the id. The library validates the fields.
   */
  readonly input: Input
  readonly options: CallOptions
  /** Aborted when the client has gone; only for reports. */
  readonly signal: AbortSignal | undefined
}

export type OperationName = (typeof operations)[number]['name']

type LibraryMethod = {
  [N in keyof Till & string]: `${N}.${keyof Till[N] & string}`
}[keyof Till & string]

/** Each handler states the type of its input: that of the library's method. */
export type Handler = (call: ManageCall<never>) => Promise<object> | AsyncIterable<string>

/** Requires a handler for each operation that the library does not have under the same name. */
type Handlers = {
  readonly [N in Exclude<OperationName, LibraryMethod | 'imports.create'>]: Handler
} & {
  readonly [N in OperationName]?: Handler
}

const MAX_GROUPS = 10_000
const MAX_CHANGES = 1_000
/**
 * SQLite applies a catalog in one turn of the event loop: 40 ms for so many changes, and as much again
 * to compare a catalog of 100,000 items and 16 MiB of configurations.
 */
const MOST_APPLIED = 1_500
/** Pages of endpoints are short: counting the lag of one endpoint may read 10,000 records. */
const MAX_ENDPOINTS = 20

/** The operations that do more than call the library's method of the same name. */
export const handlers: Handlers = {
  'account.get': async ({ caller: { key_id: _, ...account } }) => account,
  'keys.list': async ({ till, caller, input }: ManageCall<ListQuery>) => {
    const { keys, ...next } = await till.accounts.pageOfKeys(caller, input)
    const shown = keys.map((key) => ({ ...key, current: key.key_id === caller.key_id }))
    return { keys: shown, ...next }
  },
  'keys.add': ({ till, caller, input, options }: ManageCall<NewAccountKey>) =>
    till.accounts.addKey(caller, { ...options, ...input }),
  'keys.update': async ({ till, caller, input, options }: ManageCall<AccountKeyChange>) => {
    const key = await till.accounts.updateKey(caller, input, options)
    return { ...key, current: key.key_id === caller.key_id }
  },
  'keys.revoke': async ({ till, caller, input: key_id, options }: ManageCall<string>) => {
    await till.accounts.revokeKey(caller, key_id, options)
    return { key_id }
  },
  'audit.list': ({ till, caller, input }: ManageCall<RecentAuditQuery>) =>
    till.accounts.listAudit(caller, input),

  'items.list': async ({ till, caller, input }: ManageCall<ItemQuery>) => {
    const { revision: _, ...page } = await till.items.list(caller, input)
    return page
  },
  'tokens.issue': ({ till, caller, input, options }: ManageCall<NewToken>) =>
    till.sessions.issue(caller, input, options),
  'tokens.check': ({ till, caller, input }: ManageCall<TokenCheck>) =>
    till.sessions.check(caller, input),
  'tokens.revokeProject': revokeTokens,
  'tokens.revokeUser': revokeTokens,
  'catalog.export': ({ till, caller, input: project_id }: ManageCall<string>) =>
    till.catalog.export(caller, { project_id }),
  'catalog.plan': async ({ till, caller, input, signal }: ManageCall<CatalogRequest>) =>
    showPlan(await till.catalog.plan(caller, { ...input, signal })),
  'catalog.apply': async ({ till, caller, input, options, signal }: ManageCall<CatalogRequest>) => {
    const most = { ...options, mostChanges: MOST_APPLIED }
    return showPlan(await till.catalog.apply(caller, { ...input, signal }, most))
  },
  'purchases.overview': ({ till, caller, input, signal }: ManageCall<OverviewQuery>) =>
    till.purchases.overview(caller, input, { signal }),
  'purchases.buyers': ({ till, caller, input, signal }: ManageCall<BuyersQuery>) =>
    till.purchases.buyers(caller, input, { signal }),
  'purchases.summarize': async ({ till, caller, input, signal }: ManageCall<SummaryQuery>) => {
    const query = { ...input, maxGroups: MAX_GROUPS }
    return { summaries: await till.purchases.summarize(caller, query, { signal }) }
  },
  'webhooks.list': ({ till, caller, input }: ManageCall<WebhookQuery>) => {
    const { limit = MAX_ENDPOINTS } = input
    const isLarge = Number(limit) > MAX_ENDPOINTS && Number(limit) <= MAX_PAGE
    return till.webhooks.list(caller, {
      ...input,
      limit: isLarge ? MAX_ENDPOINTS : limit,
    })
  },
  'webhooks.deliveries': ({ till, caller, input }: ManageCall<WebhookLogQuery>) =>
    till.webhooks.log(caller, input),
}

async function revokeTokens({ till, caller, input, options }: ManageCall<TokenRevocation>) {
  await till.sessions.revoke(caller, input, options)
  return input
}

/** A catalog plan with only its first changes. Its counts include all changes. */
function showPlan(plan: CatalogPlan): object {
  return { ...plan, changes: plan.changes.slice(0, MAX_CHANGES) }
}
